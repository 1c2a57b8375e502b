package group_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestCleanGroupTellsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found, b.lane = proposals(20), "default"
	b.run(jobtype.Policy{})
	assert.Empty(t, b.audit.Records())
}

// TestGroupTellsOfOperators: every message is recorded at once, with its change and its place in the history.
func TestGroupTellsOfOperators(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(3)
	b.execute = func(ctx context.Context, _ contract.ExecuteInput) (contract.ExecuteState, error) {
		<-ctx.Done()
		return contract.ExecuteState{}, ctx.Err()
	}
	var refused *error
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(contract.SignalPause, contract.PauseInput{Note: "disk 7", By: "bob"})
		b.cancelItem(contract.CancelItemInput{Item: "job-00003", Reason: "not today"})
		refused = b.cancelItem(contract.CancelItemInput{Item: "job-00077"})
	}, time.Second)
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(contract.SignalResume, nil)
		b.UpdateWorkflow(contract.UpdateSetPolicy, "change-1", &sdktest.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { assert.NoError(t, err) }, OnComplete: func(any, error) {},
		}, contract.SetPolicyInput{Policy: jobtype.Policy{GlobalExecutionConcurrency: 7}.WithDefaults(), By: "ann"})
	}, 2*time.Second)
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(contract.SignalCancelRun, contract.CancelRunInput{Reason: "enough", By: "eve"})
	}, 3*time.Second)
	b.run(jobtype.Policy{})
	require.ErrorContains(t, *refused, string(contract.CodeUnknownItem))
	run := "default-test-workflow-id"
	require.ElementsMatch(t, []string{
		"run.pause " + run, "job.cancel " + run + "/job-00003",
		"run.resume " + run, "policy.set " + run, "run.cancel " + run,
	}, b.audit.Lines())
	byAction := map[string]contract.AuditEntry{}
	for _, e := range b.audit.Entries() {
		assert.Equal(t, contract.AuditOperator, e.Kind)
		assert.Equal(t, "scrub", e.JobType)
		assert.NotEmpty(t, e.ID)
		if e.Action == "job.cancel" {
			assert.Equal(t, "pending", e.Before)
		}
		byAction[e.Action] = e
	}
	assert.Equal(t, "running", byAction["run.pause"].Before)
	assert.Equal(t, "paused: disk 7", byAction["run.pause"].After)
	assert.Equal(t, "paused: disk 7", byAction["run.resume"].Before)
	assert.Equal(t, "bob", byAction["run.pause"].Actor, "a signal that names its sender")
	assert.Equal(t, "eve", byAction["run.cancel"].Actor)
	assert.Empty(t, byAction["run.resume"].Actor, "read from the history")
	assert.Equal(t, "ann", byAction["policy.set"].Actor)
	assert.Equal(t, "global_execution_concurrency: 1", byAction["policy.set"].Before)
	assert.Equal(t, "global_execution_concurrency: 7", byAction["policy.set"].After)
	assert.Equal(t, "enough", byAction["run.cancel"].Detail)

	assert.Equal(t, contract.SignalPause, b.audit.Records()[0].Origins[0].Signal)
	behind := b.audit.Records()[1].Origins
	require.Len(t, behind, 1, "it waited until the first was recorded")
	var updates []string
	for _, record := range b.audit.Records() {
		for _, origin := range record.Origins {
			if origin.UpdateID != "" {
				updates = append(updates, origin.UpdateID)
			}
		}
	}
	assert.ElementsMatch(t, []string{"job-00003", "change-1"}, updates, "what is refused is not recorded")
}

// TestActionsOnAnEndingGroupAreRecorded: their senders see no refusal, since the group is open while it waits for its last
// deliveries.
func TestActionsOnAnEndingGroupAreRecorded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found, b.lane = proposals(1), "default"
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		if in.ReleaseAll {
			b.SignalWorkflow(contract.SignalPause, contract.PauseInput{Note: "disk 7", By: "bob"})
			b.SignalWorkflow(contract.SignalCancelRun, contract.CancelRunInput{Reason: "enough", By: "eve"})
			b.SignalWorkflow(contract.SignalSetCalendar, contract.SetCalendarInput{By: "ann"})
			b.CancelWorkflow()
		}
		return grantAll(in)
	}
	result := b.run(jobtype.Policy{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	run := "default-test-workflow-id"
	assert.ElementsMatch(t, []string{
		"run.pause ALREADY_ENDED " + run, "run.cancel ALREADY_ENDED " + run, "run.cancel ALREADY_ENDED " + run, "calendar.set ALREADY_ENDED " + run,
	}, b.audit.Lines())
	for _, e := range b.audit.Entries() {
		assert.Equal(t, contract.AuditOperator, e.Kind)
		if e.Action == "run.pause" {
			assert.Equal(t, []string{"bob", "disk 7"}, []string{e.Actor, e.Detail})
		}
	}
}

// TestGroupAddsUpWhatItDelays: the end has one entry per code.
func TestGroupAddsUpWhatItDelays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = append(proposals(3), proposals(1)[0])
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		if in.Job.Attempt < 3 {
			return contract.ExecuteState{}, errors.New("not yet")
		}
		return contract.ExecuteState{}, nil
	}
	b.run(jobtype.Policy{RetryLimit: 5, RetryBackoff: jobtype.Duration(7 * time.Second)})
	require.Len(t, b.audit.Records(), 1)
	run := "default-test-workflow-id"
	assert.Equal(t, []string{"refused DUPLICATE " + run, "delayed RETRY_BACKOFF_UNTIL " + run + " ×6"}, b.audit.Lines())
	backoff := b.audit.Entries()[1]
	assert.Equal(t, contract.AuditScheduler, backoff.Kind)
	assert.Equal(t, 7*time.Second, backoff.Longest.Std())
	assert.Contains(t, backoff.Detail, "job-00001: ")
	assert.Contains(t, backoff.Detail, "job-00003: ")
	assert.True(t, backoff.Since.Before(backoff.At))
	assert.Empty(t, b.audit.Records()[0].Origins)
}

func TestSkippedGroupTellsWhy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lane = "default"
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		if len(in.Items) == 0 {
			return nil
		}
		return &contract.AdmissionAnswer{Holder: in.Holder, Refused: []contract.AdmissionRefusal{{ID: in.Items[0].ID, Code: contract.RefusedCoalesced, Object: "default", By: "group/first"}}}
	}
	b.run(jobtype.Policy{})
	require.Equal(t, []string{"refused LANE_BUSY default-test-workflow-id"}, b.audit.Lines())
	assert.Contains(t, b.audit.Entries()[0].Detail, "group/first")
}

// TestLongGroupTellsNowAndThen: collected entries are sent after five minutes, not only at the end.
func TestLongGroupTellsNowAndThen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		if in.Job.Attempt < 4 {
			return contract.ExecuteState{}, errors.New("not yet")
		}
		return contract.ExecuteState{}, nil
	}
	b.run(jobtype.Policy{RetryLimit: 5, RetryBackoff: jobtype.Duration(4 * time.Minute), MaxRuntime: jobtype.Duration(time.Hour)})
	assert.Len(t, b.audit.Records(), 2)
	seen := map[string]bool{}
	total := 0
	for _, e := range b.audit.Entries() {
		assert.False(t, seen[e.ID], "each has an id of its own")
		seen[e.ID] = true
		total += e.Count
	}
	assert.Equal(t, 3, total)
}

func TestGroupTellsOfTerminatedRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.missed = []contract.RunSummary{
		{WorkflowID: "group/fake-1", RunID: "1", Outcome: contract.OutcomeFailed, Terminated: &contract.Termination{By: "temporal-cli: ann@host", Reason: "by mistake"}},
		{WorkflowID: "group/fake-2", RunID: "2", Outcome: contract.OutcomeCanceled, Reason: "canceled"},
	}
	b.run(jobtype.Policy{})
	require.Equal(t, []string{"run.terminate group/fake-1"}, b.audit.Lines())
	assert.Equal(t, "temporal-cli: ann@host", b.audit.Entries()[0].From)
	assert.Equal(t, "by mistake", b.audit.Entries()[0].Detail)

	next := newBench(t)
	next.missed = b.missed
	next.run(jobtype.Policy{})
	assert.Equal(t, b.audit.Entries()[0].ID, next.audit.Entries()[0].ID, "the first group was terminated, too: the log has the entry once")
}

// TestTrailTravels: collected entries survive a continue-as-new.
func TestTrailTravels(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(3)
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		if in.Job.Attempt == 1 {
			return contract.ExecuteState{}, errors.New("not yet")
		}
		return contract.ExecuteState{}, nil
	}
	policy := jobtype.Policy{RetryLimit: 1, RetryBackoff: jobtype.Duration(time.Second)}.WithDefaults()
	b.SetCurrentHistoryLength(100)
	b.ExecuteWorkflow(contract.JobGroupWorkflow, contract.JobGroupInput{
		Spec: contract.JobTypeSpec{Name: "fake", Handler: "fake", Policy: policy}, RollEvents: 1,
	}, []byte(nil))
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, b.GetWorkflowError(), &next)
	assert.Empty(t, b.audit.Records())
	var in contract.JobGroupInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	require.NotNil(t, in.State.Audit)
	require.NotEmpty(t, in.State.Audit.Tallies)
	assert.False(t, in.State.Audit.FlushAt.IsZero())
}

// TestAuditCodesAreDocumented: each code of the log is explained.
func TestAuditCodesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n## Audit\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, code := range contract.NoteCodes() {
		assert.Contains(t, section, "`"+string(code)+"`")
	}
	for _, code := range []string{contract.HoldRetryBudget, contract.HoldMarkedDone, "LANE_BUSY", "WORKER_UNREACHABLE", "WORKER_OFFLINE", "ADMISSION_RECOVERING", "CANCEL_IGNORED"} {
		assert.Contains(t, section, "`"+code+"`")
	}
	for _, update := range []string{
		contract.UpdateRetryTasks, contract.UpdateSkipTask, contract.UpdateRerunTask, contract.UpdateApprove,
		contract.UpdateReject, contract.UpdateAddTasks, contract.UpdateSetConcurrency, contract.UpdateRelease,
	} {
		assert.Contains(t, section, "`dag."+update+"`")
	}
}

// TestDroppedTicksAreTold: the run records ticks since the last run. The first run that counts them records
// none.
func TestDroppedTicksAreTold(t *testing.T) {
	t.Parallel()
	first := newBench(t)
	first.ticks = &contract.TickCounts{Skipped: 7, Missed: 1}
	result := first.run(jobtype.Policy{})
	assert.Empty(t, first.audit.Records())
	assert.Equal(t, first.ticks, result.Record.Ticks)

	second := newBench(t)
	second.SetLastCompletionResult(result)
	second.ticks = &contract.TickCounts{Skipped: 10, Missed: 1}
	result = second.run(jobtype.Policy{})
	require.Equal(t, []string{"refused OVERLAP_SKIPPED jobtype/scrub ×3"}, second.audit.Lines())
	assert.Equal(t, "scrub", second.audit.Entries()[0].JobType)
	assert.Equal(t, 10, result.Record.Ticks.Skipped)
}

// TestASignalWithoutAnEntryCounts: an entry is that of its own signal, not of a later one of the same workflow task
// that changes nothing and has no entry.
func TestASignalWithoutAnEntryCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	b.execute = func(ctx context.Context, _ contract.ExecuteInput) (contract.ExecuteState, error) {
		<-ctx.Done()
		return contract.ExecuteState{}, ctx.Err()
	}
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflowSkippingWorkflowTask(contract.SignalSetCalendar, contract.SetCalendarInput{By: "ann"})
		b.SignalWorkflow(contract.SignalSetCalendar, contract.SetCalendarInput{IgnoreWindow: true, By: "bob"})
	}, time.Second)
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalCancelRun, contract.CancelRunInput{}) }, 2*time.Second)
	b.run(jobtype.Policy{})
	var set []contract.AuditOrigin
	for _, record := range b.audit.Records() {
		for _, origin := range record.Origins {
			if origin.Signal == contract.SignalSetCalendar {
				set = append(set, origin)
			}
		}
	}
	require.Len(t, set, 1)
	assert.Equal(t, 1, set[0].Back, "one later signal has the same name")
}
