package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// binary is the roundsman of `make build`.
func binary(t testing.TB) string {
	t.Helper()
	root, err := testsuite.ModuleRoot()
	require.NoError(t, err)
	path := filepath.Join(root, "bin", "roundsman")
	_, err = os.Stat(path)
	require.NoError(t, err, "run `make build` first")
	return path
}

// cluster is a server with a control plane and workers, each a process.
type cluster struct {
	t      *testing.T
	dir    string
	server *testsuite.Server
	client *starter.Client
	// procs are all started processes. workers are the worker processes by id.
	procs   []*sites.Process
	workers map[string]*sites.Process
	// control are the processes of the control plane.
	control []*sites.Process
}

func newCluster(t *testing.T, workers ...string) *cluster {
	t.Helper()
	s := sites.New(t)
	c := &cluster{t: t, dir: s.Dir, server: s.Server, client: s.Client}
	c.control = append(c.control, c.start("server"))
	for _, id := range workers {
		c.worker(id)
	}
	c.awaitFresh(workers...)
	return c
}

// worker starts a worker process with four slots.
func (c *cluster) worker(id string, extra ...string) *sites.Process {
	c.t.Helper()
	started := c.start(append([]string{"worker", "--id", id, "--data-dir", filepath.Join(c.dir, id), "--drain-timeout", "2s"}, extra...)...)
	if c.workers == nil {
		c.workers = map[string]*sites.Process{}
	}
	c.workers[id] = started
	return started
}

func (c *cluster) start(args ...string) *sites.Process {
	c.t.Helper()
	p := start(c.t, c.dir, append(args, "--address", c.server.Address())...)
	c.procs = append(c.procs, p)
	return p
}

// start starts the built roundsman until the test ends.
func start(t *testing.T, dir string, args ...string) *sites.Process {
	t.Helper()
	return (&sites.Site{T: t, Dir: dir}).Program(nil, append([]string{binary(t)}, args...)...)
}

// killAll is kill -9 of server, control plane and workers.
func (c *cluster) killAll() {
	for _, p := range c.procs {
		p.Kill()
	}
	c.procs = nil
	c.server.Kill()
}

// awaitFresh waits until the registry sees heartbeats of these workers.
func (c *cluster) awaitFresh(ids ...string) {
	c.t.Helper()
	testsuite.WaitFor(c.t, time.Minute, fmt.Sprintf("workers %v fresh", ids), func() bool {
		workers, err := c.client.Workers().List(c.t.Context(), contract.WorkersQueryInput{Online: true})
		if err != nil {
			return false
		}
		fresh := map[string]bool{}
		for _, w := range workers {
			fresh[w.Registration.ID] = w.Fresh
		}
		for _, id := range ids {
			if !fresh[id] {
				return false
			}
		}
		return true
	})
}

// apply writes a configuration with these job types in YAML and applies it. No job type is due by itself.
func (c *cluster) apply(jobTypes string) {
	c.t.Helper()
	path := filepath.Join(c.dir, "roundsman.yaml")
	require.NoError(c.t, os.WriteFile(path, []byte(header+jobTypes), 0o600))
	p := c.start("apply", "--config", path, "--prune")
	require.Equal(c.t, 0, p.Code(c.t, 2*time.Minute), p.Stderr.Last())
}

// run starts a job type now.
func (c *cluster) run(name string) starter.RunRef {
	c.t.Helper()
	started, err := jobtypes.Of(c.client).RunNow(c.t.Context(), name)
	require.NoError(c.t, err)
	return started.RunRef
}

// result waits for the end of a run.
func (c *cluster) result(ref starter.RunRef, limit time.Duration) contract.JobGroupResult {
	c.t.Helper()
	ctx, cancel := testsuite.Within(c.t, limit)
	defer cancel()
	result, err := c.client.Runs().Result(ctx, ref)
	require.NoError(c.t, err)
	return result
}

// header begins a configuration whose scripts run side by side.
const header = "version: 1\nlanes: {side: {exclusive: false}, default: {}}\njob_types:\n"

// script is a job type of the command handler. detect and execute are shell scripts.
func script(name, policy, detect, execute string) string {
	return fmt.Sprintf(`  %s:
    handler: command
    lane: side
    schedule: {every: 365d, first_run: scheduled}
    policy: {%s}
    detect: {command: [sh, -c, %q], format: lines}
    execute: {command: [sh, -c, %q, job, "{{.Params.item}}"]}
`, name, policy, detect, execute)
}

// lines counts the lines of a file in the cluster's directory, one per side effect.
func (c *cluster) lines(name string) []string {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(c.t, err)
	return strings.Fields(string(data))
}
