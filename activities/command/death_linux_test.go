package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/activities/command"
)

// killedWorker runs script as the only job of a worker process and kills that
// with SIGKILL when all files are there.
func killedWorker(t *testing.T, dir, script string, files ...string) {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	worker := exec.Command(executable)
	worker.Env = append(os.Environ(), workerScript+"="+script, workerDir+"="+dir)
	require.NoError(t, worker.Start())
	t.Cleanup(func() { _ = worker.Process.Kill() })
	for _, file := range files {
		require.Eventually(t, func() bool {
			_, err := os.Stat(file)
			return err == nil
		}, time.Minute, 10*time.Millisecond)
	}
	require.NoError(t, worker.Process.Kill())
	_ = worker.Wait()
}

// keeps writes the last background process's id to file.
func keeps(file string) string {
	return "echo $! > " + file + ".new; mv " + file + ".new " + file + "; "
}

func TestProgramEndsWhenItsWorkerIsKilled(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	killedWorker(t, "", "echo $$ > "+pidFile+".new; mv "+pidFile+".new "+pidFile+"; exec sleep 1000", pidFile)
	requireGone(t, pidFile)
}

// What a program has started outlives it after a kill -9 of the worker, and is
// ended by the next process of that worker.
func TestTheNextProcessEndsWhatAKilledWorkerLeft(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]string{
		"its program died with the worker": "sleep 1000 & %s setsid sleep 1000 & %s wait",
		"it ignores SIGTERM":               "(trap '' TERM; sleep 1000) & %s setsid sleep 1000 & %s wait",
		"its program ignores SIGTERM, too": "trap '' TERM; sleep 1000 & %s setsid sleep 1000 & %s wait; sleep 1000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			state, left, daemon := filepath.Join(dir, "state"), filepath.Join(dir, "left"), filepath.Join(dir, "daemon")
			killedWorker(t, state, fmt.Sprintf(program, keeps(left), keeps(daemon)), left, daemon)
			t.Cleanup(func() { _ = syscall.Kill(readPID(t, daemon), syscall.SIGKILL) })
			require.True(t, lives(readPID(t, left)), "nobody has ended it yet")

			require.NoError(t, command.New(command.Options{}).PrepareNode(t.Context(), "node-a", state))
			assert.False(t, lives(readPID(t, left)), "gone when PrepareNode returns")
			assert.True(t, lives(readPID(t, daemon)), "what left the group is meant to stay")
			kept, err := os.ReadDir(state)
			require.NoError(t, err)
			assert.Empty(t, kept)
		})
	}
}

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
	require.NoError(t, command.New(command.Options{}).PrepareNode(t.Context(), "node-a", dir))
	assert.True(t, lives(other.Process.Pid))
	kept, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, kept)
}
