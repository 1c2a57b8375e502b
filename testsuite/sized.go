package testsuite

import (
	"os"
	"strconv"
	"testing"
)

// ChecksEnv is the environment variable with the number of cases of a property, which rapid reads too.
const ChecksEnv = "RAPID_CHECKS"

// fullChecks is rapid's own number of cases.
const fullChecks = 100

// Sized returns the size of a test: brief in `make test`, which has fewer cases of each property than rapid's 100, and full in
// `make property` and plain `go test`. It is for sizes that are a promise. The name of the test has Random, Hundred or Thousand,
// and so `make property` runs it.
func Sized(t testing.TB, brief, full int) int {
	t.Helper()
	text := os.Getenv(ChecksEnv)
	if text == "" {
		return full
	}
	checks, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", ChecksEnv, err)
	}
	if checks < fullChecks {
		return brief
	}
	return full
}
