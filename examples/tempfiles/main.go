// Tempfiles is Roundsman with one more handler: it finds and removes temporary files that have not been touched
// for a while.
//
// The binary has every command of roundsman (dev, worker, apply, …) and all its handlers; `tempfiles` is one
// more name for `handler:`.
package main

import (
	"os"

	"github.com/roundsman/roundsman"
)

func main() { os.Exit(roundsman.Main(newHandler())) }
