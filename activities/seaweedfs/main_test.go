package seaweedfs

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/roundsman/roundsman/activities/command"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == command.ShimArgument {
		os.Exit(command.Shim())
	}
	goleak.VerifyTestMain(m)
}

// newRunner runs programs below shims, as a worker does.
func newRunner() *command.Runner {
	return command.NewRunner(command.Options{Shim: []string{"/proc/self/exe", command.ShimArgument}})
}
