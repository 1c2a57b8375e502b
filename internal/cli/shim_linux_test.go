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
	for _, heavy := range []string{"go.temporal.io/api/workflowservice/v1", "github.com/santhosh-tekuri/jsonschema/v6", "google.golang.org/grpc", "github.com/roundsman/roundsman/dag/spec"} {
		assert.NotContains(t, string(output), "init "+heavy+" @")
	}
}
