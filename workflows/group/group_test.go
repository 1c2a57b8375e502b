package group_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/envtest"
	"github.com/roundsman/roundsman/workflows"
)

// bench is a group in the time-skipping environment with simulated workers.
type bench struct {
	*sdktest.TestWorkflowEnvironment
	t       *testing.T
	workers []contract.WorkerView
	found   []jobtype.Proposal
	// execute runs a job; nil succeeds at once.
	execute func(ctx context.Context, in contract.ExecuteInput) (contract.ExecuteState, error)
	// detect runs after the pages were sent.
	detect func(in contract.DetectActivityInput) error
	// apart are further pages of a detection; nil: there are none.
	apart    func(in contract.DetectActivityInput) []contract.DetectPageInput
	recorded *contract.RunRecord
	missed   []contract.RunSummary
	ticks    *contract.TickCounts
	executed atomic.Int64
	watched  atomic.Int64
	// asked are the requests to admission, which grants everything at once. answer replaces its answer, and nil
	// sends none. missing: there is no admission until an activity has created it.
	mu      sync.Mutex
	asked   []contract.AdmissionRequest
	missing bool
	lane    string
	ensured atomic.Int64
	audit   *envtest.Audit
	answer  func(in contract.AdmissionRequest) *contract.AdmissionAnswer
	// signaled is called after an answer was signaled to the group, before any later event.
	signaled func(answer contract.AdmissionAnswer)
}

func worker(id string, slots int) contract.WorkerView {
	return contract.WorkerView{
		ID: id, Instance: "i-" + id, State: contract.WorkerOnline, Fresh: true, MaxDetect: 1, MaxExecute: slots,
		Capabilities: []contract.Capability{{Handler: "fake", Detect: true, Execute: true}},
	}
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{TestWorkflowEnvironment: envtest.New(), t: t, workers: []contract.WorkerView{worker("node-a", 4)}}
	workflows.Register(b.TestWorkflowEnvironment)
	register := func(name string, f any) { b.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name}) }
	register(contract.PrepareActivity, func(context.Context, contract.PrepareInput) (contract.PrepareResult, error) {
		return contract.PrepareResult{Workers: b.workers, WorkersSeq: 1, Record: b.recorded, Missed: b.missed, Ticks: b.ticks}, nil
	})
	register(contract.EnsureFleetActivity, func(context.Context, contract.EnsureFleetInput) error {
		b.watched.Add(1)
		return nil
	})
	register(contract.ProbeWorkerActivity, func(context.Context, contract.ProbeWorkerInput) (contract.ProbeWorkerResult, error) {
		return contract.ProbeWorkerResult{Alive: true}, nil
	})
	register(contract.EnsureAdmissionActivity, func(_ context.Context, in contract.EnsureAdmissionInput) error {
		b.ensured.Add(1)
		b.runAdmission(*in.Request)
		return nil
	})
	register(contract.CallAdmissionActivity, func(_ context.Context, in contract.AdmissionRequest) (contract.CallAdmissionResult, error) {
		if b.missing && b.ensured.Load() == 0 {
			return contract.CallAdmissionResult{Missing: true}, nil
		}
		return contract.CallAdmissionResult{Answer: b.askAdmission(in)}, nil
	})
	b.OnSignalExternalWorkflow(mock.Anything, contract.AdmissionWorkflowID, "", contract.SignalAdmissionRequest, mock.Anything).Return(
		func(_, _, _, _ string, arg any) error {
			in, ok := arg.(contract.AdmissionRequest)
			if !ok || b.missing && b.ensured.Load() == 0 {
				return &temporal.UnknownExternalWorkflowExecutionError{}
			}
			b.runAdmission(in)
			return nil
		}).Maybe()
	b.audit = envtest.RecordAudit(b.TestWorkflowEnvironment)
	register(contract.DetectActivity, b.runDetect)
	register(contract.ExecuteActivity, b.runExecute)
	return b
}

// runAdmission replaces admission, which answers by signals.
func (b *bench) runAdmission(in contract.AdmissionRequest) {
	if answer := b.askAdmission(in); answer != nil {
		b.SignalWorkflow(contract.SignalAdmissionAnswer, *answer)
		if b.signaled != nil {
			b.signaled(*answer)
		}
	}
}

// askAdmission records a request and returns the answer of admission.
func (b *bench) askAdmission(in contract.AdmissionRequest) *contract.AdmissionAnswer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, in)
	if b.answer != nil {
		return b.answer(in)
	}
	return grantAll(in)
}

func grantAll(in contract.AdmissionRequest) *contract.AdmissionAnswer {
	answer := &contract.AdmissionAnswer{Holder: in.Holder}
	for i, item := range in.Items {
		answer.Granted = append(answer.Granted, contract.AdmissionGrant{ID: item.ID, Fence: int64(i+1) << 32, Fences: max(item.Fences, 1)})
	}
	return answer
}

func (b *bench) runDetect(_ context.Context, in contract.DetectActivityInput) (contract.DetectActivityResult, error) {
	result := contract.DetectActivityResult{Worker: in.Input.WorkerID, Emitted: len(b.found)}
	for start := 0; start < len(b.found); start += contract.MaxPageProposals {
		page := contract.DetectPageInput{
			Attempt: in.Attempt, Seq: result.Pages,
			Proposals: b.found[start:min(start+contract.MaxPageProposals, len(b.found))],
		}
		if err := b.sendPage(page); err != nil {
			return result, err
		}
		result.Pages++
	}
	if b.apart != nil {
		for _, page := range b.apart(in) {
			if err := b.sendPage(page); err != nil {
				return result, err
			}
			result.Pages++
			result.Emitted += page.Paged.Count
		}
	}
	if b.detect != nil {
		return result, b.detect(in)
	}
	return result, nil
}

func (b *bench) sendPage(page contract.DetectPageInput) error {
	done := make(chan error, 1)
	b.UpdateWorkflow(contract.UpdateDetectPage, fmt.Sprintf("%d/%d", page.Attempt, page.Seq), &sdktest.TestUpdateCallback{
		OnAccept:   func() {},
		OnReject:   func(err error) { done <- err },
		OnComplete: func(_ any, err error) { done <- err },
	}, page)
	return <-done
}

func (b *bench) runExecute(ctx context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
	b.executed.Add(1)
	if b.execute != nil {
		return b.execute(ctx, in)
	}
	return contract.ExecuteState{Worker: in.Job.WorkerID}, nil
}

func (b *bench) spec(policy jobtype.Policy) contract.JobTypeSpec {
	return contract.JobTypeSpec{Name: "scrub", Handler: "fake", Lane: b.lane, Policy: policy.WithDefaults()}
}

// run executes the group and returns its result.
func (b *bench) run(policy jobtype.Policy) contract.JobGroupResult {
	b.t.Helper()
	b.ExecuteWorkflow(contract.JobGroupWorkflow, contract.JobGroupInput{Spec: b.spec(policy)})
	return b.result()
}

// result returns the result of an ended group. A failed or canceled group has it as the detail of its error.
func (b *bench) result() contract.JobGroupResult {
	b.t.Helper()
	require.True(b.t, b.IsWorkflowCompleted())
	var result contract.JobGroupResult
	if err := b.GetWorkflowError(); !contract.ResultOfFailure(err, &result) {
		require.NoError(b.t, err)
		require.NoError(b.t, b.GetWorkflowResult(&result))
	}
	return result
}

func proposals(n int) []jobtype.Proposal {
	list := make([]jobtype.Proposal, n)
	for i := range list {
		list[i] = jobtype.Proposal{DedupeKey: fmt.Sprintf("key-%d", i), Summary: fmt.Sprintf("job %d", i)}
	}
	return list
}

func failure(kind contract.FailureKind) error { return envtest.FailureOf(kind) }

func TestGroupRunsEveryProposalOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = append(proposals(450), proposals(10)...)
	result := b.run(jobtype.Policy{GlobalExecutionConcurrency: 8, PerWorkerExecutionConcurrency: 8})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, contract.GroupCounts{Detected: 460, Accepted: 450, Duplicates: 10, Completed: 450}, result.Counts)
	assert.EqualValues(t, 450, b.executed.Load())
	assert.EqualValues(t, 1, b.watched.Load())
	assert.EqualValues(t, 1, result.Record.Sequence)
	require.Len(t, result.Record.Good, 1)
}

func TestGroupWithoutWorkCostsNoSubscription(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	result := b.run(jobtype.Policy{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Zero(t, b.watched.Load())
}

func TestGroupRetriesAndReports(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(3)
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		switch {
		case in.Job.DedupeKey == "key-0" && in.Job.Attempt < 3:
			return contract.ExecuteState{}, failure(contract.FailureFailed)
		case in.Job.DedupeKey == "key-1":
			return contract.ExecuteState{}, failure(contract.FailurePermanent)
		}
		return contract.ExecuteState{}, nil
	}
	result := b.run(jobtype.Policy{RetryLimit: 2})
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, 2, result.Counts.Completed)
	assert.Equal(t, 1, result.Counts.Failed)
	assert.Equal(t, 2, result.Counts.Retries)
	require.Len(t, result.Errors, 1)
	assert.Equal(t, contract.JobError{DedupeKey: "key-1", Message: "it went wrong", JobID: "job-00002", Worker: "node-a"}, result.Errors[0])
	require.Len(t, result.Record.Bad, 1)
}

func TestGroupTakesLateOutcome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		if in.Job.Attempt > 1 {
			return contract.ExecuteState{}, nil
		}
		b.RegisterDelayedCallback(func() {
			b.SignalWorkflow(contract.SignalJobOutcome, contract.JobOutcomeInput{JobID: in.Job.ID, Attempt: 1, Outcome: contract.ExecuteState{Worker: "node-a"}})
		}, time.Second)
		return contract.ExecuteState{}, failure(contract.FailureWorkerLost)
	}
	result := b.run(jobtype.Policy{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.EqualValues(t, 1, b.executed.Load(), "the delivered outcome counts, the job does not run again")
	assert.Zero(t, result.Counts.Replacements)
}

func TestGroupReplacesLostJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.workers = append(b.workers, worker("node-b", 4))
	b.found = proposals(1)
	var queues []string
	b.execute = func(ctx context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		queues = append(queues, activity.GetInfo(ctx).TaskQueue)
		if in.Job.Attempt == 1 {
			return contract.ExecuteState{}, failure(contract.FailureWorkerLost)
		}
		return contract.ExecuteState{}, nil
	}
	result := b.run(jobtype.Policy{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 1, result.Counts.Replacements)
	require.Len(t, queues, 2)
	assert.NotEqual(t, queues[0], queues[1])
}

// TestGroupAdoptsAnAttempt: an attempt timed out on the server while its worker still ran it. The adopted
// attempt is the same one, and no loss.
func TestGroupAdoptsAnAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	var calls []contract.ExecuteInput
	var ids []string
	b.execute = func(ctx context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		calls, ids = append(calls, in), append(ids, activity.GetInfo(ctx).ActivityID)
		if !in.Adopt {
			return contract.ExecuteState{}, temporal.NewHeartbeatTimeoutError(contract.Heartbeat{Percent: 40})
		}
		return contract.ExecuteState{Worker: "node-a"}, nil
	}
	result := b.run(jobtype.Policy{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Zero(t, result.Counts.Replacements)
	require.Len(t, calls, 2)
	assert.Equal(t, []string{"job-00001", contract.AdoptionID("job-00001", 1, 1)}, ids)
	assert.Equal(t, contract.DefaultOrphanGrace, calls[0].OrphanGrace)
	assert.Equal(t, "fake", calls[1].Handler)
	assert.Equal(t, []any{1, calls[0].Job.Fence}, []any{calls[1].Job.Attempt, calls[1].Job.Fence})
	for _, call := range calls {
		encoded, err := json.Marshal(call)
		require.NoError(t, err)
		assert.NotRegexp(t, `"(group_id|worker_id|run_id)"`, string(encoded), "what the worker knows travels with every job")
	}
	assert.LessOrEqual(t, calls[1].Timeout, calls[0].Timeout)
}

// TestGroupReplacesWhatCannotBeAdopted: the replacement does not count as a loss.
func TestGroupReplacesWhatCannotBeAdopted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		switch {
		case in.Adopt:
			return contract.ExecuteState{}, failure(contract.FailureNotRunning)
		case in.Job.Attempt < 5:
			return contract.ExecuteState{}, temporal.NewHeartbeatTimeoutError()
		}
		return contract.ExecuteState{Worker: "node-a"}, nil
	}
	result := b.run(jobtype.Policy{WorkerLossLimit: 1})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, 4, result.Counts.Replacements)
}

func TestGroupEndsCanceled(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]func(*bench){
		"signal": func(b *bench) {
			b.SignalWorkflow(contract.SignalCancelRun, contract.CancelRunInput{Reason: "enough"})
		},
		"request": func(b *bench) { b.CancelWorkflow() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.found = proposals(5)
			b.execute = func(ctx context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
				if in.Job.DedupeKey == "key-0" {
					return contract.ExecuteState{}, nil
				}
				b.RegisterDelayedCallback(func() { cancel(b) }, 0)
				<-ctx.Done()
				return contract.ExecuteState{}, ctx.Err()
			}
			result := b.run(jobtype.Policy{GlobalExecutionConcurrency: 2, PerWorkerExecutionConcurrency: 2})
			assert.Equal(t, contract.OutcomeCanceled, result.Outcome)
			assert.Equal(t, 5, result.Counts.Completed+result.Counts.Canceled)
			assert.Positive(t, result.Counts.Canceled)
		})
	}
}

func TestGroupPausesAndCancelsOneJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(3)
	first := true
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		if first {
			first = false
			b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalPause, contract.PauseInput{Note: "night"}) }, 0)
			b.RegisterDelayedCallback(func() { b.cancelItem(contract.CancelItemInput{Item: "job-00003"}) }, time.Minute)
			b.RegisterDelayedCallback(func() {
				value, err := b.QueryWorkflow(contract.QueryStatus)
				require.NoError(t, err)
				var status contract.GroupStatus
				require.NoError(t, value.Get(&status))
				assert.True(t, status.Paused)
				assert.Equal(t, "night", status.PauseNote)
				b.SignalWorkflow(contract.SignalResume, nil)
			}, 2*time.Hour)
			return contract.ExecuteState{}, failure(contract.FailureFailed)
		}
		return contract.ExecuteState{}, nil
	}
	result := b.run(jobtype.Policy{RetryLimit: 1})
	assert.Equal(t, contract.OutcomePartial, result.Outcome, "two hours of pause do not count against max_runtime")
	assert.Equal(t, 2, result.Counts.Completed)
	assert.Equal(t, 1, result.Counts.Canceled)
}

func TestGroupStopsAtMaxRuntime(t *testing.T) {
	t.Parallel()
	for _, mode := range []jobtype.OnDeadline{jobtype.DeadlineCancel, jobtype.DeadlineDrain} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.found = proposals(2)
			b.execute = func(ctx context.Context, _ contract.ExecuteInput) (contract.ExecuteState, error) {
				if mode == jobtype.DeadlineDrain {
					b.RegisterDelayedCallback(func() {}, time.Minute)
					return contract.ExecuteState{}, failure(contract.FailureFailed)
				}
				<-ctx.Done()
				return contract.ExecuteState{}, ctx.Err()
			}
			result := b.run(jobtype.Policy{MaxRuntime: jobtype.Duration(2 * time.Second), OnDeadline: mode, RetryLimit: 5})
			assert.Equal(t, contract.OutcomeTimeout, result.Outcome)
			assert.Equal(t, 2, result.Counts.NotStarted+result.Counts.Canceled+result.Counts.Failed)
		})
	}
}

func TestGroupRemembersMissedRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.missed = []contract.RunSummary{{WorkflowID: "group/scrub-1", Outcome: contract.OutcomeFailed, Reason: "terminated"}}
	last := contract.JobGroupResult{Record: contract.RunRecord{Sequence: 6, LastDetector: "node-z", Good: []contract.RunSummary{{WorkflowID: "group/scrub-0"}}}}
	b.SetLastCompletionResult(last)
	result := b.run(jobtype.Policy{})
	assert.EqualValues(t, 8, result.Record.Sequence)
	assert.Len(t, result.Record.Good, 2)
	assert.Len(t, result.Record.Bad, 1)
}

// TestAFailedGroupFails: its workflow is Failed with the result as the detail. The next group reads the record
// from there, because it is newer than the last result that the Schedule passes on.
func TestAFailedGroupFails(t *testing.T) {
	t.Parallel()
	older := contract.JobGroupResult{Record: contract.RunRecord{Sequence: 6, Good: []contract.RunSummary{{WorkflowID: "group/scrub-0"}}}}
	b := newBench(t)
	b.SetLastCompletionResult(older)
	b.found = proposals(2)
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		return contract.ExecuteState{}, envtest.FailureOf(contract.FailurePermanent)
	}
	first := b.run(jobtype.Policy{})
	failed, ok := errors.AsType[*temporal.ApplicationError](b.GetWorkflowError())
	require.True(t, ok, "%v", b.GetWorkflowError())
	assert.Equal(t, contract.RunFailedError, failed.Type())
	assert.True(t, failed.NonRetryable())
	assert.Equal(t, "job group of scrub: failed: 2 failed; first key-0: it went wrong", failed.Message())
	assert.Equal(t, contract.OutcomeFailed, first.Outcome)
	assert.EqualValues(t, 7, first.Record.Sequence)

	next := newBench(t)
	next.SetLastCompletionResult(older)
	next.SetLastError(contract.RunFailure(failed.Message(), first))
	second := next.run(jobtype.Policy{})
	assert.EqualValues(t, 8, second.Record.Sequence)
	assert.Len(t, second.Record.Good, 2)
	assert.Len(t, second.Record.Bad, 1)
}

// TestTheRecordOfACanceledGroupIsFound: the Schedule does not pass it on.
func TestTheRecordOfACanceledGroupIsFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	b.SetLastCompletionResult(contract.JobGroupResult{Record: contract.RunRecord{Sequence: 6}})
	b.recorded = &contract.RunRecord{
		Sequence: 9, Bad: []contract.RunSummary{{WorkflowID: "group/scrub-1", Outcome: contract.OutcomeCanceled}},
		Checkpoints: []contract.KeptCheckpoint{{Key: "key-0", Checkpoint: json.RawMessage(`{"at": 7}`), At: b.Now()}},
	}
	b.missed = []contract.RunSummary{{WorkflowID: "group/scrub-2", Outcome: contract.OutcomeFailed, Reason: "terminated"}}
	var checkpoint json.RawMessage
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		checkpoint = in.Job.Checkpoint
		return contract.ExecuteState{}, nil
	}
	result := b.run(jobtype.Policy{})
	assert.EqualValues(t, 11, result.Record.Sequence)
	assert.Len(t, result.Record.Bad, 2)
	assert.JSONEq(t, `{"at": 7}`, string(checkpoint))
}

// TestDetailsBeginWithTheReason: the Web UI shows the group's wait, and the command for more details.
func TestDetailsBeginWithTheReason(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.workers = nil
	var details string
	b.RegisterDelayedCallback(func() {
		value, err := b.QueryWorkflow("__temporal_workflow_metadata")
		var metadata sdkpb.WorkflowMetadata
		if assert.NoError(t, err) && assert.NoError(t, value.Get(&metadata)) {
			details = metadata.GetCurrentDetails()
		}
	}, time.Minute)
	b.run(jobtype.Policy{})
	assert.Regexp(t, "^NO_WORKER fake until .*: no online worker has handler fake.*\n`roundsman explain default-test-workflow-id`\n\n\\*\\*waiting", details)
}

func TestGroupRenewsItsSubscription(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		if in.Job.Attempt == 1 {
			return contract.ExecuteState{}, failure(contract.FailureFailed)
		}
		return contract.ExecuteState{}, nil
	}
	result := b.run(jobtype.Policy{RetryLimit: 1, RetryBackoff: jobtype.Duration(16 * time.Minute)})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.EqualValues(t, 3, b.watched.Load(), "at the start, after five and after fifteen minutes")
}

func TestGroupCreatesMissingAdmission(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found, b.missing = proposals(3), true
	result := b.run(jobtype.Policy{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.EqualValues(t, 1, b.ensured.Load())
	require.Len(t, b.asked, 2)
	assert.Len(t, b.asked[0].Items[0].Keys, 3*8)
	assert.True(t, b.asked[1].ReleaseAll)
}

// TestGroupSpeaksLittle: a lane, 1,000 proposals and the end take three exchanges, and the endings of every ten
// seconds one more.
func TestGroupSpeaksLittle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found, b.lane = proposals(1000), "default"
	began := time.Now()
	result := b.run(jobtype.Policy{GlobalExecutionConcurrency: 100, PerWorkerExecutionConcurrency: 100})
	assert.Equal(t, 1000, result.Counts.Completed)
	assert.LessOrEqual(t, len(b.asked), 3+int(time.Since(began)/(10*time.Second)))
}

// A group repeats a lost request, and waits for longer than its interval.
func TestGroupAsksAgainAndKeepsItsPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lane = "default"
	b.answer = func(request contract.AdmissionRequest) *contract.AdmissionAnswer {
		if len(b.asked) < 4 {
			return nil
		}
		return grantAll(request)
	}
	result := b.run(jobtype.Policy{CatchupWindow: jobtype.Duration(200 * time.Second)})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.GreaterOrEqual(t, len(b.asked), 5, "asked, again after one, three and seven minutes, and released")
}

func TestGroupLeavesOutWhatIsActiveElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(4)
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		answer := grantAll(in)
		for i := range answer.Granted {
			answer.Granted[i].Taken = []contract.AdmissionTaken{{By: "group/other", Indexes: []int{3}}, {By: "group/third", Indexes: []int{0}}}
		}
		return answer
	}
	result := b.run(jobtype.Policy{})
	assert.Equal(t, contract.GroupCounts{Detected: 4, Accepted: 2, AlreadyActive: 2, Completed: 2}, result.Counts)
}

// TestGroupLosesItsClaims: another group has its grants, so it stops.
func TestGroupLosesItsClaims(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(2)
	b.execute = func(ctx context.Context, _ contract.ExecuteInput) (contract.ExecuteState, error) {
		b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalReassert, nil) }, 0)
		<-ctx.Done()
		return contract.ExecuteState{}, ctx.Err()
	}
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		if !in.Reassert {
			return grantAll(in)
		}
		assert.Len(t, in.Held, 1)
		assert.Len(t, in.Held[0].Keys, 2*8, "it says which keys it holds")
		return &contract.AdmissionAnswer{Holder: in.Holder, Lost: []contract.AdmissionRefusal{{ID: in.Held[0].ID, Code: "group/other has it"}}}
	}
	result := b.run(jobtype.Policy{})
	assert.Equal(t, contract.OutcomeCanceled, result.Outcome)
	assert.Contains(t, result.Reason, "group/other has it")
}

// TestGroupAcquiresResources: one job after the other, in the order of the grants.
func TestGroupAcquiresResources(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(3)
	for i := range b.found {
		b.found[i].Resources = map[string]int{"db": 2}
		b.found[i].Exclusive = []string{fmt.Sprintf("volume/%d", i)}
	}
	var fences []int64
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		fences = append(fences, in.Job.Fence)
		return contract.ExecuteState{}, nil
	}
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		answer := grantAll(in)
		for i, item := range in.Items {
			if len(item.Pools) > 0 && item.For == "job-00002" {
				answer.Granted = append(answer.Granted[:i], answer.Granted[i+1:]...)
				answer.Refused = append(answer.Refused, contract.AdmissionRefusal{ID: item.ID, Code: "too much of db"})
			}
		}
		return answer
	}
	result := b.run(jobtype.Policy{})
	assert.Equal(t, 2, result.Counts.Completed)
	require.Len(t, result.Errors, 1)
	assert.Contains(t, result.Errors[0].Message, "too much of db")
	assert.Equal(t, []int64{1 << 32, 1 << 32}, fences, "of the grant, not the group's own")
}

// TestGroupAsksByAnActivityWhatATaskCannotAnswer: a call within the workflow task is tried once, and then an
// activity until it succeeds.
func TestGroupAsksByAnActivityWhatATaskCannotAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lane = "default" // Without proposals the last release is a call, too.
	var inTask, after atomic.Int64
	b.OnActivity(contract.PrepareActivity, mock.Anything, mock.Anything).Return(
		func(ctx context.Context, _ contract.PrepareInput) (contract.PrepareResult, error) {
			if activity.GetInfo(ctx).IsLocalActivity {
				inTask.Add(1)
				return contract.PrepareResult{}, errors.New("too many bytes")
			}
			if after.Add(1) == 1 {
				return contract.PrepareResult{}, errors.New("not yet")
			}
			return contract.PrepareResult{Workers: b.workers, WorkersSeq: 1}, nil
		})
	b.OnActivity(contract.CallAdmissionActivity, mock.Anything, mock.Anything).Return(contract.CallAdmissionResult{}, errors.New("too busy"))
	result := b.run(jobtype.Policy{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.EqualValues(t, 1, inTask.Load())
	assert.EqualValues(t, 2, after.Load())
	assert.EqualValues(t, 2, b.ensured.Load(), "the turn and the release reach admission by an activity")
	require.NotEmpty(t, b.asked)
	assert.True(t, b.asked[len(b.asked)-1].ReleaseAll)
}
