package devserver_test

import (
	"os"
	"testing"

	"github.com/roundsman/roundsman/devserver"
)

// asServer makes the test binary behave as roundsman-devserver. Tests start it
// again as a process of its own, which they can signal and kill, without
// building the server a second time.
const asServer = "ROUNDSMAN_DEVSERVER_TEST_AS_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(devserver.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
