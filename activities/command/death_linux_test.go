package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgramEndsWhenItsWorkerIsKilled(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	executable, err := os.Executable()
	require.NoError(t, err)
	worker := exec.Command(executable)
	worker.Env = append(os.Environ(), workerScript+"=echo $$ > "+pidFile+".new; mv "+pidFile+".new "+pidFile+"; exec sleep 1000")
	require.NoError(t, worker.Start())
	t.Cleanup(func() { _ = worker.Process.Kill() })
	require.Eventually(t, func() bool {
		_, err := os.Stat(pidFile)
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, worker.Process.Kill())
	_ = worker.Wait()
	requireGone(t, pidFile)
}
