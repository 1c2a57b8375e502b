package seaweede2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/seaweedfs/fakeweed"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// roleEnv makes the test binary a roundsman, or a cluster.
const roleEnv = "ROUNDSMAN_SEAWEEDE2E"

func TestMain(m *testing.M) {
	role := os.Getenv(roleEnv)
	if role == "" {
		os.Exit(m.Run()) //nolint:forbidigo // what TestMain is for
	}
	// No process outlives the tests, however they end.
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3) //nolint:forbidigo // this is cmd/roundsman's main
	}()
	if role == "cluster" {
		serve()
		<-ended
	}
	os.Exit(roundsman.Main()) //nolint:forbidigo // as above
}

const objects, objectSize = 10, 1000

// serve is a cluster of two servers, of which one has all volumes. A tail takes a
// while, so that there is time to kill a worker in the middle of a move.
func serve() {
	cluster := fakeweed.New(nil)
	for i := range 2 {
		cluster.Add(fakeweed.Server{Address: fmt.Sprintf("127.0.0.1:%d", 8080+i), Max: 4})
	}
	for id := range uint32(3) {
		cluster.Put(fakeweed.Volume{ID: id + 1, Objects: objects, ObjectSize: objectSize}, "127.0.0.1:8080")
	}
	running, err := cluster.Serve(fakeweed.Options{Delay: func(method string) time.Duration {
		if method == "VolumeTailReceiver" {
			return 3 * time.Second
		}
		return 0
	}})
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, running.Master)
}

// site is a server, a control plane, a cluster and workers.
type site struct {
	t       *testing.T
	dir     string
	server  *testsuite.Server
	client  *starter.Client
	master  string
	cluster *weed.Cluster
	workers map[string]*process
}

const fleetConfig = "version: 1\nfleet: {heartbeat_interval: 1s, unreachable_after: 5s, offline_after: 10s, delete_after: 1h}\n"

func newSite(t *testing.T, workers ...string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), workers: map[string]*process{}}
	s.server = replay.StartServer(t, testsuite.WithFile(filepath.Join(s.dir, "temporal.db")))
	client, err := starter.Dial(t.Context(), starter.Options{Address: s.server.Address()})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	s.client = client
	served := s.run("cluster")
	testsuite.WaitFor(t, time.Minute, "the cluster", func() bool { s.master = strings.TrimSpace(served.stdout.String()); return s.master != "" })
	s.cluster, err = weed.Dial(weed.Spec{Masters: []string{s.master}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.cluster.Close() })
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, "fleet.yaml"), []byte(fleetConfig+"job_types: {}\n"), 0o600))
	s.roundsman("server")
	for _, id := range workers {
		s.workers[id] = s.roundsman("worker", "--id", id, "--data-dir", filepath.Join(s.dir, id))
	}
	for _, id := range workers {
		testsuite.WaitFor(t, time.Minute, id+" to be fresh", func() bool {
			w, err := s.client.Workers().Get(t.Context(), id)
			return err == nil && w.State == contract.WorkerOnline && w.Fresh
		})
	}
	return s
}

func (s *site) roundsman(args ...string) *process {
	return s.run("roundsman", append(args, "--address", s.server.Address(), "--config", filepath.Join(s.dir, "fleet.yaml"))...)
}

func (s *site) run(role string, args ...string) *process {
	s.t.Helper()
	self, err := os.Executable()
	require.NoError(s.t, err)
	p := &process{Cmd: exec.CommandContext(context.WithoutCancel(s.t.Context()), self, args...), done: make(chan struct{})}
	p.Dir, p.Stdout, p.Stderr, p.Env = s.dir, &p.stdout, &p.stderr, append(os.Environ(), roleEnv+"="+role, "NO_COLOR=1")
	stdin, err := p.StdinPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, p.Start())
	go func() {
		_ = p.Wait() // How it ended is read from ProcessState.
		close(p.done)
	}()
	s.t.Cleanup(func() {
		p.kill()
		_ = stdin.Close()
		if s.t.Failed() {
			s.t.Logf("%s %v said:\n%s\n%s", role, args, p.stdout.String(), p.stderr.String())
		}
	})
	return p
}

// apply applies one job type, which is due only when a test says so.
func (s *site) apply(name string) {
	s.t.Helper()
	path := filepath.Join(s.dir, "jobs.yaml")
	text := fmt.Sprintf("%scluster: {masters: [%q]}\njob_types:\n  %s:\n    handler: %s\n    schedule: {every: 365d}\n", fleetConfig, s.master, name, name)
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
	p := s.run("roundsman", "apply", "--config", path, "--address", s.server.Address())
	<-p.done
	require.Equal(s.t, 0, p.ProcessState.ExitCode(), p.stderr.String())
}

// process is one started process.
type process struct {
	*exec.Cmd
	stdout, stderr output
	done           chan struct{}
}

// kill is kill -9, and waits until the process is gone.
func (p *process) kill() {
	_ = p.Process.Signal(syscall.SIGKILL)
	<-p.done
}

// output may be read while the process writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
