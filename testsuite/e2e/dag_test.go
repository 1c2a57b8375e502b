package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// tally is a handler that counts its executions by task and follows its params.
type tally struct {
	mu      sync.Mutex
	counted sync.Cond
	count   map[string]int
}

func newTally() *tally {
	h := &tally{count: map[string]int{}}
	h.counted.L = &h.mu
	return h
}

// Descriptor implements jobtype.Handler.
func (*tally) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{Name: "tally", ExecuteOnly: true, Help: "Counts."}
}

// Detect implements jobtype.Handler.
func (*tally) Detect(context.Context, jobtype.DetectInput, jobtype.ProposalSink) error { return nil }

// Execute implements jobtype.Handler.
func (h *tally) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	var params struct {
		// Fails is the number of executions that fail. Waits is the number of executions that wait
		// for their cancellation. With Done these succeed after it, with Deaf they continue until the next
		// execution.
		Fails, Waits int
		Done, Deaf   bool
		Data         map[string]any
	}
	if err := json.Unmarshal(job.Params, &params); err != nil && len(job.Params) > 0 {
		return jobtype.Result{}, jobtype.Permanent(err)
	}
	h.mu.Lock()
	h.count[job.GroupID+" "+job.ID]++
	n := h.count[job.GroupID+" "+job.ID]
	h.counted.Broadcast()
	h.mu.Unlock()
	if n <= params.Waits {
		progress.Alive()
		<-ctx.Done()
		h.mu.Lock()
		for params.Deaf && h.count[job.GroupID+" "+job.ID] == n {
			h.counted.Wait()
		}
		h.mu.Unlock()
		if !params.Done {
			return jobtype.Result{}, context.Cause(ctx)
		}
	}
	if n <= params.Fails { // Not the attempt: one that is lost before it begins does not count.
		return jobtype.Result{}, fmt.Errorf("execution %d shall fail", n)
	}
	return jobtype.Result{Data: params.Data}, nil
}

// of returns the number of executions of a task in a run.
func (h *tally) of(ref starter.RunRef, task string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count[ref.WorkflowID+" "+task]
}

// compileDAG compiles YAML.
func compileDAG(t testing.TB, text string, files spec.Files) *spec.Compiled {
	t.Helper()
	loaded, err := spec.Load("dag.yaml", []byte(text))
	require.NoError(t, err)
	compiled, err := spec.Compile(loaded, files)
	require.NoError(t, err)
	return compiled
}

// awaitDAG waits for the end of a run.
func awaitDAG(t testing.TB, c *starter.Client, ref starter.RunRef, limit time.Duration) contract.DAGResult {
	t.Helper()
	ctx, cancel := testsuite.Within(t, limit)
	defer cancel()
	result, err := c.DAGs().Await(ctx, ref)
	if err != nil {
		shown, _ := c.Runs().Show(t.Context(), ref)
		tasks, _, _ := c.Runs().Items(t.Context(), ref, starter.ItemFilter{States: []string{"pending", "ready", "running", "assigned"}})
		require.NoError(t, err, "%+v\nstate %+v\ntasks %+v", shown, shown.DAGStatus, tasks)
	}
	return result
}

func runDAG(t testing.TB, c *starter.Client, compiled *spec.Compiled, options starter.DAGOptions) starter.RunRef {
	t.Helper()
	ref, err := c.DAGs().Run(t.Context(), compiled, options)
	require.NoError(t, err)
	return ref
}

func states(result contract.DAGResult) map[string]string {
	out := map[string]string{}
	for id, task := range result.Tasks {
		out[id] = task.State
	}
	return out
}

func TestDAGFailurePropagatesAndResultsTravel(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 4, newTally())
	compiled := compileDAG(t, `
version: 1
name: small
tasks:
  - id: make
    command: [echo, '{"file": "/srv/a.txt", "mode": "full"}']
  - id: full
    needs: [make]
    when: '{{eq .Needs.make.Result.mode "full"}}'
    command: [test, "{{.Needs.make.Result.file}}", "=", /srv/a.txt]
  - id: partial
    needs: [make]
    when: '{{eq .Needs.make.Result.mode "partial"}}'
    command: ["false"]
  - id: join
    needs: [full, partial]
    noop: true
  - id: bad
    command: [sh, -c, "echo {{ \"{{\" }} ; exit 3"]
  - id: blocked
    needs: [bad, join]
    noop: true
  - id: clean
    needs: [blocked]
    trigger_rule: always
    sleep: 10ms
`, nil)
	ref := runDAG(t, p.client, compiled, starter.DAGOptions{By: "test"})
	result := awaitDAG(t, p.client, ref, 30*time.Second)
	assert.Equal(t, map[string]string{
		"make": "completed", "full": "completed", "partial": "skipped", "join": "completed",
		"bad": "failed", "blocked": "upstream_failed", "clean": "completed",
	}, states(result), "%+v", result.Tasks)
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.Equal(t, map[string]int{"completed": 4, "skipped": 1, "failed": 1, "upstream_failed": 1}, result.Counts)
	assert.Equal(t, "node-a", result.Tasks["make"].Worker)
	assert.Equal(t, 1, result.Tasks["bad"].Attempts)
	assert.Contains(t, result.Tasks["bad"].Error, "3")
}

// mapFiles are sub-DAG files by name.
type mapFiles map[string]string

// ReadFile implements spec.Files.
func (m mapFiles) ReadFile(name string) ([]byte, error) {
	text, ok := m[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func TestDAGThreeLevelsDeep(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 4, newTally())
	files := mapFiles{
		"middle.yaml": "version: 1\nname: middle\ntasks:\n  - {id: low, dag: low.yaml}\n  - {id: after, needs: [low], noop: true}\n",
		"low.yaml":    "version: 1\nname: low\ntasks:\n  - {id: deep, dag: deep.yaml}\n",
		"deep.yaml":   "version: 1\nname: deep\ntasks:\n  - {id: try, command: [sh, -c, 'exit $0', '7']}\n",
	}
	top := "version: 1\nname: top\ntasks:\n  - {id: middle, dag: middle.yaml}\n  - {id: alone, noop: true}\n  - {id: last, needs: [middle], noop: true}\n"
	ref := runDAG(t, p.client, compileDAG(t, top, files), starter.DAGOptions{})
	result := awaitDAG(t, p.client, ref, 30*time.Second)
	assert.Equal(t, map[string]string{"middle": "failed", "alone": "completed", "last": "upstream_failed"}, states(result))
	assert.Contains(t, result.Tasks["middle"].Error, "exit")

	below := awaitDAG(t, p.client, starter.RunRef{WorkflowID: ref.WorkflowID + "/middle/low/deep"}, 10*time.Second)
	assert.Equal(t, contract.OutcomeFailed, below.Outcome)
	assert.Equal(t, "failed", below.Tasks["try"].State)

	files["deep.yaml"] = "version: 1\nname: deep\ntasks:\n  - {id: try, command: ['true']}\n"
	ref = runDAG(t, p.client, compileDAG(t, top, files), starter.DAGOptions{})
	result = awaitDAG(t, p.client, ref, 30*time.Second)
	assert.Equal(t, map[string]string{"middle": "completed", "alone": "completed", "last": "completed"}, states(result))
}

func TestDAGOfAJob(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 4, proposer{})
	spec := contract.JobTypeSpec{Name: "graphs", Handler: "proposer", Policy: jobtype.Policy{GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 4}.WithDefaults()}
	result, _ := p.group(spec)
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, 2, result.Counts.Completed)
	require.Len(t, result.Errors, 3, "%+v", result)
	assert.Contains(t, result.Errors[0].Message, "DAG bad failed: 1 of 1 tasks, first b")
	assert.Contains(t, result.Errors[1].Message, "dag of job-00003:1", "a fault has its place")
	assert.Contains(t, result.Errors[2].Message, "NO_WORKER: worker nowhere is not registered (waited 1 s)", "its task is pinned as the proposal is")
	assert.Empty(t, result.ByWorker, "a DAG runs on no worker")
}

// proposer proposes jobs that are DAGs.
type proposer struct{}

// Descriptor implements jobtype.Handler.
func (proposer) Descriptor() jobtype.Descriptor { return jobtype.Descriptor{Name: "proposer"} }

// Detect implements jobtype.Handler.
func (proposer) Detect(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
	return out.Emit(ctx,
		jobtype.Proposal{DedupeKey: "good", DAG: "version: 1\nname: good\ntasks:\n  - {id: a, noop: true}\n  - {id: b, needs: [a], command: ['true']}\n"},
		jobtype.Proposal{DedupeKey: "bad", DAG: "version: 1\nname: bad\ntasks:\n  - {id: b, command: ['false']}\n"},
		jobtype.Proposal{DedupeKey: "ugly", DAG: "nonsense: 1\n"},
		jobtype.Proposal{DedupeKey: "free", Node: "nowhere", DAG: "version: 1\nname: free\ntasks:\n  - {id: a, noop: true}\n"},
		jobtype.Proposal{DedupeKey: "pinned", Node: "nowhere", DAG: "version: 1\nname: pinned\ntasks:\n  - {id: a, timeout: 1s, command: ['true']}\n"},
	)
}

// Execute implements jobtype.Handler.
func (proposer) Execute(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
	return jobtype.Result{}, errors.New("a job that is a DAG is not executed by its handler")
}

func TestDAGOperators(t *testing.T) {
	t.Parallel()
	h := newTally()
	p := newInProcess(t, 4, h)
	dir := t.TempDir()
	compiled := compileDAG(t, `
version: 1
name: operated
hold_on_failure: 5m
params: {dir: `+dir+`}
tasks:
  - id: flaky
    command: [test, -e, "{{.Params.dir}}/fixed"]
  - id: after
    needs: [flaky]
    noop: true
  - id: hopeless
    command: ["false"]
  - id: later
    needs: [hopeless]
    noop: true
  - id: release
    needs: [after]
    approval: {prompt: "Ship {{.Params.dir}}?"}
  - id: ship
    needs: [release]
    command: [test, "{{.Needs.release.Result.approved_by}}", "=", ada]
  - id: veto
    approval: {prompt: "Really?"}
`, nil)
	ref := runDAG(t, p.client, compiled, starter.DAGOptions{})
	status := func(until func(contract.DAGStatus) bool) {
		t.Helper()
		testsuite.WaitFor(t, 20*time.Second, "the status", func() bool {
			s, err := p.client.Runs().Show(t.Context(), ref)
			return err == nil && s.DAGStatus != nil && until(*s.DAGStatus)
		})
	}
	status(func(s contract.DAGStatus) bool { return s.Counts["failed"] == 2 && len(s.Approvals) == 1 })
	ctx := t.Context()

	_, err := p.client.DAGs().ApproveTask(ctx, ref, "release", "ada", "")
	require.ErrorContains(t, err, "does not wait for an approval: it is upstream_failed")
	_, err = p.client.DAGs().SkipTask(ctx, ref, "veto", "ada", "")
	require.ErrorContains(t, err, "it is running; cancel it first")
	_, err = p.client.DAGs().RetryTasks(ctx, ref, []string{"nothing"}, "ada")
	require.ErrorContains(t, err, `there is no task "nothing"`)
	_, err = p.client.DAGs().Retry(ctx, ref, starter.DAGRetry{})
	require.ErrorContains(t, err, "still open")
	_, err = p.client.DAGs().AddTasks(ctx, ref, "extra.json", []byte(`[{"id": "x", "needs": ["later"], "before": ["flaky"], "noop": true}]`), "ada")
	require.Error(t, err)

	_, err = p.client.DAGs().RejectTask(ctx, ref, "veto", "bob", "not today")
	require.NoError(t, err)
	status(func(s contract.DAGStatus) bool { return s.Phase == "held" && !s.HeldUntil.IsZero() })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fixed"), nil, 0o600))
	changed, err := p.client.DAGs().RetryTasks(ctx, ref, []string{"flaky"}, "ada")
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"flaky", "after", "release", "ship"}, changed.Tasks)
	_, err = p.client.DAGs().SkipTask(ctx, ref, "hopeless", "ada", "")
	require.NoError(t, err)
	_, err = p.client.DAGs().AddTasks(ctx, ref, "extra.json", []byte(`[{"id": "extra", "needs": ["flaky"], "before": ["ship"], "command": ["true"]}]`), "ada")
	require.NoError(t, err)
	status(func(s contract.DAGStatus) bool { return len(s.Approvals) == 1 && s.Approvals[0].ID == "release" })
	_, err = p.client.DAGs().ApproveTask(ctx, ref, "release", "ada", "go")
	require.NoError(t, err)
	status(func(s contract.DAGStatus) bool { return s.Phase == "held" })
	_, err = p.client.DAGs().SkipTask(ctx, ref, "veto", "ada", "")
	require.NoError(t, err)
	result := awaitDAG(t, p.client, ref, 20*time.Second)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Tasks)
	assert.Equal(t, 2, result.Tasks["flaky"].Attempts)
	assert.Equal(t, map[string]string{
		"flaky": "completed", "after": "completed", "hopeless": "skipped", "later": "completed", "release": "completed",
		"ship": "completed", "veto": "skipped", "extra": "completed",
	}, states(result))
}

func TestDAGCancel(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 4, newTally())
	text := `
version: 1
name: stopped
tasks:
  - {id: long, command: [sleep, "60"]}
  - {id: nap, sleep: 1h}
  - {id: never, needs: [long], noop: true}
  - {id: clean, needs: [never], trigger_rule: always, command: [echo, tidy]}
  - {id: sub, dag: sub.yaml}
`
	files := mapFiles{"sub.yaml": "version: 1\nname: sub\ntasks:\n  - {id: long, command: [sleep, '60']}\n"}
	for name, cancel := range map[string]func(starter.RunRef) error{
		"signal": func(ref starter.RunRef) error { return p.client.Runs().Cancel(t.Context(), ref, "enough") },
		"temporal-cancel": func(ref starter.RunRef) error {
			return p.client.Temporal().CancelWorkflow(t.Context(), ref.WorkflowID, "")
		},
	} {
		ref := runDAG(t, p.client, compileDAG(t, text, files), starter.DAGOptions{Run: name})
		testsuite.WaitFor(t, 20*time.Second, "long to run", func() bool {
			s, err := p.client.Runs().Show(t.Context(), ref)
			return err == nil && len(s.Active) == 1 && s.Active[0].Started
		})
		require.NoError(t, cancel(ref))
		result := awaitDAG(t, p.client, ref, 40*time.Second)
		assert.Equal(t, contract.OutcomeCanceled, result.Outcome, name)
		assert.Equal(t, map[string]string{
			"long": "canceled", "nap": "canceled", "never": "canceled", "clean": "completed", "sub": "canceled",
		}, states(result), name)
		below := awaitDAG(t, p.client, starter.RunRef{WorkflowID: ref.WorkflowID + "/sub"}, 10*time.Second)
		assert.Equal(t, contract.OutcomeCanceled, below.Outcome)
	}
}

func TestDAGRetryInANewRun(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 4, newTally())
	dir := t.TempDir()
	text := `
version: 1
name: resumed
tasks:
  - {id: give, command: [sh, -c, 'echo x >> "$0/given"; echo "{\"dir\": \"$0\"}"', "` + dir + `"]}
  - {id: split, needs: [give], command: [sh, -c, 'echo "{\"tasks\": [{\"id\": \"s1\", \"noop\": true}, {\"id\": \"s2\", \"needs\": [\"s1\"], \"noop\": true}]}"']}
  - {id: use, needs: [give, split], resources: {big: 2}, command: [test, -e, "{{.Needs.give.Result.dir}}/fixed"]}
  - {id: last, needs: [use], noop: true}
`
	compiled := compileDAG(t, text, nil)
	ref := runDAG(t, p.client, compiled, starter.DAGOptions{Deadline: time.Hour, Resources: map[string]int{"big": 2}})
	result := awaitDAG(t, p.client, ref, 30*time.Second)
	require.Equal(t, map[string]string{
		"give": "completed", "split": "completed", "s1": "completed", "s2": "completed", "use": "failed", "last": "upstream_failed",
	}, states(result), "%+v", result.Tasks)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "fixed"), nil, 0o600))

	changed := compileDAG(t, strings.Replace(text, "id: last, needs: [use], noop: true", "id: last, needs: [use], sleep: 1ms", 1), nil)
	_, err := p.client.DAGs().Retry(t.Context(), ref, starter.DAGRetry{Compiled: changed})
	var diff *dag.DiffError
	require.ErrorAs(t, err, &diff)
	assert.Equal(t, []string{"last"}, diff.Diff.Changed)

	second, err := p.client.DAGs().Retry(t.Context(), ref, starter.DAGRetry{Compiled: changed, AcceptDiff: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"use", "last"}, second.Executed)
	result = awaitDAG(t, p.client, second.RunRef, 30*time.Second)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result.Tasks)
	assert.Equal(t, ref.WorkflowID, result.Tasks["give"].FromRun)
	assert.Equal(t, ref.WorkflowID, result.Tasks["s2"].FromRun)
	assert.Equal(t, "node-a", result.Tasks["give"].Worker)
	assert.Empty(t, result.Tasks["use"].FromRun)

	_, err = p.client.DAGs().Retry(t.Context(), second.RunRef, starter.DAGRetry{})
	require.ErrorContains(t, err, "nothing to execute again")
	third, err := p.client.DAGs().Retry(t.Context(), second.RunRef, starter.DAGRetry{From: []string{"use"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"give", "use", "last"}, third.Executed, "the result that use refers to is gone, so give runs again")
	result = awaitDAG(t, p.client, third.RunRef, 30*time.Second)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, ref.WorkflowID, result.Tasks["s1"].FromRun, "an imported task keeps the run that produced it")
	answer, err := p.client.Temporal().QueryWorkflow(t.Context(), third.WorkflowID, "", contract.QueryStatus)
	require.NoError(t, err)
	var status contract.DAGStatus
	require.NoError(t, answer.Get(&status))
	assert.Equal(t, result.StartedAt.Add(time.Hour), status.Deadline, "it has the deadline of the first, from its own start on")
	given, err := os.ReadFile(filepath.Join(dir, "given"))
	require.NoError(t, err)
	assert.Equal(t, "x\nx\n", string(given))
}

// TestDAGTooLarge: a graph beyond the size of a message is refused before the start.
func TestDAGTooLarge(t *testing.T) {
	t.Parallel()
	tasks := make([]dag.Task, 120_000)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // for a test
	for i := range tasks {
		tasks[i] = dag.Task{ID: fmt.Sprintf("t%05d", i), Payload: fmt.Appendf(nil, `{"kind":"command","command":["x","%016x%016x"]}`, random.Uint64(), random.Uint64())}
	}
	graph, err := dag.Build(dag.Input{Meta: []byte(`{"name":"huge"}`), Tasks: tasks})
	require.NoError(t, err)
	client := starter.New(nil, "", nil)
	_, err = client.DAGs().Run(t.Context(), &spec.Compiled{Header: spec.Header{Name: "huge"}, Graph: graph}, starter.DAGOptions{})
	var refused *starter.DAGTooLargeError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, 120_000, refused.Tasks)
	assert.Greater(t, refused.Bytes, starter.MaxDAGBytes)
	assert.ErrorContains(t, err, "split it into sub-DAGs")
}

// TestDAGOfThousands: a run too large to list its tasks in its result continues as new, can be shown and can be
// resumed.
func TestDAGOfThousands(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 4, newTally())
	text := "version: 1\nname: thousands\nconcurrency: 100\ntasks:\n" +
		"  - {id: a, for_each: [" + strings.Repeat("0, ", 1999) + "0], noop: true}\n" +
		"  - {id: join, needs: [a], noop: true}\n" +
		"  - {id: bad, needs: [join], command: ['false']}\n" +
		"  - {id: b, needs: [bad], for_each: [" + strings.Repeat("0, ", 999) + "0], noop: true}\n"
	ref := runDAG(t, p.client, compileDAG(t, text, nil), starter.DAGOptions{RollEvents: 1500})
	result := awaitDAG(t, p.client, ref, 90*time.Second)
	assert.Equal(t, map[string]int{"completed": 2001, "failed": 1, "upstream_failed": 1000}, result.Counts)
	require.Len(t, result.Tasks, 3002)
	assert.Equal(t, "upstream_failed", result.Tasks["b.#7"].State)
	shown, err := p.client.Runs().Show(t.Context(), starter.RunRef{WorkflowID: ref.WorkflowID})
	require.NoError(t, err)
	assert.NotEqual(t, ref.RunID, shown.RunID, "it has continued as new")
	retried, err := p.client.DAGs().Retry(t.Context(), starter.RunRef{WorkflowID: ref.WorkflowID}, starter.DAGRetry{})
	require.NoError(t, err)
	assert.Equal(t, 2001, retried.Imported)
	assert.Len(t, retried.Executed, 1001)
	result = awaitDAG(t, p.client, retried.RunRef, 60*time.Second)
	assert.Equal(t, ref.WorkflowID, result.Tasks["a.#7"].FromRun)
}
