package testsuite_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/testsuite"
)

func TestSized(t *testing.T) {
	for checks, size := range map[string]int{"": 1000, "10": 250, "99": 250, "100": 1000, "10000": 1000} {
		t.Setenv(testsuite.ChecksEnv, checks)
		assert.Equal(t, size, testsuite.Sized(t, 250, 1000), checks)
	}
}
