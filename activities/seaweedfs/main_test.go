package seaweedfs

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/roundsman/roundsman/activities/command"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newRunner runs programs below shims, as a worker does.
func newRunner() *command.Runner {
	return command.NewRunner(command.Options{Shim: []string{"/proc/self/exe", command.ShimArgument}})
}
