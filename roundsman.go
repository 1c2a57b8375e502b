// Package roundsman is the whole of Roundsman as one call: a program with
// handlers of its own is
//
//	func main() { os.Exit(roundsman.Main(myHandler{})) }
//
// and has every command of the roundsman binary, see docs/cli.md. Package jobtype
// describes handlers.
package roundsman

import (
	"os"
	"path/filepath"

	"github.com/roundsman/roundsman/internal/cli"
	"github.com/roundsman/roundsman/jobtype"
)

// Main runs the command line of the process with the built-in handlers and
// those given, and returns the exit code: 0 done, 1 failed, 2 a difference,
// 3 wrong usage or a faulty file, 4 completed with warnings. SIGINT and SIGTERM end it in order, a second one at once.
//
// Two handlers of one name, or one with the name of a built-in handler, are an
// error of every command that needs handlers.
func Main(handlers ...jobtype.Handler) int {
	return cli.MainAs(filepath.Base(os.Args[0]), os.Args[1:], handlers...)
}
