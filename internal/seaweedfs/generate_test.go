package seaweedfs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGeneratedCodeIsThatOfTheProtos runs where protoc and the plugins of `make proto` are installed:
// PROTO_PLUGINS names their directory.
func TestGeneratedCodeIsThatOfTheProtos(t *testing.T) {
	t.Parallel()
	plugins := os.Getenv("PROTO_PLUGINS")
	if _, err := exec.LookPath("protoc"); err != nil || plugins == "" {
		t.Skip("`make proto-check` runs this with protoc and the pinned plugins")
	}
	out := t.TempDir()
	command := exec.Command("sh", "generate.sh")
	command.Env = append(os.Environ(), "OUT="+out, "PLUGINS="+plugins)
	printed, err := command.CombinedOutput()
	require.NoError(t, err, string(printed))
	committed, err := filepath.Glob("*pb/*.pb.go")
	require.NoError(t, err)
	require.NotEmpty(t, committed)
	for _, path := range committed {
		assert.Equal(t, withoutProtoc(t, path), withoutProtoc(t, filepath.Join(out, path)), "%s: run `make proto`", path)
	}
}

// withoutProtoc leaves out the line with protoc's own version, which differs between
// distributions and changes nothing in the code.
func withoutProtoc(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path) //nolint:gosec // the test's own paths
	require.NoError(t, err)
	var kept []string
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "//") || !strings.Contains(line, "protoc ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
