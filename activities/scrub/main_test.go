package scrub

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childRole makes the test binary another process that uses a baseline.
const childRole = "SCRUB_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childRole); path != "" {
		os.Exit(writeForEver(path))
	}
	goleak.VerifyTestMain(m)
}
