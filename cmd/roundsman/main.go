// Command roundsman runs maintenance jobs on Temporal. See docs/cli.md.
package main

import (
	"os"

	"github.com/roundsman/roundsman"
)

func main() {
	os.Exit(roundsman.Main())
}
