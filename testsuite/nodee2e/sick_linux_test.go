package nodee2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// sickTypes are 60 jobs that may not be retried, of a user and with a secret, a program of node-b alone, and a program of
// no node. A detection of the last ones needs no program of its own.
const sickTypes = `
lanes: {free: {exclusive: false}}
job_types:
  sixty: &sixty
    handler: command
    lane: free
    schedule: {every: 365d, first_run: scheduled}
    policy: {retry_limit: 0, global_execution_concurrency: 8}
    detect: {command: [sh, -c, 'for i in $(seq 60); do echo "{\"dedupe_key\": \"$i\"}"; done']}
    execute: {command: [sh, -c, 'echo $ROUNDSMAN_WORKER_ID >> %[1]s/ran; sleep 0.02'], user: "%[2]s", env: {S: {command: [echo, secret]}}}
  only-b:
    <<: *sixty
    execute: {command: [program-of-b]}
  nowhere:
    <<: *sixty
    execute: {command: [%[1]s/nowhere]}
`

// openFiles sets the number of files that a process may have open from now on; 0: the hard limit. Open files stay open.
func openFiles(t *testing.T, p *sites.Process, n uint64) {
	t.Helper()
	var limit unix.Rlimit
	require.NoError(t, unix.Prlimit(p.Process.Pid, unix.RLIMIT_NOFILE, nil, &limit))
	limit.Cur = n
	if n == 0 {
		limit.Cur = limit.Max
	}
	require.NoError(t, unix.Prlimit(p.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil))
}

// TestASickNodeFailsNothing: a worker that has no file descriptors left stays ONLINE and
// fails every job at once. All its jobs are executed by the other worker, doctor, status and
// the lists give the reason, and it is used again once it can start a program.
func TestASickNodeFailsNothing(t *testing.T) {
	t.Parallel()
	self, err := user.Current()
	require.NoError(t, err)
	s := newSite(t, "node-b")
	sick := s.worker("node-a")
	s.AwaitFresh("node-a")
	s.Apply(sites.Scaled + fmt.Sprintf(sickTypes, s.Dir, self.Username))
	openFiles(t, sick, 3)

	result := s.Result(s.Begin("sixty"))
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Errors)
	assert.Equal(t, 60, result.Counts.Completed)
	assert.Zero(t, result.Counts.Retries, "no attempt is counted")
	assert.Equal(t, 60, result.ByWorker["node-b"])
	assert.Len(t, s.lines("ran"), 60)

	tasks := s.runTasks("true", 20)
	assert.Equal(t, contract.OutcomeCompleted, tasks.Outcome, "%+v", tasks.Tasks)

	seen := s.Await("node-a", "suspect", func(w contract.WorkerDetail) bool { return w.Trouble != nil })
	assert.Equal(t, contract.WorkerOnline, seen.State)
	assert.Equal(t, contract.CodeCannotStart, seen.Trouble.Code)
	assert.Contains(t, seen.Trouble.Reason, "too many open files")
	assert.Contains(t, s.Command("workers"), "ONLINE, CANNOT_START")
	assert.Contains(t, s.Command("show", "node-a"), "too many open files")
	assert.Contains(t, s.Command("status"), "too many open files")
	assert.Contains(t, s.Command("explain", "node-a"), "CANNOT_START")
	var checks struct {
		Checks []struct{ Name, Verdict, Found string }
	}
	doctor := s.Start("doctor", "--output", "json")
	doctor.Code(t, time.Minute)
	require.NoError(t, json.Unmarshal([]byte(doctor.Stdout.String()), &checks), doctor.Stdout.String())
	assert.Contains(t, fmt.Sprint(checks), "too many open files")

	openFiles(t, sick, 0)
	testsuite.WaitFor(t, 3*time.Minute, "node-a recovers by itself", func() bool {
		s.Result(s.Begin("sixty"))
		w, err := s.Client.Workers().Get(t.Context(), "node-a")
		return err == nil && w.Trouble == nil
	})
	after := s.Result(s.Begin("sixty"))
	assert.Equal(t, 60, after.Counts.Completed)
	assert.Positive(t, after.ByWorker["node-a"], "it is used again")
}

// TestAProgramThatOneNodeLacks: its jobs and tasks go to the node that has it. One that no
// node has fails each with a reason, and nothing goes round for ever.
func TestAProgramThatOneNodeLacks(t *testing.T) {
	t.Parallel()
	self, err := user.Current()
	require.NoError(t, err)
	s := newSite(t, "node-a")
	bin := filepath.Join(s.Dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "program-of-b"), []byte("#!/bin/sh\nexit 0\n"), 0o700)) //nolint:gosec // a program
	s.Program([]string{"PATH=" + bin + ":" + os.Getenv("PATH")}, sites.Self(t), "worker", "--id", "node-b",
		"--data-dir", filepath.Join(s.Dir, "node-b"), "--address", s.Server.Address(), "--config", s.File())
	s.AwaitFresh("node-b")
	s.Apply(sites.Scaled + fmt.Sprintf(sickTypes, s.Dir, self.Username))

	onlyB := s.Result(s.Begin("only-b"))
	assert.Equal(t, contract.OutcomeCompleted, onlyB.Outcome, "%+v", onlyB.Errors)
	assert.Equal(t, map[string]int{"node-b": 60}, onlyB.ByWorker)
	done := s.runTasks("program-of-b", 20)
	assert.Equal(t, contract.OutcomeCompleted, done.Outcome, "%+v", done.Tasks)

	nowhere := s.Result(s.Begin("nowhere"))
	assert.Equal(t, contract.OutcomeFailed, nowhere.Outcome)
	assert.Equal(t, 60, nowhere.Counts.Failed)
	require.NotEmpty(t, nowhere.Errors)
	assert.Contains(t, nowhere.Errors[0].Message, "NOT_INSTALLED: no worker that may run it has the program (node-a, node-b)")
	lost := s.runTasks(s.Dir+"/nowhere", 1)
	assert.Equal(t, contract.OutcomeFailed, lost.Outcome)
	assert.Contains(t, lost.Tasks["t0"].Error, "NOT_INSTALLED")
}

// runTasks runs a DAG of n equal tasks to its end.
func (s *site) runTasks(program string, n int) contract.DAGResult {
	s.T.Helper()
	text := "version: 1\nname: equal\ntasks:\n"
	for i := range n {
		text += fmt.Sprintf("  - {id: t%d, command: [%q]}\n", i, program)
	}
	loaded, err := spec.Load("equal.yaml", []byte(text))
	require.NoError(s.T, err)
	compiled, err := spec.Compile(loaded, nil)
	require.NoError(s.T, err)
	ref, err := s.Client.DAGs().Run(s.T.Context(), compiled, starter.DAGOptions{})
	require.NoError(s.T, err)
	return s.dagResult(ref)
}
