// Command roundsman runs maintenance jobs on Temporal. See docs/cli.md.
package main

import (
	"os"

	"github.com/roundsman/roundsman/internal/cli"
)

// This binary prints roundsman under any file name; the binary of an author prints its own name.
func main() {
	os.Exit(cli.Main(os.Args[1:]))
}
