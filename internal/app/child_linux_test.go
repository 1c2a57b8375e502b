package app

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A log on a full disk neither ends the server nor hides its last words.
func TestAFullDiskForTheLogDoesNotEndTheServer(t *testing.T) {
	t.Parallel()
	const more = "yes | head -c 300000" // A pipe holds 64 KiB.
	for name, output := range map[string]string{"stdout": "", "stderr": " >&2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process, err := runChild(exec.Command("sh", "-c", more+output+"; echo no space >&2; exit 7"), "/dev/full", nil)
			require.NoError(t, err)
			<-process.done
			assert.Equal(t, "exit status 7: no space", process.describe())
		})
	}
}
