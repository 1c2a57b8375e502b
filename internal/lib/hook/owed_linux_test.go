package hook_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/roundsman/roundsman/internal/lib/hook"
	"github.com/roundsman/roundsman/internal/lib/launch"
)

// A name survives the machine once its directory is synced: it is opened after each change of the name.
func TestTheNameOfWhatIsOwedIsSynced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	require.NoError(t, err)
	defer func() { _ = unix.Close(watch) }()
	_, err = unix.InotifyAddWatch(watch, dir, unix.IN_OPEN|unix.IN_MOVED_TO|unix.IN_DELETE)
	require.NoError(t, err)
	seen := func() (names []string) {
		buffer := make([]byte, 1<<16)
		n, err := unix.Read(watch, buffer)
		require.NoError(t, err)
		for at := 0; at < n; at += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buffer[at+12:])) {
			switch mask := binary.NativeEndian.Uint32(buffer[at+4:]); {
			case mask == unix.IN_OPEN|unix.IN_ISDIR:
				names = append(names, "opened")
			case mask&unix.IN_MOVED_TO != 0:
				names = append(names, "renamed")
			case mask&unix.IN_DELETE != 0:
				names = append(names, "removed")
			}
		}
		return names
	}
	owed := &hook.Owed{Job: "g/a", Pending: launch.Hooks{Finally: []string{"umount", "/x"}}.All()}
	require.NoError(t, owed.Open(dir, "a"))
	assert.Equal(t, []string{"renamed", "opened"}, seen())
	require.NoError(t, owed.Done())
	assert.Equal(t, []string{"removed", "opened"}, seen())
}
