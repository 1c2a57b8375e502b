package workflows_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/admission"
	"github.com/roundsman/roundsman/jobtype"
)

const hour = jobtype.Duration(time.Hour)

func budgeted(perKey, perType int) *contract.RetryBudget {
	rule := func(count int) *contract.RetryBudgetRule {
		if count == 0 {
			return nil
		}
		return &contract.RetryBudgetRule{Count: count, Window: hour, DisableFor: hour}
	}
	return &contract.RetryBudget{PerKey: rule(perKey), PerType: rule(perType)}
}

// runBudgeted executes a group of a job type with a retry budget.
func (b *bench) runBudgeted(in contract.JobGroupInput, policy jobtype.Policy, budget *contract.RetryBudget) contract.JobGroupResult {
	b.t.Helper()
	in.Spec = b.spec(policy)
	in.Spec.RetryBudget = budget
	b.ExecuteWorkflow(contract.JobGroupWorkflow, in)
	require.True(b.t, b.IsWorkflowCompleted())
	require.NoError(b.t, b.GetWorkflowError())
	var result contract.JobGroupResult
	require.NoError(b.t, b.GetWorkflowResult(&result))
	return result
}

// endings are all that the group has said of its jobs, one request after the other.
func (b *bench) endings() (all []contract.AdmissionEndings) {
	for _, in := range b.asked {
		all = append(all, in.Endings...)
	}
	return all
}

func hold(key string) contract.AdmissionHold {
	return contract.AdmissionHold{JobType: "scrub", DedupeKey: key, Code: contract.HoldRetryBudget, Until: time.Now().Add(time.Hour), Detail: "disabled until then"}
}

// TestGroupReportsFailuresAndStopsRetries: each failed attempt is told once, soon,
// with its key; a key that is disabled in return is not tried again.
func TestGroupReportsFailuresAndStopsRetries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(2)
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		if in.Job.DedupeKey == "key-0" {
			return contract.ExecuteState{}, failure(contract.FailureFailed)
		}
		return contract.ExecuteState{Worker: "node-a"}, nil
	}
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		answer := grantAll(in)
		for _, endings := range in.Endings {
			for _, failed := range endings.Failed {
				if failed.Attempt == "job-00001.3" {
					answer.Stopped = []contract.AdmissionStop{{AdmissionHold: hold(failed.DedupeKey)}}
				}
			}
		}
		return answer
	}
	budget := budgeted(3, 0)
	result := b.runBudgeted(contract.JobGroupInput{}, jobtype.Policy{RetryLimit: 50, RetryBackoff: jobtype.Duration(time.Minute)}, budget)
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, 3, result.Counts.Retries, "the third retry did not start")
	require.Len(t, result.Errors, 1)
	assert.Equal(t, "RETRY_BUDGET: key key-0 of job type scrub is disabled until then", result.Errors[0].Message)
	var attempts []string
	for _, endings := range b.endings() {
		for _, failed := range endings.Failed {
			assert.Equal(t, "key-0", failed.DedupeKey)
			assert.Equal(t, "it went wrong", failed.Error)
			attempts = append(attempts, failed.Attempt)
		}
	}
	assert.Equal(t, []string{"job-00001.1", "job-00001.2", "job-00001.3"}, attempts)
	for _, in := range b.asked {
		assert.Equal(t, budget, in.Budget)
	}
	assert.EqualValues(t, 4, b.executed.Load())
}

func TestGroupOfADisabledTypeIsSkipped(t *testing.T) {
	t.Parallel()
	for lane, item := range map[string]string{"default": "lane", "": "start"} {
		b := newBench(t)
		b.found, b.lane = proposals(3), lane
		b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
			if len(in.Items) == 0 {
				return nil
			}
			assert.Equal(t, lane == "", in.Items[0].Start)
			return &contract.AdmissionAnswer{Holder: in.Holder, Refused: []contract.AdmissionRefusal{{ID: item, Code: contract.HoldRetryBudget, Reason: "job type scrub is disabled until then"}}}
		}
		result := b.runBudgeted(contract.JobGroupInput{}, jobtype.Policy{}, budgeted(0, 3))
		assert.Equal(t, contract.OutcomeSkipped, result.Outcome)
		assert.Equal(t, "RETRY_BUDGET: job type scrub is disabled until then", result.Reason)
		assert.Zero(t, result.Counts.Detected)

		dry := newBench(t)
		dry.found, dry.lane = proposals(3), lane
		assert.Equal(t, contract.OutcomeCompleted, dry.runBudgeted(contract.JobGroupInput{DryRun: true}, jobtype.Policy{}, budgeted(0, 3)).Outcome)
		assert.Empty(t, dry.asked, "a dry run asks nobody")
	}
}

// TestGroupStopsWhenItsTypeIsDisabled: what runs goes on, nothing starts.
func TestGroupStopsWhenItsTypeIsDisabled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(5)
	stopped := make(chan struct{})
	once := sync.OnceFunc(func() { close(stopped) })
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		if b.executed.Load() == 1 {
			return contract.ExecuteState{}, failure(contract.FailureFailed)
		}
		<-stopped // It goes on until the group has been told.
		b.mu.Lock()
		defer b.mu.Unlock()
		return contract.ExecuteState{Worker: "node-a"}, nil
	}
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		answer := grantAll(in)
		if len(in.Endings) > 0 && !in.ReleaseAll {
			answer.Stopped = []contract.AdmissionStop{{AdmissionHold: hold("")}}
			once()
		}
		return answer
	}
	result := b.runBudgeted(contract.JobGroupInput{}, jobtype.Policy{}, budgeted(0, 1))
	assert.Contains(t, []contract.Outcome{contract.OutcomeFailed, contract.OutcomePartial}, result.Outcome)
	assert.Equal(t, "RETRY_BUDGET: job type scrub is disabled until then", result.Reason)
	assert.Equal(t, []int{1, 1, 3}, []int{result.Counts.Failed, result.Counts.Completed, result.Counts.NotStarted})
}

// TestGroupIsStoppedBeforeItHasBegun: told between its turn and its beginning.
func TestGroupIsStoppedBeforeItHasBegun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found, b.lane = proposals(3), "default"
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		answer := grantAll(in)
		answer.Stopped = []contract.AdmissionStop{{AdmissionHold: hold("")}}
		return answer
	}
	result := b.runBudgeted(contract.JobGroupInput{}, jobtype.Policy{}, budgeted(0, 3))
	assert.Equal(t, contract.OutcomeSkipped, result.Outcome)
	assert.Equal(t, "RETRY_BUDGET: job type scrub is disabled until then", result.Reason)
	assert.Zero(t, result.Counts.Detected)
}

// TestGroupSettlesItsKeys: keys of jobs that have ended are given back ten seconds
// later, together, and are not claimed when everything is said anew.
func TestGroupSettlesItsKeys(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(4)
	b.OnActivity(contract.ExecuteActivity, mock.Anything, jobOf("key-0")).Return(contract.ExecuteState{Worker: "node-a"}, nil).After(45 * time.Second)
	b.OnActivity(contract.ExecuteActivity, mock.Anything, jobOf("key-1")).Return(contract.ExecuteState{}, failure(contract.FailurePermanent))
	b.OnActivity(contract.ExecuteActivity, mock.Anything, jobOf("key-2")).Return(contract.ExecuteState{Worker: "node-a"}, nil)
	b.OnActivity(contract.ExecuteActivity, mock.Anything, jobOf("key-3")).Return(contract.ExecuteState{Worker: "node-a"}, nil).After(3 * time.Second)
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalReassert, nil) }, 30*time.Second)
	result := b.run(jobtype.Policy{GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 4})
	assert.Equal(t, 3, result.Counts.Completed)
	require.Len(t, b.asked, 4, "the claims, what has ended, everything anew, the end")
	require.Len(t, b.asked[1].Endings, 1)
	assert.Equal(t, keysOf("key-2", "key-3"), b.asked[1].Endings[0].Done)
	assert.Equal(t, keysOf("key-1"), b.asked[1].Endings[0].Settled)
	assert.Empty(t, b.asked[1].Endings[0].Failed, "nobody counts failures of a type without a budget")
	require.True(t, b.asked[2].Reassert)
	assert.Equal(t, keysOf("key-0"), b.asked[2].Held[0].Keys)
	assert.Equal(t, b.asked[1].Endings, b.asked[2].Endings, "it may have been lost with the admission before")
	assert.True(t, b.asked[3].ReleaseAll)
	assert.Empty(t, b.asked[3].Endings, "giving everything back says enough")
}

// TestGroupLeavesOutWhatIsHeldBack: counted, and listed with key and time.
func TestGroupLeavesOutWhatIsHeldBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(4)
	held := hold("")
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		answer := grantAll(in)
		for i := range answer.Granted {
			answer.Granted[i].Taken = []contract.AdmissionTaken{{By: "group/other", Indexes: []int{3}}}
			answer.Granted[i].HeldBack = []contract.AdmissionHeldKey{{AdmissionHold: held, Index: 1}}
		}
		return answer
	}
	result := b.runBudgeted(contract.JobGroupInput{}, jobtype.Policy{}, budgeted(3, 0))
	assert.Equal(t, contract.GroupCounts{Detected: 4, Accepted: 2, AlreadyActive: 1, Disabled: 1, Completed: 2}, result.Counts)
	require.Len(t, result.HeldBack, 1)
	assert.Equal(t, "key-1", result.HeldBack[0].DedupeKey)
	assert.Equal(t, "scrub", result.HeldBack[0].JobType)
	assert.True(t, held.Until.Equal(result.HeldBack[0].Until))
}

// TestLastFailuresAreWorthAnAdmission: a group that ends when there is none makes
// one, so that its failures count.
func TestLastFailuresAreWorthAnAdmission(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		b.missing = true
		return contract.ExecuteState{}, failure(contract.FailureFailed)
	}
	b.runBudgeted(contract.JobGroupInput{}, jobtype.Policy{}, budgeted(3, 0))
	assert.EqualValues(t, 1, b.ensured.Load())
	last := b.asked[len(b.asked)-1]
	assert.True(t, last.ReleaseAll)
	require.Len(t, last.Endings, 1)
	require.Len(t, last.Endings[0].Failed, 1)
	assert.Equal(t, "job-00001.1", last.Endings[0].Failed[0].Attempt)
}

func failed(id string, attempts ...string) contract.AdmissionRequest {
	in := from(id)
	in.JobType, in.Budget = "scrub", budgeted(2, 4)
	endings := contract.AdmissionEndings{At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, attempt := range attempts {
		endings.Failed = append(endings.Failed, contract.AdmissionFailure{DedupeKey: "a", Attempt: attempt, At: time.Now(), Error: "no such disk"})
	}
	in.Endings = []contract.AdmissionEndings{endings}
	return in
}

// operate sends an update and hands its answer, or its refusal, to see.
func (b *admissionBench) operate(after time.Duration, name string, input any, see func(result contract.HoldResult, err error)) {
	answered := false
	b.RegisterDelayedCallback(func() {
		b.UpdateWorkflow(name, name+after.String(), &sdktest.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { answered = true; see(contract.HoldResult{}, err) },
			OnComplete: func(result any, err error) {
				held, _ := result.(contract.HoldResult)
				answered = true
				see(held, err)
			},
		}, input)
	}, after)
	b.t.Cleanup(func() { assert.True(b.t, answered, "%s was not answered", name) })
}

func (b *admissionBench) holds() []string {
	answer, err := b.QueryWorkflow(contract.QueryHolds, contract.HoldsInput{JobType: "scrub"})
	require.NoError(b.t, err)
	var result contract.HoldsResult
	require.NoError(b.t, answer.Get(&result))
	assert.Len(b.t, result.Holds, result.Total)
	list := []string{}
	for _, held := range result.Holds {
		list = append(list, held.Code+" "+held.DedupeKey)
	}
	return list
}

// TestOperatorsOfWhatIsHeldBack: every message, its answer and its refusal.
func TestOperatorsOfWhatIsHeldBack(t *testing.T) {
	t.Parallel()
	b := newAdmissionBench(t)
	now := b.Now()
	report := failed("g", "job-00001.1", "job-00001.2")
	for i := range report.Endings[0].Failed {
		report.Endings[0].Failed[i].At = now
	}
	b.at(time.Second, report)
	refused := func(says string) func(contract.HoldResult, error) {
		return func(_ contract.HoldResult, err error) { assert.ErrorContains(t, err, says) }
	}
	b.operate(2*time.Second, contract.UpdateReEnable, contract.ReEnableInput{}, refused("name the job type"))
	b.operate(2*time.Second, contract.UpdateForgive, contract.ForgiveInput{JobType: "scrub"}, refused("name a job type and a key"))
	b.operate(2*time.Second, contract.UpdateMarkDone, contract.MarkDoneInput{JobType: "scrub"}, refused("name a job type and a key"))
	b.operate(2*time.Second+time.Millisecond, contract.UpdateReEnable, contract.ReEnableInput{JobType: "scrub"}, refused("job type scrub is not disabled"))
	b.operate(2*time.Second+time.Millisecond, contract.UpdateForgive, contract.ForgiveInput{JobType: "scrub", DedupeKey: "b"}, refused("nothing is held against"))
	b.operate(2*time.Second+time.Millisecond, contract.UpdateMarkDone, contract.MarkDoneInput{JobType: "scrub", DedupeKey: "b", For: -1}, refused("use 1s to"))
	var seen [][]string
	b.RegisterDelayedCallback(func() { seen = append(seen, b.holds()) }, 3*time.Second)
	b.operate(4*time.Second, contract.UpdateReEnable, contract.ReEnableInput{JobType: "scrub", DedupeKey: "a", By: "ann"}, func(result contract.HoldResult, err error) {
		assert.NoError(t, err)
		assert.Nil(t, result.After)
		if assert.NotNil(t, result.Before) {
			assert.Contains(t, result.Before.Detail, "after 2 failures within 1h0m0s; the last one: no such disk")
			assert.Equal(t, budgeted(2, 0).PerKey, result.Before.Rule)
		}
	})
	b.operate(5*time.Second, contract.UpdateMarkDone, contract.MarkDoneInput{JobType: "scrub", DedupeKey: "a", By: "ann"}, func(result contract.HoldResult, err error) {
		assert.NoError(t, err)
		if assert.NotNil(t, result.After) {
			assert.Equal(t, 24*time.Hour, result.After.Until.Sub(result.After.Since))
			assert.Equal(t, "ann", result.After.By)
		}
	})
	b.RegisterDelayedCallback(func() { seen = append(seen, b.holds()) }, 6*time.Second)
	b.operate(7*time.Second, contract.UpdateForgive, contract.ForgiveInput{JobType: "scrub", DedupeKey: "a"}, func(result contract.HoldResult, err error) {
		assert.NoError(t, err)
		assert.NotNil(t, result.Before)
		assert.Nil(t, result.After)
	})
	b.RegisterDelayedCallback(func() { seen = append(seen, b.holds()) }, 8*time.Second)
	b.play(contract.AdmissionInput{})
	assert.Equal(t, [][]string{{"RETRY_BUDGET a"}, {"MARKED_DONE a"}, {}}, seen)
}

// TestAdmissionInheritsWhatOperatorsSaid from one that was ended, and says so when
// it cannot.
func TestAdmissionInheritsWhatOperatorsSaid(t *testing.T) {
	t.Parallel()
	first := newAdmissionBench(t)
	first.operate(time.Second, contract.UpdateMarkDone, contract.MarkDoneInput{JobType: "scrub", DedupeKey: "a"}, func(_ contract.HoldResult, err error) { assert.NoError(t, err) })
	var left contract.DurableResult
	first.RegisterDelayedCallback(func() {
		answer, err := first.QueryWorkflow(contract.QueryDurable)
		require.NoError(t, err)
		require.NoError(t, answer.Get(&left))
	}, 2*time.Second)
	first.play(contract.AdmissionInput{})

	for _, c := range []struct {
		in    contract.Inherited
		holds []string
		fault string
	}{
		{contract.Inherited{Data: left.Data, From: "run-1"}, []string{"MARKED_DONE a"}, ""},
		{contract.Inherited{Fault: "its history is gone", From: "run-1"}, []string{}, "its history is gone"},
		{contract.Inherited{Data: []byte("garbage"), From: "run-1"}, []string{}, "cannot be read"},
	} {
		next := newAdmissionBench(t)
		next.SetStartTime(first.Now())
		next.RegisterDelayedCallback(func() {
			assert.Equal(t, c.holds, next.holds())
			answer, err := next.QueryWorkflow(contract.QueryAdmission)
			require.NoError(t, err)
			var view contract.AdmissionView
			require.NoError(t, answer.Get(&view))
			if assert.NotNil(t, view.Inherited) {
				assert.Equal(t, "run-1", view.Inherited.From)
				assert.Contains(t, view.Inherited.Fault, c.fault)
				assert.Empty(t, view.Inherited.Data)
			}
		}, time.Second)
		next.play(contract.AdmissionInput{Inherited: c.in})
	}
}

// TestBoundsAgree: what the configuration accepts is what admission remembers.
func TestBoundsAgree(t *testing.T) {
	t.Parallel()
	assert.Equal(t, admission.MaxKeyCount, contract.MaxKeyFailures)
	assert.Equal(t, admission.MaxTypeCount, contract.MaxTypeFailures)
	assert.Equal(t, contract.HoldRetryBudget, string(admission.CodeBudget))
	assert.Equal(t, contract.HoldMarkedDone, string(admission.CodeMarkedDone))
}

func jobOf(key string) any {
	return mock.MatchedBy(func(in contract.ExecuteInput) bool { return in.Job.DedupeKey == key })
}

func keysOf(keys ...string) []byte {
	hashes := make([]uint64, len(keys))
	for i, key := range keys {
		hashes[i] = contract.DedupeHash("scrub", key)
	}
	return admission.PackKeys(slices.Clone(hashes))
}
