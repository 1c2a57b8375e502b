package group_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// setPolicy sends the update at a moment. After the end of the group, result or refused has the answer.
func (b *bench) setPolicy(after time.Duration, in any) (result *contract.SetPolicyResult, refused *error) {
	result, refused = new(contract.SetPolicyResult), new(error)
	b.RegisterDelayedCallback(func() {
		b.UpdateWorkflow(contract.UpdateSetPolicy, "policy-"+after.String(), &sdktest.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { *refused = err },
			OnComplete: func(answer any, err error) {
				assert.NoError(b.t, err)
				if got, ok := answer.(contract.SetPolicyResult); ok {
					*result = got
				}
			},
		}, in)
	}, after)
	return result, refused
}

// TestSetPolicyReplacesTheRetryBudget: later failures are reported with the new rule, and a key disabled by the
// answer is not retried.
func TestSetPolicyReplacesTheRetryBudget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		return contract.ExecuteState{}, failure(contract.FailureFailed)
	}
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		answer := grantAll(in)
		for _, endings := range in.Endings {
			if n := len(endings.Failed); n > 0 {
				answer.Stopped = []contract.AdmissionStop{{AdmissionHold: hold(endings.Failed[n-1].DedupeKey)}}
			}
		}
		return answer
	}
	policy := jobtype.Policy{RetryLimit: 50, RetryBackoff: jobtype.Duration(time.Minute)}
	result, refused := b.setPolicy(150*time.Second, contract.SetPolicyInput{
		Policy: policy.WithDefaults(), RetryBudget: &contract.RetryBudget{PerKey: &contract.RetryBudgetRule{Count: 1}}, By: "ann",
	})
	ended := b.run(policy)
	require.NoError(t, *refused)
	assert.Nil(t, result.RetryBudgetBefore)
	assert.Equal(t, contract.OutcomeFailed, ended.Outcome)
	assert.EqualValues(t, 4, b.executed.Load(), "the attempts at 0, 60 and 120 s were not counted, that at 180 s was")
	rule := &contract.RetryBudgetRule{Count: 1, Window: contract.DefaultBudgetWindow, DisableFor: contract.DefaultDisableFor}
	var told int
	for _, in := range b.asked {
		for _, endings := range in.Endings {
			if told += len(endings.Failed); len(endings.Failed) > 0 {
				assert.Equal(t, &contract.RetryBudget{PerKey: rule}, in.Budget)
			}
		}
	}
	assert.Equal(t, 1, told)
	for _, e := range b.audit.Entries() {
		if e.Action == "policy.set" {
			assert.Equal(t, `retry_budget: (none)`, e.Before)
			assert.Contains(t, e.After, `"count":1`)
		}
	}
}

// TestSetPolicyEndsTheRetryBudget: without rules no failure is counted.
func TestSetPolicyEndsTheRetryBudget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		return contract.ExecuteState{}, failure(contract.FailureFailed)
	}
	policy := jobtype.Policy{RetryLimit: 3, RetryBackoff: jobtype.Duration(time.Minute)}
	result, refused := b.setPolicy(30*time.Second, contract.SetPolicyInput{Policy: policy.WithDefaults(), RetryBudget: &contract.RetryBudget{}})
	b.runBudgeted(contract.JobGroupInput{}, policy, budgeted(20, 0))
	require.NoError(t, *refused)
	assert.Equal(t, budgeted(20, 0), result.RetryBudgetBefore)
	told := 0
	for _, endings := range b.endings() {
		told += len(endings.Failed)
	}
	assert.Equal(t, 1, told, "only the first attempt failed while there was a budget")
}

// TestSetPolicyChangesSomeSettings: the other settings stay.
func TestSetPolicyChangesSomeSettings(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		return contract.ExecuteState{}, failure(contract.FailureFailed)
	}
	result, refused := b.setPolicy(30*time.Second, contract.SetPolicyInput{Change: json.RawMessage(`{"retry_limit": 3}`), By: "ann"})
	ended := b.run(jobtype.Policy{RetryLimit: 1, RetryBackoff: jobtype.Duration(time.Minute)})
	require.NoError(t, *refused)
	want := result.Before
	want.RetryLimit = 3
	assert.Equal(t, want, result.After)
	assert.Equal(t, 1, result.Before.RetryLimit)
	assert.Equal(t, 3, ended.Counts.Retries)
	for _, e := range b.audit.Entries() {
		if e.Action == "policy.set" {
			assert.Equal(t, []string{"retry_limit: 1", "retry_limit: 3"}, []string{e.Before, e.After})
		}
	}
}

// TestSetPolicyRefusesWhatItCannotDo: it refuses at once and changes nothing.
func TestSetPolicyRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	whole := jobtype.Policy{}.WithDefaults()
	held := whole
	held.OnWorkerLoss, held.Routing = jobtype.WorkerLossHold, jobtype.RoutingShared
	for want, in := range map[string]any{
		`unknown field "retry_bugdet"`:                     map[string]any{"policy": whole, "retry_bugdet": map[string]any{}},
		`unknown field "retries"`:                          map[string]any{"policy": map[string]any{"retries": 3}},
		"retry_budget.per_key.count: 26 is out of range":   contract.SetPolicyInput{Policy: whole, RetryBudget: &contract.RetryBudget{PerKey: &contract.RetryBudgetRule{Count: 26}}},
		"retry_budget.per_type sets neither count nor":     contract.SetPolicyInput{Policy: whole, RetryBudget: &contract.RetryBudget{PerType: &contract.RetryBudgetRule{}}},
		"retry_budget.per_key.window: 1ms is out of range": contract.SetPolicyInput{Policy: whole, RetryBudget: &contract.RetryBudget{PerKey: &contract.RetryBudgetRule{Count: 1, Window: jobtype.Duration(time.Millisecond)}}},
		"on_worker_loss: hold needs routing worker":        contract.SetPolicyInput{Policy: held},
		`change: json: unknown field "retrys"`:             contract.SetPolicyInput{Change: json.RawMessage(`{"retrys": 3}`)},
		"retry_limit: 999 is out of range":                 contract.SetPolicyInput{Change: json.RawMessage(`{"retry_limit": 999}`)},
		"give either change or policy, not both":           contract.SetPolicyInput{Policy: whole, Change: json.RawMessage(`{"retry_limit": 1}`)},
		"nothing is set":                                   contract.SetPolicyInput{By: "ann"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.found = proposals(1)
			b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
				return contract.ExecuteState{}, failure(contract.FailureFailed)
			}
			_, refused := b.setPolicy(30*time.Second, in)
			b.run(jobtype.Policy{RetryLimit: 1, RetryBackoff: jobtype.Duration(time.Minute)})
			assert.ErrorContains(t, *refused, want)
		})
	}
}

// TestALongerHeartbeatTimeoutKeepsClaimsLonger: admission gets the new timeout at once.
func TestALongerHeartbeatTimeoutKeepsClaimsLonger(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(1)
	b.execute = func(context.Context, contract.ExecuteInput) (contract.ExecuteState, error) {
		return contract.ExecuteState{}, failure(contract.FailureFailed)
	}
	policy := jobtype.Policy{RetryLimit: 1, RetryBackoff: jobtype.Duration(time.Minute)}
	longer := policy
	longer.HeartbeatTimeout = jobtype.Duration(10 * time.Minute)
	_, refused := b.setPolicy(30*time.Second, contract.SetPolicyInput{Policy: longer.WithDefaults()})
	b.RegisterDelayedCallback(func() {
		require.Len(t, b.asked, 2, "the claims, and this")
		assert.Equal(t, longer.HeartbeatTimeout, b.asked[1].Grace)
	}, 40*time.Second)
	b.run(policy)
	require.NoError(t, *refused)
}

// TestSetPolicyOfAGroupThatWaits: the policy applies once the group begins.
func TestSetPolicyOfAGroupThatWaits(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon)
	b.found = proposals(4)
	spec := b.spec(jobtype.Policy{GlobalExecutionConcurrency: 1})
	spec.Calendar, spec.Interval = daily("12:30", "13:00", "UTC"), jobtype.Duration(time.Hour)
	result, refused := b.setPolicy(time.Minute, contract.SetPolicyInput{Policy: jobtype.Policy{MaxJobsPerDetection: 2}.WithDefaults()})
	ended := b.runSpec(spec)
	require.NoError(t, *refused)
	assert.Equal(t, 2, result.After.MaxJobsPerDetection)
	assert.Equal(t, 2, ended.Counts.Completed)
	assert.Equal(t, 2, ended.Counts.Surplus)
}
