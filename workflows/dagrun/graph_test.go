package dagrun_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/envtest"
	"github.com/roundsman/roundsman/workflows"
)

// dagBench is a run of a DAG in the time-skipping environment with simulated workers.
type dagBench struct {
	*sdktest.TestWorkflowEnvironment
	t       *testing.T
	execute func(in contract.ExecuteInput) (contract.ExecuteState, error)
	audit   *envtest.Audit
	params  map[string]json.RawMessage
	mu      sync.Mutex
	calls   []contract.ExecuteInput
}

func newDAGBench(t *testing.T) *dagBench {
	t.Helper()
	b := &dagBench{TestWorkflowEnvironment: envtest.New(), t: t, params: map[string]json.RawMessage{"known": json.RawMessage(`{"base":1}`)}}
	workflows.Register(b.TestWorkflowEnvironment)
	register := func(name string, f any) { b.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name}) }
	b.audit = envtest.RecordAudit(b.TestWorkflowEnvironment)
	register(contract.NoopActivity, func(context.Context) error { return nil })
	register(contract.EnsureFleetActivity, func(context.Context, contract.EnsureFleetInput) error {
		node := worker("node-a", 4)
		node.Capabilities = append(node.Capabilities, contract.Capability{Handler: "command", Execute: true})
		b.SignalWorkflow(contract.SignalFleetChanged, contract.FleetView{Seq: 1, Workers: []contract.WorkerView{node}})
		return nil
	})
	register(contract.ProbeWorkerActivity, func(context.Context, contract.ProbeWorkerInput) (contract.ProbeWorkerResult, error) {
		return contract.ProbeWorkerResult{Alive: true}, nil
	})
	register(contract.LookUpJobTypeActivity, func(_ context.Context, in contract.LookUpJobTypeInput) (contract.LookUpJobTypeResult, error) {
		params, known := b.params[in.JobType]
		if !known {
			return contract.LookUpJobTypeResult{}, nil
		}
		return contract.LookUpJobTypeResult{Spec: &contract.JobTypeSpec{
			Name: in.JobType, Handler: "fake", Params: params, Policy: jobtype.Policy{}.WithDefaults(),
		}}, nil
	})
	register(contract.ExecuteActivity, func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		b.mu.Lock()
		b.calls = append(b.calls, in)
		b.mu.Unlock()
		if b.execute == nil {
			return contract.ExecuteState{Worker: "node-a"}, nil
		}
		return b.execute(in)
	})
	return b
}

// run executes a spec to its end and returns the result with any outcome.
func (b *dagBench) run(text string, in contract.DAGInput) contract.DAGResult {
	b.t.Helper()
	loaded, err := spec.Load("dag.yaml", []byte(text))
	require.NoError(b.t, err)
	compiled, err := spec.Compile(loaded, nil)
	require.NoError(b.t, err)
	in.Name = compiled.Header.Name
	b.ExecuteWorkflow(contract.DAGWorkflow, in, compiled.Graph.Encode(), []byte(nil))
	require.True(b.t, b.IsWorkflowCompleted())
	var result contract.DAGResult
	var failed *temporal.ApplicationError
	var canceled *temporal.CanceledError
	switch err := b.GetWorkflowError(); {
	case err == nil:
		require.NoError(b.t, b.GetWorkflowResult(&result))
	case errors.As(err, &failed):
		require.Equal(b.t, contract.RunFailedError, failed.Type(), "%v", err)
		require.NoError(b.t, failed.Details(&result))
	case errors.As(err, &canceled):
		require.NoError(b.t, canceled.Details(&result))
	default:
		require.NoError(b.t, err)
	}
	return result
}

func TestDAGWaitsForHoursInNoTime(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	result := b.run(`
version: 1
name: slow
tasks:
  - {id: nap, sleep: 10h}
  - {id: asked, approval: {timeout: 8h}}
  - {id: after, needs: [nap], noop: true}
  - {id: never, needs: [asked], noop: true}
`, contract.DAGInput{})
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.InDelta(t, (10 * time.Hour).Milliseconds(), result.DurationMS, 1000)
	assert.Equal(t, "not approved within 8 h", result.Tasks["asked"].Error)
	assert.Equal(t, map[string]int{"completed": 2, "failed": 1, "upstream_failed": 1}, result.Counts)
}

func TestDAGRetriesWithGrowingBackoff(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	b.execute = func(in contract.ExecuteInput) (contract.ExecuteState, error) {
		if in.Job.Attempt < 4 {
			return contract.ExecuteState{}, temporal.NewNonRetryableApplicationError("not yet", string(contract.FailureFailed), nil)
		}
		return contract.ExecuteState{Worker: "node-a"}, nil
	}
	result := b.run("version: 1\nname: retried\ntasks: [{id: a, command: [x, '{{\"{{\"}}'], retries: {limit: 3, backoff: 1h, max_backoff: 3h}}]\n", contract.DAGInput{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, contract.DAGTask{State: "completed", Attempts: 4, Worker: "node-a"}, result.Tasks["a"])
	assert.InDelta(t, (6 * time.Hour).Milliseconds(), result.DurationMS, 5000, "1 + 2 + 3 hours")
	assert.Equal(t, []string{"x", "{{"}, b.calls[0].Job.Argv, "what looks like a template is none any more")
}

// The keys of a program reach the worker, where text that looks like a template is literal.
func TestDAGKeysOfPrograms(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	result := b.run(`
version: 1
name: keys
params: {braces: "{{"}
defaults: {user: postgres, env: {A: a, B: "{{.Params.braces}}"}}
tasks: [{id: a, command: [x], env: {A: own}}, {id: b, noop: true, needs: a}]
`, contract.DAGInput{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.JSONEq(t, `{"user":"postgres","env":{"A":"own","B":"{{\"{{\"}}"}}`, string(b.calls[0].Job.Settings))
}

func TestDAGOfJobTypes(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	result := b.run("version: 1\nname: types\ntasks: [{id: a, job_type: known, params: {own: 2}}, {id: b, job_type: unknown}]\n", contract.DAGInput{})
	assert.Contains(t, result.Tasks["b"].Error, "job type unknown is not applied")
	require.Len(t, b.calls, 1)
	call := b.calls[0]
	assert.Equal(t, "fake", call.Handler)
	assert.JSONEq(t, `{"base":1}`, string(call.Job.Params))
	assert.JSONEq(t, `{"own":2}`, string(call.ProposalParams))
}

func TestDAGDeadlineCancels(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	result := b.run("version: 1\nname: late\ndeadline: 2h\ntasks: [{id: nap, sleep: 10h}, {id: after, needs: [nap], noop: true}]\n", contract.DAGInput{Deadline: jobtype.Duration(time.Hour)})
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.Equal(t, "the deadline of 1 h is over", result.Reason, "the shorter one counts")
	assert.Equal(t, map[string]int{"canceled": 2}, result.Counts)
}

func TestDAGMessagesTypedByHand(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(contract.SignalPause, map[string]any{"note": "by hand"})
	}, time.Minute)
	b.RegisterDelayedCallback(func() {
		answer, err := b.QueryWorkflow(contract.QueryStatus)
		require.NoError(t, err)
		var status contract.DAGStatus
		require.NoError(t, answer.Get(&status))
		assert.Equal(t, "by hand", status.PauseNote)
		assert.True(t, status.Paused)
		b.SignalWorkflow(contract.SignalResume, nil)
	}, 2*time.Hour)
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(contract.SignalCancelRun, map[string]any{"reason": "enough"})
	}, 3*time.Hour)
	result := b.run("version: 1\nname: signals\ntasks: [{id: nap, sleep: 1h}, {id: after, needs: [nap], sleep: 10h}]\n", contract.DAGInput{})
	assert.Equal(t, contract.OutcomeCanceled, result.Outcome)
	assert.Equal(t, "enough", result.Reason)
	assert.Equal(t, "completed", result.Tasks["nap"].State)
	assert.Equal(t, "canceled", result.Tasks["after"].State)
	assert.InDelta(t, (3 * time.Hour).Milliseconds(), result.DurationMS, 5000)
}

// TestAWaitOfOneTaskHasItsID: a command that helps needs it. A wait of several tasks has none.
func TestAWaitOfOneTaskHasItsID(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	var items []string
	look := func() {
		answer, err := b.QueryWorkflow(contract.QueryExplain, contract.ExplainQueryInput{})
		require.NoError(t, err)
		var result contract.ExplainQueryResult
		require.NoError(t, answer.Get(&result))
		for _, wait := range result.Waits {
			items = append(items, wait.Code+" "+wait.Item)
		}
	}
	b.RegisterDelayedCallback(look, time.Minute)
	b.RegisterDelayedCallback(look, 90*time.Minute)
	b.run("version: 1\nname: naps\ntasks: [{id: one, sleep: 1h}, {id: two, needs: [one], sleep: 1h}, {id: three, needs: [one], sleep: 1h}]\n", contract.DAGInput{})
	assert.Equal(t, []string{"SLEEPING one", "SLEEPING "}, items)
}

func TestDAGContinuesAsNewWithItsState(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	b.SetCurrentHistoryLength(30_000)
	loaded, err := spec.Load("dag.yaml", []byte("version: 1\nname: rolling\nconcurrency: 1\ntasks: [{id: a, noop: true}, {id: b, noop: true}]\n"))
	require.NoError(t, err)
	compiled, err := spec.Compile(loaded, nil)
	require.NoError(t, err)
	b.ExecuteWorkflow(contract.DAGWorkflow, contract.DAGInput{Name: "rolling"}, compiled.Graph.Encode(), []byte(nil))
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, b.GetWorkflowError(), &next)
	var in contract.DAGInput
	var graph, state []byte
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in, &graph, &state))
	assert.Equal(t, 1, in.Carry.Runs)

	second := newDAGBench(t)
	second.ExecuteWorkflow(contract.DAGWorkflow, in, graph, state)
	require.NoError(t, second.GetWorkflowError())
	var result contract.DAGResult
	require.NoError(t, second.GetWorkflowResult(&result))
	assert.Equal(t, map[string]int{"completed": 2}, result.Counts)
}

func TestDAGThatCannotBegin(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	b.ExecuteWorkflow(contract.DAGWorkflow, contract.DAGInput{Name: "x"}, []byte("garbage"), []byte(nil))
	var refused *temporal.ApplicationError
	require.ErrorAs(t, b.GetWorkflowError(), &refused)
	assert.Equal(t, contract.DAGInvalidError, refused.Type())
}

func worker(id string, slots int) contract.WorkerView {
	return contract.WorkerView{
		ID: id, Instance: "i-" + id, State: contract.WorkerOnline, Fresh: true, MaxDetect: 1, MaxExecute: slots,
		Capabilities: []contract.Capability{{Handler: "fake", Detect: true, Execute: true}},
	}
}

func grantAll(in contract.AdmissionRequest) *contract.AdmissionAnswer {
	answer := &contract.AdmissionAnswer{Holder: in.Holder}
	for i, item := range in.Items {
		answer.Granted = append(answer.Granted, contract.AdmissionGrant{ID: item.ID, Fence: int64(i+1) << 32, Fences: max(item.Fences, 1)})
	}
	return answer
}

// TestDAGIsPausedFromItsBeginning: a pause that comes with the start applies to the first tasks.
func TestDAGIsPausedFromItsBeginning(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	paused := false
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalPause, contract.PauseInput{By: "ann"}) }, 0)
	b.RegisterDelayedCallback(func() {
		paused = true
		b.SignalWorkflow(contract.SignalResume, nil)
	}, time.Hour)
	result := b.run("version: 1\nname: paused\ntasks: [{id: a, noop: true}]\n", contract.DAGInput{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.True(t, paused, "the run waits for the resume")
}
