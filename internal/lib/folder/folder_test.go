package folder_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/folder"
)

// TestNothingAboveTheFolderIsRead tries names and a link that lead out of it.
func TestNothingAboveTheFolderIsRead(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	below := filepath.Join(above, "conf")
	require.NoError(t, os.Mkdir(below, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(above, "secret"), []byte("secret"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(below, "dag.yaml"), []byte("tasks: []"), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(above, "secret"), filepath.Join(below, "link")))
	on := folder.On(below)
	data, err := on.Read("dag.yaml", 100)
	require.NoError(t, err)
	assert.Equal(t, "tasks: []", string(data))
	for _, name := range []string{"../secret", "link", filepath.Join(above, "secret")} {
		_, err := on.Read(name, 100)
		require.Error(t, err, name)
	}
	assert.Equal(t, filepath.Join(below, "dag.yaml"), on.Place("dag.yaml"))
}

// TestLongAndMissingFilesAreErrors holds for both kinds of folders.
func TestLongAndMissingFilesAreErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("12345"), 0o600))
	for _, one := range []folder.Folder{folder.On(dir), folder.Sent(map[string]string{"a": "12345"})} {
		data, err := one.Read("a", 5)
		require.NoError(t, err, one)
		assert.Equal(t, "12345", string(data))
		_, err = one.Read("a", 4)
		require.ErrorIs(t, err, folder.ErrTooLong, one)
		_, err = one.Read("b", 4)
		require.ErrorIs(t, err, fs.ErrNotExist, one)
	}
}
