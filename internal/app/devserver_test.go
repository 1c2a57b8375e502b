package app

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/lib/tail"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

func serverOptions(t *testing.T) DevServer {
	t.Helper()
	binary, err := testsuite.FindServer()
	require.NoError(t, err)
	dir := t.TempDir()
	return DevServer{
		Binary: binary, Namespace: "default",
		DBFile: filepath.Join(dir, "temporal.db"), LogFile: filepath.Join(dir, "devserver.log"),
		ReadyFile: filepath.Join(dir, "devserver.json"),
	}
}

type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *notes) contain(text string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Contains(strings.Join(n.lines, "\n"), text)
}

func answers(ctx context.Context, address string) bool {
	client, err := starter.Dial(ctx, starter.Options{Address: address, HeartbeatInterval: -1, DialTimeout: time.Second})
	if err != nil {
		return false
	}
	client.Close()
	return true
}

func TestDevServerComesBackOnTheSamePort(t *testing.T) {
	t.Parallel()
	told := &notes{}
	keeper, err := startServer(t.Context(), serverOptions(t), slog.New(slog.DiscardHandler), told.add)
	require.NoError(t, err)
	before := keeper.Ready()
	assert.NotEmpty(t, before.UIURL)
	require.FileExists(t, keeper.options.ReadyFile)

	require.NoError(t, keeper.current.cmd.Process.Kill())
	require.Eventually(t, func() bool { return told.contain("is back on " + before.Address) }, time.Minute, 50*time.Millisecond)
	assert.True(t, told.contain("the dev server died (signal: killed"))
	assert.Equal(t, before, keeper.Ready())
	require.Eventually(t, func() bool { return answers(t.Context(), before.Address) }, time.Minute, 50*time.Millisecond)

	require.NoError(t, keeper.Stop())
	assert.False(t, answers(t.Context(), before.Address))
	assert.NoFileExists(t, keeper.options.ReadyFile)
	require.NoError(t, keeper.Stop(), "stopping twice does nothing")
}

func TestDevServerThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	options := serverOptions(t)
	options.DBFile = filepath.Join(t.TempDir(), "missing", "dir", "x.db")
	_, err := startServer(t.Context(), options, slog.New(slog.DiscardHandler), func(string) {})
	require.ErrorContains(t, err, "the dev server did not start (exit status 1: ")

	options = serverOptions(t)
	options.Binary = ""
	options.Executable = filepath.Join(t.TempDir(), "roundsman")
	if _, err := exec.LookPath(serverBinary); err != nil && os.Getenv(serverBinaryEnv) == "" {
		_, err = startServer(t.Context(), options, slog.New(slog.DiscardHandler), func(string) {})
		require.ErrorContains(t, err, "make build")
	}
}

// A stand-in for Temporal's CLI with the same flags. Like the CLI it prints no ready line and does not watch
// its standard input.
const fakeCLI = `#!/bin/sh
shift 2
while [ $# -gt 0 ]; do
  case $1 in
    --port) port=$2 ;; --ui-port) ui=$2 ;; --namespace) ns=$2 ;; --db-filename) db=$2 ;;
  esac
  shift 2
done
exec "$SERVER" --port "$port" --ui-port "$ui" --namespace "$ns" --db-filename "$db" >/dev/null
`

func TestTemporalCLIEndsWithItsParent(t *testing.T) {
	options := serverOptions(t)
	t.Setenv("SERVER", options.Binary)
	options.TemporalCLI = filepath.Join(t.TempDir(), "temporal")
	require.NoError(t, os.WriteFile(options.TemporalCLI, []byte(fakeCLI), 0o700)) //nolint:gosec // a program
	keeper, err := startServer(t.Context(), options, slog.New(slog.DiscardHandler), func(string) {})
	require.NoError(t, err)
	address := keeper.Ready().Address
	require.Eventually(t, func() bool { return answers(t.Context(), address) }, time.Minute, 50*time.Millisecond)
	group := keeper.current.cmd.Process.Pid

	// A killed parent leaves only the end of standard input.
	require.NoError(t, keeper.Stop())
	assert.False(t, answers(t.Context(), address))
	require.Eventually(t, func() bool { return syscall.Kill(-group, 0) != nil }, time.Minute, 20*time.Millisecond,
		"no process of the group is left")
}

// A CLI that is another program, or refuses its flags, is reported at once with its last output.
func TestTemporalCLIThatEndsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	options := serverOptions(t)
	options.TemporalCLI = filepath.Join(t.TempDir(), "temporal")
	refusing := "#!/bin/sh\necho 'Error: unknown flag' >&2\necho 'See temporal --help.' >&2\nexit 3\n"
	require.NoError(t, os.WriteFile(options.TemporalCLI, []byte(refusing), 0o700)) //nolint:gosec // a program
	_, err := startServer(t.Context(), options, slog.New(slog.DiscardHandler), func(string) {})
	require.ErrorContains(t, err, "did not start (exit status 3: Error: unknown flag)")
}

// silent is a launcher of servers that never become healthy.
type silent struct{ launcher }

func (silent) await(ctx context.Context, _ *child, _ DevServer) (ServerReady, error) {
	<-ctx.Done()
	return ServerReady{}, context.Cause(ctx)
}

func TestAServerThatIsNotHealthyInTimeIsExplained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := &child{tail: tail.New(keptTail)}
		_, err := late.tail.Write([]byte("begins\nnamespace default: not found\n"))
		require.NoError(t, err)
		k := &serverKeeper{launch: silent{}, options: DevServer{LogFile: "dev.log"}}
		_, err = k.await(t.Context(), late)
		require.EqualError(t, err, "the dev server was not healthy within 1m15s (namespace default: not found): see dev.log; on a busy machine start it again")
		left, leave := context.WithCancel(t.Context())
		leave()
		_, err = k.await(left, late)
		require.Equal(t, context.Canceled, err)
	})
}

func TestPortOf(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 7233, portOf("127.0.0.1:7233"))
	assert.Equal(t, 8233, portOf("http://127.0.0.1:8233"))
	assert.Equal(t, 0, portOf(""))
	assert.Equal(t, 0, portOf("nonsense"))
}
