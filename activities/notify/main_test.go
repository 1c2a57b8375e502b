package notify

import (
	"os"
	"testing"

	"github.com/roundsman/roundsman/activities/command"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == command.ShimArgument {
		os.Exit(command.Shim())
	}
	os.Exit(m.Run())
}
