package cli_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/app"
)

// A shim starts for each program, so it begins before the packages of a worker are initialized.
func TestAShimInitializesLittle(t *testing.T) {
	t.Parallel()
	shim := exec.CommandContext(t.Context(), app.OwnShim()[0], app.OwnShim()[1:]...)
	shim.Env = []string{"GODEBUG=inittrace=1"}
	output, err := shim.CombinedOutput()
	assert.Error(t, err)
	assert.Contains(t, string(output), "is started by a worker only")
	assert.Contains(t, string(output), "init golang.org/x/sys/unix @")
	for _, heavy := range []string{"regexp", "path/filepath", "go.yaml.in/yaml/v3", "go.temporal.io/api/enums/v1", "google.golang.org/protobuf/proto"} {
		assert.NotContains(t, string(output), "init "+heavy+" @")
	}
}
