package plainfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/plainfile"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	text, err := plainfile.Read(path, 4)
	require.NoError(t, err)
	assert.Equal(t, "text", text)
	for path, want := range map[string]string{
		path: "the file has more than 3 bytes", dir: "it is no file", filepath.Join(dir, "b"): "no such file or directory", "a": "the path is not absolute",
	} {
		_, err := plainfile.Read(path, 3)
		assert.EqualError(t, err, want)
	}
}
