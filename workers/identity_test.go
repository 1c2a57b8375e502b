package workers

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

func TestStableID(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	given, err := stableID("node-a", dir)
	require.NoError(t, err)
	assert.Equal(t, "node-a", given)
	made, err := stableID("", dir)
	require.NoError(t, err)
	require.NoError(t, jobtype.ValidateName(made))
	again, err := stableID("", dir)
	require.NoError(t, err)
	assert.Equal(t, made, again, "made up once and kept")
	other, err := stableID("", t.TempDir())
	require.NoError(t, err)
	assert.NotEqual(t, made, other)

	require.NoError(t, os.WriteFile(filepath.Join(dir, idFile), []byte("Not A Name"), 0o600))
	_, err = stableID("", dir)
	require.ErrorContains(t, err, "correct or remove the file")
}

func TestClaimIsExclusiveAndKnowsTheDead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := takeClaim(dir, "node-a", "i1")
	require.NoError(t, err)
	assert.Empty(t, first.dead)
	_, err = takeClaim(dir, "node-a", "i2")
	var inUse *InUseError
	require.ErrorAs(t, err, &inUse)
	other, err := takeClaim(dir, "node-b", "i3")
	require.NoError(t, err)
	other.release()

	// A command that is being started has a copy of the descriptor.
	started, err := syscall.Dup(int(first.file.Fd()))
	require.NoError(t, err)
	defer func() { _ = syscall.Close(started) }()
	first.release()
	second, err := takeClaim(dir, "node-a", "i4")
	require.NoError(t, err)
	assert.Equal(t, []string{"i1"}, second.dead)

	// It is killed before its registration: i1 may hold the id in the registry.
	second.release()
	third, err := takeClaim(dir, "node-a", "i5")
	require.NoError(t, err)
	assert.Equal(t, []string{"i1", "i4"}, third.dead)
	require.NoError(t, third.registered())
	require.NoError(t, third.registered(), "once is enough")
	third.release()
	fourth, err := takeClaim(dir, "node-a", "i6")
	require.NoError(t, err)
	defer fourth.release()
	assert.Equal(t, []string{"i5"}, fourth.dead)
}
