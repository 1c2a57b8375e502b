package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/cli/dev"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/clitest"
)

type onceOutput struct {
	Groups []dev.GroupReport `json:"groups"`
}

func devArgs(dir string, more ...string) []string {
	return append([]string{"dev", "--data-dir", dir, "--port", "0", "--ui-port", "0"}, more...)
}

func TestDevOnce(t *testing.T) {
	t.Parallel()
	h := offline(t)
	dir := filepath.Join(t.TempDir(), "data")
	config := h.write(clusterConfig(filepath.Join(dir, "lock")))
	o := h.run(devArgs(dir, "--once", "--json", "-c", config)...).Exits(ui.ExitFailed)
	o.Complains("Web UI", "http://127.0.0.1:", "node-a, node-b", "broken: partial in")
	groups := clitest.Decode[onceOutput](o).Groups
	require.Len(t, groups, 3)
	assert.Equal(t, []string{"broken", "quick", "slow"}, []string{groups[0].JobType, groups[1].JobType, groups[2].JobType})
	assert.Equal(t, "partial", groups[0].Outcome)
	assert.Equal(t, 1, groups[0].Failed)
	require.Len(t, groups[0].Errors, 1)
	assert.Equal(t, "bad", groups[0].Errors[0].DedupeKey)
	assert.Contains(t, groups[0].Errors[0].Message, "no such disk")
	assert.Equal(t, "completed", groups[1].Outcome)
	assert.Equal(t, 4, groups[1].Detected)
	assert.Equal(t, 1, groups[1].Duplicates)
	assert.Equal(t, 3, groups[1].Completed)
	assert.NotEmpty(t, groups[1].RunID)
	assert.Positive(t, groups[1].DurationMS)
	for _, key := range []string{"job_type", "workflow_id", "run_id", "outcome", "detected", "duplicates", "already_active", "completed", "failed", "canceled", "stale", "retries", "duration_ms", "errors"} {
		assert.Contains(t, o.Stdout, `"`+key+`":`)
	}

	// Again on the same data dir: everything survives, new groups run.
	good := h.write(minimalConfig)
	again := clitest.Decode[onceOutput](h.run(devArgs(dir, "--once", "--json", "-c", good)...).OK())
	require.Len(t, again.Groups, 1, "the job types that the configuration no longer has are gone")
	assert.Equal(t, "echo", again.Groups[0].JobType)

	disabled := h.write(strings.Replace(minimalConfig, "handler: command", "handler: command\n    enabled: false", 1))
	none := h.run(devArgs(dir, "--once", "--json", "-c", disabled)...).OK()
	assert.JSONEq(t, `{"groups":[]}`, none.Stdout, "nothing was due")
	h.run(devArgs(dir, "--once", "-c", disabled)...).OK().Says("no job type is enabled")
}

// running is a command that runs until code ends it.
type running struct {
	out, err *clitest.Screen
	stop     context.CancelFunc
	done     chan int
}

func (h *harness) begin(args ...string) *running {
	h.t.Helper()
	r := &running{out: &clitest.Screen{}, err: &clitest.Screen{}, done: make(chan int, 1)}
	env := h.env
	env.Stdout, env.Stderr = r.out, r.err
	ctx, stop := context.WithCancel(context.WithoutCancel(h.t.Context()))
	r.stop = stop
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.done <- Run(ctx, env, args, h.handlers...)
	}()
	h.t.Cleanup(func() {
		stop()
		<-ended
	})
	return r
}

func (r *running) waitFor(t *testing.T, text string) {
	t.Helper()
	testsuite.WaitFor(t, 3*time.Minute, "it prints "+text, func() bool { return strings.Contains(r.out.String(), text) })
}

// code ends it as Ctrl-C does.
func (r *running) code() int {
	r.stop()
	return <-r.done
}

// address reads the address of the dev server of a data dir.
func address(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "devserver.json"))
	require.NoError(t, err)
	var ready app.ServerReady
	require.NoError(t, json.Unmarshal(text, &ready))
	return ready.Address
}

func TestDevUntilInterrupted(t *testing.T) {
	t.Parallel()
	h := offline(t)
	dir := t.TempDir()
	gate := filepath.Join(dir, "gate")
	// The groups begin in any order. In the lane of the others, slow could be the first and wait for the gate.
	config := h.write(strings.Replace(clusterConfig(gate), "  slow:\n    handler: command\n    lane: default\n", "  slow:\n    handler: command\n", 1))
	first := h.begin(devArgs(dir, "-c", config)...)
	first.waitFor(t, "quick: completed in")
	assert.Contains(t, first.out.String(), "(command), every 8760h")
	inside := offline(t).at(address(t, dir))
	inside.eventually("running", "show", "slow/job-00001")

	// A second one on the same data dir is refused, with the pid of the first.
	h.run(devArgs(dir, "--once", "-c", config)...).Exits(ui.ExitFailed).Complains(fmt.Sprintf("by process %d", os.Getpid()), "--data-dir")

	assert.Equal(t, ui.ExitOK, first.code(), first.err.String())
	assert.Contains(t, first.out.String(), "stopping:")

	// The group that was running continues; the others do not run again.
	touch(t, gate)
	second := h.begin(devArgs(dir, "-c", config)...)
	second.waitFor(t, "slow: completed in")
	assert.NotContains(t, second.out.String(), "quick:")
	assert.Equal(t, ui.ExitOK, second.code(), second.err.String())
}

// TestDevWithoutJobTypes: dev shows runs of DAGs, and of job types that are applied later.
func TestDevWithoutJobTypes(t *testing.T) {
	t.Parallel()
	h := offline(t)
	dir := t.TempDir()
	held, err := net.Listen("tcp", "127.0.0.1:8234")
	dev := h.begin(devArgs(dir, "-c", h.write("version: 1\njob_types: {}\n"))...)
	dev.waitFor(t, "workers    node-a, node-b")
	if err == nil {
		defer held.Close()
	}
	banner := dev.out.String()
	assert.NotEqual(t, strings.Contains(banner, "http://127.0.0.1:8234/"),
		strings.Contains(banner, "api/v1 (listen tcp 127.0.0.1:8234: bind: address already in use; --http chooses a port)"))
	inside := offline(t).at(address(t, dir))
	inside.eventually("ONLINE", "workers")
	inside.run("start", "-w", example(t, "nine.yaml")).OK()
	dev.waitFor(t, "nine: completed in")
	inside.run("apply", "-c", h.write(minimalConfig)).OK()
	inside.run("start", "echo").OK()
	dev.waitFor(t, "echo: completed in")
	assert.NotContains(t, dev.out.String(), "stopping:")
	assert.Equal(t, ui.ExitOK, dev.code(), dev.err.String())
}

func TestDevOnceAdoptsWhatStillRuns(t *testing.T) {
	t.Parallel()
	h := offline(t)
	dir := t.TempDir()
	gate := filepath.Join(dir, "gate")
	config := h.write(clusterConfig(gate))
	first := h.begin(devArgs(dir, "--once", "-c", config)...)
	first.waitFor(t, "slow: started group/slow-")
	offline(t).at(address(t, dir)).eventually("running", "show", "slow/job-00001")
	assert.Equal(t, ui.ExitFailed, first.code())
	assert.Contains(t, first.err.String(), "continue with the next `roundsman dev`")

	touch(t, gate)
	o := h.run(devArgs(dir, "--once", "--json", "-c", config)...).Complains("was running already; waiting for it")
	for _, group := range clitest.Decode[onceOutput](o).Groups {
		if group.JobType == "slow" {
			assert.Contains(t, first.out.String(), "started "+group.WorkflowID, "the same group")
			assert.Equal(t, 3, group.Completed)
		}
	}
}

func TestDevWithARunningServer(t *testing.T) {
	t.Parallel()
	server := testsuite.StartServer(t)
	h := offline(t)
	o := h.run("dev", "--address", server.Address(), "--once", "--json", "--data-dir", t.TempDir(), "-c", h.write(minimalConfig)).OK()
	assert.Equal(t, "completed", clitest.Decode[onceOutput](o).Groups[0].Outcome)
}

func TestDevServerOfWhichThePortIsTaken(t *testing.T) {
	t.Parallel()
	server := testsuite.StartServer(t)
	_, port, _ := strings.Cut(server.Address(), ":")
	h := offline(t)
	h.run("dev", "--port", port, "--ui-port", "0", "--data-dir", t.TempDir(), "-c", h.write(minimalConfig)).
		Exits(ui.ExitFailed).Complains("the dev server did not start", port)
}
