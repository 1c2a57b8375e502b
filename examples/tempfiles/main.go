// Tempfiles is Roundsman with one handler more: it finds temporary files that
// nobody has touched for a while and removes them.
//
// The binary has every command of roundsman (dev, worker, apply, …) and all its
// handlers; `tempfiles` is simply one more name for `handler:`.
package main

import (
	"os"

	"github.com/roundsman/roundsman"
)

func main() { os.Exit(roundsman.Main(newHandler())) }
