package command_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func lives(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// A process that got the number of a noted one, and a group that begins with it,
// are left alone.
func TestARecycledProcessIDIsNotEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, other.Start())
	t.Cleanup(func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	})
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	require.NoError(t, err)
	for name, start := range map[string]uint64{string(boot[:len(boot)-1]): 1, "an earlier boot": 1} {
		note, err := json.Marshal(map[string]any{"mark": "m", "boot": name, "pid": other.Process.Pid, "start": start, "grace": 1, "program": "sleep"})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name[:4]+".group.json"), note, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "torn.group.json"), []byte("{"), 0o600))
	require.NoError(t, newHandler(0).PrepareNode(t.Context(), "node-a", dir))
	assert.True(t, lives(other.Process.Pid))
	kept, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, kept)
}

// A note that cannot be read may be the only trace of a living program.
func TestAnUnreadableNoteStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	note := filepath.Join(dir, "x.group.json")
	require.NoError(t, os.Mkdir(note, 0o700))
	require.NoError(t, os.WriteFile(note+".new", nil, 0o600))
	require.ErrorContains(t, newHandler(0).PrepareNode(t.Context(), "node-a", dir), note)
	assert.DirExists(t, note)
	assert.NoFileExists(t, note+".new")
}
