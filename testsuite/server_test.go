package testsuite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/goleak"

	"github.com/roundsman/roundsman/testsuite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServerKeepsStateOverKill(t *testing.T) {
	t.Parallel()
	server := testsuite.StartServer(t, testsuite.WithFile(testsuite.TempFile(t)))
	address := server.Address()
	c := server.Client(t)
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "kept", TaskQueue: "nobody"}, "none")
	require.NoError(t, err)

	server.Kill()
	server.Kill()
	server.Restart(t)

	assert.Equal(t, address, server.Address(), "the port must be the same after a restart")
	found, err := c.DescribeWorkflowExecution(t.Context(), "kept", "")
	require.NoError(t, err)
	assert.Equal(t, run.GetRunID(), found.GetWorkflowExecutionInfo().GetExecution().GetRunId())
}

func TestServerWithUIAndNamespace(t *testing.T) {
	t.Parallel()
	server := testsuite.StartServer(t, testsuite.WithUI(), testsuite.WithNamespace("other"))
	assert.Contains(t, server.UIURL(), "http://127.0.0.1:")
	c := server.Client(t)
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "x", TaskQueue: "nobody"}, "none")
	require.NoError(t, err)
	server.Stop()
	_, err = server.Dial()
	require.Error(t, err)
}

func TestLaunchTellsWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := testsuite.Launch(testsuite.WithBinary(filepath.Join(t.TempDir(), "none")))
	require.ErrorContains(t, err, "make build")
	_, err = testsuite.Launch(testsuite.WithArgs("--no-such-flag"))
	require.ErrorContains(t, err, "no-such-flag")
}

// Without it, a test of other things would ignore a stuck run.
func TestServerTellsWhichWorkflowCodeFailed(t *testing.T) {
	t.Parallel()
	server, err := testsuite.Launch()
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	c, err := server.Dial(func(o *client.Options) { o.Logger = log.NewStructuredLogger(testsuite.Quiet()) })
	require.NoError(t, err)
	defer c.Close()
	w := worker.New(c, "here", worker.Options{})
	w.RegisterWorkflowWithOptions(func(workflow.Context) error { panic("broken") }, workflow.RegisterOptions{Name: "broken"})
	require.NoError(t, w.Start())
	defer w.Stop()
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "stuck", TaskQueue: "here"}, "broken")
	require.NoError(t, err)
	testsuite.WaitFor(t, 20*time.Second, "the complaint", func() bool { return len(server.FailedTasks()) > 0 })
	assert.Contains(t, server.FailedTasks()[0], "stuck")
	server.Kill()
	require.NoError(t, server.Relaunch())
	assert.NotEmpty(t, server.FailedTasks(), "it is not forgotten with the process")
}

func TestServersReportTheirCPUTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report")
	t.Setenv(testsuite.ReportEnv, path)
	of := func(name string, restarts int) (used float64) {
		t.Run(name, func(t *testing.T) {
			server := testsuite.StartServer(t)
			for range restarts {
				server.Restart(t)
			}
		})
		written, err := os.ReadFile(path)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(string(written)), "\n")
		_, err = fmt.Sscanf(lines[len(lines)-1], "server %f TestServersReportTheirCPUTime/"+name, &used)
		require.NoError(t, err, "%s", written)
		return used
	}
	once := of("once", 0)
	assert.Positive(t, once)
	assert.Greater(t, of("again", 3), once, "with the processes before a restart")
}
