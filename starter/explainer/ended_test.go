package explainer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
)

const tick = "group/scrub-2026-11-20T09:00:00Z"

// operationsOf are the operations behind the commands of a remedy, in its order.
func operationsOf(ended *Ended) (operations []action.Operation) {
	for _, one := range ended.Actions {
		operations = append(operations, one.Operation)
	}
	return operations
}

func TestRemediesOfItems(t *testing.T) {
	t.Parallel()
	const again = "`roundsman start scrub`; see `roundsman show " + tick + "/job-00001`"
	const adHoc, dag, sub = "group/scrub-adhoc-ticket-1", "dag/nightly/r1", "dag/nightly/r1/load"
	for name, c := range map[string]struct {
		run, state, err string
		detail, remedy  string
	}{
		"a failed job":           {tick, contract.JobFailed, "exit 3", "exit 3", "repair it, then " + again},
		"a stale job":            {tick, contract.JobStale, "silent", "silent", "wait, or " + again},
		"an expired job":         {tick, contract.JobExpired, "", "", "wait, or " + again},
		"a job not started":      {tick, contract.JobNotStarted, "", "", "wait, or " + again},
		"a job with a warning":   {tick, contract.JobWarning, "slow disk", "slow disk", "nothing to do: the work was done; see `roundsman show " + tick + "/job-00001`"},
		"a completed job":        {tick, contract.JobCompleted, "of an earlier attempt", "", ""},
		"a canceled job":         {tick, contract.JobCanceled, "by ann", "by ann", "see `roundsman audit " + tick + "`"},
		"a failed submission":    {adHoc, contract.JobFailed, "exit 3", "exit 3", "submit it again when it can be done; see `roundsman show " + adHoc + "/job-00001`"},
		"an expired submission":  {adHoc, contract.JobExpired, "", "", "submit it again when it can be done; see `roundsman show " + adHoc + "/job-00001`"},
		"a canceled submission":  {adHoc, contract.JobCanceled, "", "", "see `roundsman audit " + adHoc + "`"},
		"a failed task":          {dag, contract.JobFailed, "exit 3", "job-00001 on n1: exit 3", "repair it, then `roundsman retry " + dag + "`"},
		"a canceled task":        {dag, contract.JobCanceled, "", "job-00001 on n1: no reason was kept", "repair it, then `roundsman retry " + dag + "`"},
		"a failed task inside":   {sub, contract.JobFailed, "exit 3", "job-00001 on n1: exit 3", "repair it, then run the task or job again that it belongs to"},
		"a failed task of a job": {tick + "/job-00002", contract.JobFailed, "exit 3", "job-00001 on n1: exit 3", "repair it, then run the task or job again that it belongs to"},
		"a completed task":       {dag, contract.JobCompleted, "", "", ""},
	} {
		at := time.Unix(1_800_000_000, 0)
		item := starter.Item{Run: starter.RunRef{WorkflowID: c.run}, ID: "job-00001", State: c.state, Worker: "n1", Error: c.err, EndedAt: at}
		ended := endedItem(item, "scrub")
		require.NotNil(t, ended, name)
		assert.Equal(t, c.remedy, ended.Remedy, name)
		assert.Equal(t, c.detail, ended.Detail, name)
		assert.Equal(t, []any{c.run + "/job-00001", c.state, at}, []any{ended.Of, ended.Outcome, ended.At}, name)
		assert.Equal(t, c.remedy == "" || c.remedy == "repair it, then run the task or job again that it belongs to", len(ended.Actions) == 0, name)
	}
	for _, open := range []string{contract.JobPending, contract.JobAssigned, contract.JobRunning, "upstream_failed", "skipped", ""} {
		assert.Nil(t, endedItem(starter.Item{Run: starter.RunRef{WorkflowID: tick}, State: open}, "scrub"), open)
	}
}

// ended is a closed run with a result.
func ended(id string, kind starter.Kind, outcome contract.Outcome) starter.Snapshot {
	run := starter.Snapshot{Reason: "RETRY_BUDGET", Failed: []contract.JobError{{JobID: "job-00007", DedupeKey: "vol/1", Worker: "n2", Message: "exit 3"}, {JobID: "job-00008"}}}
	run.WorkflowID, run.Kind, run.Outcome, run.Status, run.Ended = id, kind, outcome, "Completed", time.Unix(1_800_000_000, 0)
	run.Progress = &starter.Progress{Failed: 2}
	if kind == starter.KindGroup {
		run.JobType = "scrub"
	}
	return run
}

func TestRemediesOfRuns(t *testing.T) {
	t.Parallel()
	const adHoc, dag, sub = "group/scrub-adhoc-ticket-1", "dag/nightly/r1", "dag/nightly/r1/load"
	const first = "the first: job-00007 (vol/1) on n2: exit 3"
	for name, c := range map[string]struct {
		run            starter.Snapshot
		detail, remedy string
		operations     []action.Operation
	}{
		"a failed run":            {ended(tick, starter.KindGroup, contract.OutcomeFailed), "RETRY_BUDGET; " + first, "repair it, then `roundsman start scrub`; see `roundsman show " + tick + "`", []action.Operation{action.RunJobType, action.GetRun}},
		"a partial run":           {ended(tick, starter.KindGroup, contract.OutcomePartial), "RETRY_BUDGET; " + first, "repair it, then `roundsman start scrub`; see `roundsman show " + tick + "`", []action.Operation{action.RunJobType, action.GetRun}},
		"a canceled run":          {ended(tick, starter.KindGroup, contract.OutcomeCanceled), "RETRY_BUDGET; " + first, "see `roundsman show " + tick + "`, `roundsman audit " + tick + "`", []action.Operation{action.GetRun, action.ListAudit}},
		"a skipped run":           {ended(tick, starter.KindGroup, contract.OutcomeSkipped), "RETRY_BUDGET; " + first, "see `roundsman show " + tick + "`", []action.Operation{action.GetRun}},
		"a failed run of a DAG":   {ended(dag, starter.KindDAG, contract.OutcomeFailed), "RETRY_BUDGET; 2 failed; " + first, "repair it, then `roundsman retry " + dag + "`; see `roundsman show " + dag + "`", []action.Operation{action.RetryRun, action.GetRun}},
		"a canceled run of a DAG": {ended(dag, starter.KindDAG, contract.OutcomeCanceled), "RETRY_BUDGET; 2 failed; " + first, "repair it, then `roundsman retry " + dag + "`; see `roundsman show " + dag + "`", []action.Operation{action.RetryRun, action.GetRun}},
		"a sub-DAG":               {ended(sub, starter.KindDAG, contract.OutcomeFailed), "RETRY_BUDGET; 2 failed; " + first, "repair it, then run the task or job again that it belongs to; see `roundsman show " + sub + "`", []action.Operation{action.GetRun}},
	} {
		found := endedRun(c.run)
		assert.Equal(t, c.detail, found.Detail, name)
		assert.Equal(t, c.remedy, found.Remedy, name)
		assert.Equal(t, c.operations, operationsOf(found), name)
		assert.Equal(t, []any{c.run.WorkflowID, string(c.run.Outcome), c.run.Ended}, []any{found.Of, found.Outcome, found.At}, name)
		assert.Empty(t, found.Runs, name)
	}

	only := ended(tick, starter.KindGroup, contract.OutcomeFailed)
	only.Failed = only.Failed[:1]
	assert.Equal(t, "RETRY_BUDGET; "+first, endedRun(only).Detail)
	submitted := ended(adHoc, starter.KindGroup, contract.OutcomeFailed)
	submitted.AdHoc, submitted.Reason, submitted.Failed = "ticket-1", "", nil
	found := endedRun(submitted)
	assert.Empty(t, found.Detail)
	assert.Equal(t, "repair it, then submit it again; see `roundsman show "+adHoc+"`", found.Remedy)
}

// TestARunWithoutAResultIsLookedAt: it was terminated, so nothing is known to repair.
func TestARunWithoutAResultIsLookedAt(t *testing.T) {
	t.Parallel()
	terminated := ended(tick, starter.KindGroup, "")
	terminated.Status, terminated.Progress, terminated.Failure = "Terminated", nil, "by ann"
	found := endedRun(terminated)
	assert.Equal(t, &Ended{Of: tick, Outcome: "terminated", At: terminated.Ended, Detail: "by ann", Remedy: "see `roundsman show " + tick + "`", Actions: found.Actions}, found)
	assert.Equal(t, []action.Operation{action.GetRun}, operationsOf(found))

	terminated.Failure = ""
	assert.Equal(t, "it left no result", endedRun(terminated).Detail)

	dag := ended("dag/nightly/r1", starter.KindDAG, "")
	dag.Progress, dag.Failure = nil, "by ann"
	assert.Equal(t, "repair it, then `roundsman retry dag/nightly/r1`; see `roundsman show dag/nightly/r1`", endedRun(dag).Remedy)
}

// TestASuccessHasNoRemedy. Its detail is the reason of a detection without findings.
func TestASuccessHasNoRemedy(t *testing.T) {
	t.Parallel()
	run := ended(tick, starter.KindGroup, contract.OutcomeCompleted)
	want := &Ended{Of: tick, Outcome: "completed", At: run.Ended}
	assert.Equal(t, want, endedRun(run))
	run.Result = &contract.JobGroupResult{Explanations: []string{"no volume is old", "two are read-only"}}
	run.Result.Counts.Detected = 1
	assert.Equal(t, want, endedRun(run))
	run.Result.Counts.Detected = 0
	want.Detail = "no volume is old; two are read-only"
	assert.Equal(t, want, endedRun(run))
}

// TestASkippedRunNamesTheRunThatItWaitedFor.
func TestASkippedRunNamesTheRunThatItWaitedFor(t *testing.T) {
	t.Parallel()
	run := ended(tick, starter.KindGroup, contract.OutcomeSkipped)
	run.Reason, run.Failed = "the lane was held by group/fsck-2026-11-20T08:00:00Z.", nil
	assert.Equal(t, []explain.Holder{{Run: "group/fsck-2026-11-20T08:00:00Z"}}, endedRun(run).Runs)
	run.Outcome = contract.OutcomeFailed
	assert.Empty(t, endedRun(run).Runs, "the text of a program may contain anything")
}

func TestAFailedItemIsNamedAsFarAsItIsKnown(t *testing.T) {
	t.Parallel()
	for want, failed := range map[string]contract.JobError{
		"job-00001 (vol/1) on n1: exit 3": {JobID: "job-00001", DedupeKey: "vol/1", Worker: "n1", Message: "exit 3"},
		"job-00001: exit 3":               {JobID: "job-00001", Message: "exit 3"},
		"(vol/1): exit 3":                 {DedupeKey: "vol/1", Message: "exit 3"},
		"exit 3":                          {Message: "exit 3"},
		"no reason was kept":              {},
	} {
		assert.Equal(t, want, itemErrorText(failed))
	}
}
