package group_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/admission"
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
	return b.result()
}

// endings returns all reports of ended jobs, one request after the other.
func (b *bench) endings() (all []contract.AdmissionEndings) {
	for _, in := range b.asked {
		all = append(all, in.Endings...)
	}
	return all
}

func hold(key string) contract.AdmissionHold {
	return contract.AdmissionHold{JobType: "scrub", DedupeKey: key, Code: contract.HoldRetryBudget, Until: time.Now().Add(time.Hour), Detail: "disabled until then"}
}

// TestGroupReportsFailuresAndStopsRetries: each failed attempt is reported once and soon, with its key. A key
// disabled by the answer is not retried.
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
	assert.Equal(t, 2, result.Counts.Retries, "the third retry did not start")
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
			return &contract.AdmissionAnswer{Holder: in.Holder, Refused: []contract.AdmissionRefusal{{ID: item, Code: contract.HoldRetryBudget, Object: "scrub", Hold: &contract.AdmissionHold{JobType: "scrub", Detail: "disabled until then"}}}}
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

// TestGroupStopsWhenItsTypeIsDisabled: running jobs continue, and none starts.
func TestGroupStopsWhenItsTypeIsDisabled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(5)
	stopped := make(chan struct{})
	once := sync.OnceFunc(func() { close(stopped) })
	b.signaled = func(answer contract.AdmissionAnswer) {
		if len(answer.Stopped) > 0 {
			once()
		}
	}
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		if b.executed.Load() == 1 {
			return contract.ExecuteState{}, failure(contract.FailureFailed)
		}
		<-stopped // It runs until the group has the answer.
		b.mu.Lock()
		defer b.mu.Unlock()
		return contract.ExecuteState{Worker: "node-a"}, nil
	}
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		answer := grantAll(in)
		if len(in.Endings) > 0 && !in.ReleaseAll {
			answer.Stopped = []contract.AdmissionStop{{AdmissionHold: hold("")}}
		}
		return answer
	}
	result := b.runBudgeted(contract.JobGroupInput{}, jobtype.Policy{}, budgeted(0, 1))
	assert.Contains(t, []contract.Outcome{contract.OutcomeFailed, contract.OutcomePartial}, result.Outcome)
	assert.Equal(t, "RETRY_BUDGET: job type scrub is disabled until then", result.Reason)
	assert.Equal(t, []int{1, 1, 3}, []int{result.Counts.Failed, result.Counts.Completed, result.Counts.NotStarted})
}

// TestGroupIsStoppedBeforeItHasBegun: the stop arrives between its turn and its start.
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

// TestGroupSettlesItsKeys: keys of ended jobs are released together ten seconds later. A repeated report does
// not claim them again.
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
	require.Len(t, b.asked, 4, "the claims, what has ended, everything again, the end")
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

// TestGroupLeavesOutWhatIsHeldBack: disabled keys are counted, and listed with key and time.
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
	assert.Equal(t, contract.GroupCounts{Detected: 4, Accepted: 2, AlreadyActive: 1, Disabled: 1, HeldBack: 1, Completed: 2}, result.Counts)
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, "RETRY_BUDGET: 1 held back after failures, such as \"key-1\"; see `roundsman holds scrub`", result.Reason)
	require.Len(t, result.HeldBack, 1)
	assert.Equal(t, "key-1", result.HeldBack[0].DedupeKey)
	assert.Equal(t, "scrub", result.HeldBack[0].JobType)
	assert.True(t, held.Until.Equal(result.HeldBack[0].Until))
}

// TestAGroupThatFindsOnlyFailingKeysIsPartial: it did nothing, so it is no success. With only keys that an
// operator marked as done it is one.
func TestAGroupThatFindsOnlyFailingKeysIsPartial(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]contract.Outcome{contract.HoldRetryBudget: contract.OutcomePartial, contract.HoldMarkedDone: contract.OutcomeCompleted} {
		b := newBench(t)
		b.found = proposals(1)
		held := hold("")
		held.Code = code
		b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
			answer := grantAll(in)
			for i := range answer.Granted {
				answer.Granted[i].HeldBack = []contract.AdmissionHeldKey{{AdmissionHold: held, Index: 0}}
			}
			return answer
		}
		result := b.runBudgeted(contract.JobGroupInput{}, jobtype.Policy{}, budgeted(3, 0))
		assert.Equal(t, want, result.Outcome)
		assert.Equal(t, want == contract.OutcomeCompleted, !result.Record.LastSuccess.IsZero())
	}
}

// TestLastFailuresAreWorthAnAdmission: without an admission an ending group creates one, so that its failures
// count.
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

// TestTheLargestClaimFitsIntoOneSignal: the server accepts 2 MiB, and admission must hold the keys of one
// group.
func TestTheLargestClaimFitsIntoOneSignal(t *testing.T) {
	t.Parallel()
	request := contract.AdmissionRequest{Items: []contract.AdmissionItem{{ID: "claims", Keys: make([]byte, 8*jobtype.MaxKeyedJobs)}}}
	encoded, err := json.Marshal(request)
	require.NoError(t, err)
	assert.Less(t, len(encoded), 3<<19, "1.5 MiB, with room for what is said beside it")
	assert.LessOrEqual(t, jobtype.MaxKeyedJobs, admission.MaxKeys)
}
