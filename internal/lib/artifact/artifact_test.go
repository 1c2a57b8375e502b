//go:build unix

package artifact_test

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/artifact"
)

// collect returns the content of each kept file, and the reason for each other one.
func collect(t *testing.T, s artifact.Search) (kept, refused map[string]string) {
	t.Helper()
	kept, refused = map[string]string{}, map[string]string{}
	s.Collect(t.Context(), func(name string, content io.Reader, err error) {
		if err != nil {
			refused[name] = err.Error()
			return
		}
		text, err := io.ReadAll(content)
		require.NoError(t, err)
		kept[name] = string(text)
	})
	return kept, refused
}

// A program may have replaced its files and folders by links to files that only the worker may read.
func TestNothingOutsideTheDirectoryIsTaken(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), filepath.Join(t.TempDir(), "a [b] *")
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(filepath.Join(outside, "secret.txt"), "secret")
	write(filepath.Join(dir, "reports", "a.txt"), "a")
	write(filepath.Join(dir, "reports", "b.txt"), "b")
	for name, to := range map[string]string{
		"folder": outside, "upwards": "../..", "reports/absolute.txt": filepath.Join(outside, "secret.txt"),
		"reports/relative.txt": "../../../secret.txt", "reports/inside.txt": "a.txt", "reports/dangling.txt": "nothing",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, name)))
	}
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "reports", "pipe.txt"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "reports", "folder.txt"), 0o700))

	kept, refused := collect(t, artifact.Search{
		Dir: dir, Owner: -1,
		Patterns: []string{"reports/*.txt", "reports/a.txt", "folder/*.txt", "upwards/*", "../*", "/etc/hostname", "none-*", "reports/[", "reports/../reports/*"},
	})
	assert.Equal(t, map[string]string{"reports/a.txt": "a", "reports/b.txt": "b", "reports/inside.txt": "a"}, kept)
	for name, reason := range map[string]string{
		"reports/absolute.txt": "path escapes from parent", "reports/relative.txt": "path escapes from parent",
		"reports/dangling.txt": "no such file", "reports/pipe.txt": "no plain file", "reports/folder.txt": "no plain file",
		"folder/*.txt": "path escapes from parent", "upwards/*": "path escapes from parent", "../*": "leads out of dir",
		"/etc/hostname": "leads out of dir", "none-*": "no file matches", "reports/[": "no pattern", "reports/../reports/*": "shortest form",
	} {
		assert.Contains(t, refused[name], reason, name)
	}
	assert.Len(t, refused, 12)
}

func TestFilesOfOthersAndTooManyFilesAreNotTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for k := range artifact.Max + 3 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(k)), nil, 0o600))
	}
	kept, refused := collect(t, artifact.Search{Dir: dir, Patterns: []string{"*"}, Owner: os.Geteuid()})
	assert.Len(t, kept, artifact.Max)
	assert.Equal(t, map[string]string{"*": "more than 100 files: the others are not kept"}, refused)

	kept, refused = collect(t, artifact.Search{Dir: dir, Patterns: []string{"1", "2"}, Owner: os.Geteuid() + 1})
	assert.Empty(t, kept)
	assert.Len(t, refused, 2)
	assert.Contains(t, refused["1"], "the program's user")
}
