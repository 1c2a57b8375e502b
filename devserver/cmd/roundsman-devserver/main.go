// Command roundsman-devserver runs a Temporal server and its Web UI on loopback; see package devserver.
package main

import (
	"os"

	"github.com/roundsman/roundsman/devserver"
)

func main() {
	os.Exit(devserver.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
