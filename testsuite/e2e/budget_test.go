package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
)

// brittle is a site whose jobs fail at objects that begin with "bad".
type brittle struct {
	*site
	attempts atomic.Int64
	// toFail is the time before a failure.
	toFail time.Duration
}

func (b *brittle) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	var params siteParams
	if err := json.Unmarshal(job.Params, &params); err != nil {
		return jobtype.Result{}, err
	}
	if len(params.Object) >= 3 && params.Object[:3] == "bad" {
		b.attempts.Add(1)
		select {
		case <-time.After(b.toFail):
		case <-ctx.Done():
		}
		return jobtype.Result{}, errors.New("the disk is on fire")
	}
	return b.site.Execute(ctx, job, progress)
}

func budget(perKey, perType int) *contract.RetryBudget {
	rule := func(count int) *contract.RetryBudgetRule {
		if count == 0 {
			return nil
		}
		return &contract.RetryBudgetRule{Count: count, Window: jobtype.Duration(time.Hour), DisableFor: jobtype.Duration(time.Hour)}
	}
	return &contract.RetryBudget{PerKey: rule(perKey), PerType: rule(perType)}
}

// TestRetriesOfADisabledKeyEnd: a key's budget ends its retries. Other keys continue.
func TestRetriesOfADisabledKeyEnd(t *testing.T) {
	t.Parallel()
	b := &brittle{site: newSite()}
	p := newInProcess(t, 8, b)
	spec := siteSpec(t, "scrub", "", at("bad/1"), at("good"))
	spec.RetryBudget, spec.Policy.RetryLimit, spec.Policy.RetryBackoff = budget(2, 0), 20, jobtype.Duration(3*time.Second)
	result := p.end(p.begin("scrub-1", spec))
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, 1, result.Counts.Completed)
	require.Len(t, result.Errors, 1)
	assert.Contains(t, result.Errors[0].Message, "RETRY_BUDGET: key bad/1 of job type scrub is disabled until")
	assert.Contains(t, result.Errors[0].Message, "the disk is on fire")
	assert.EqualValues(t, 2, b.attempts.Load())

	// The key stays disabled for overlapping runs and runs started by hand.
	overlapping := p.end(p.begin("scrub-2", spec))
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 1, Disabled: 1, HeldBack: 1, Completed: 1}, overlapping.Counts)
	assert.EqualValues(t, 2, b.attempts.Load())
}

// TestKeysAreFreeWhenTheirJobsEnd: a long job does not delay the release of its group's other keys.
func TestKeysAreFreeWhenTheirJobsEnd(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 8, s)
	open := s.hold("slow")
	defer open()
	first := p.begin("scrub-1", siteSpec(t, "scrub", "", at("slow"), at("fast")))
	testsuite.WaitFor(t, 20*time.Second, "both keys are held", func() bool { return p.admission().Keys == 2 })
	testsuite.WaitFor(t, 40*time.Second, "the key of the job that has ended is free", func() bool { return p.admission().Keys == 1 })
	assert.Equal(t, 1, s.present("slow"))
	second := p.end(p.begin("scrub-2", siteSpec(t, "scrub", "", at("slow"), at("fast"))))
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 1, AlreadyActive: 1, Completed: 1}, second.Counts)

	// A repeated report to a new admission still disables only the key.
	require.NoError(t, p.client.Temporal().TerminateWorkflow(t.Context(), contract.AdmissionWorkflowID, "", "test"))
	third := p.end(p.begin("scrub-3", siteSpec(t, "scrub", "", at("slow"), at("fast"))))
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 1, AlreadyActive: 1, Completed: 1}, third.Counts)
	open()
	assert.Equal(t, 2, p.end(first).Counts.Completed)
	assert.Zero(t, p.admission().Keys)
}

// TestWhatOperatorsSaidOutlivesAdmission: a new admission after a termination has the pool sizes, the disabled
// keys and the marks, and so has the one after it.
func TestWhatOperatorsSaidOutlivesAdmission(t *testing.T) {
	t.Parallel()
	b := &brittle{site: newSite()}
	p := newInProcess(t, 8, b)
	_, err := p.client.Admission().ResizePool(t.Context(), "db", 7, "ann")
	require.NoError(t, err)
	spec := siteSpec(t, "scrub", "", at("bad/1"), at("good"))
	spec.RetryBudget = budget(1, 0)
	assert.Equal(t, 1, p.end(p.begin("scrub-1", spec)).Counts.Failed)
	testsuite.WaitFor(t, 20*time.Second, "the key is disabled", func() bool { return p.held() == 1 })
	before := p.admission()
	assert.Nil(t, before.Inherited)

	for i := range 2 {
		require.NoError(t, p.client.Temporal().TerminateWorkflow(t.Context(), contract.AdmissionWorkflowID, "", "test"))
		_, err := p.client.Admission().ReEnable(t.Context(), "scrub", "bad/1")
		require.ErrorContains(t, err, "re-enable scrub: admission is not running")
		again := p.end(p.begin(fmt.Sprint("scrub-after-", i), spec))
		assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 1, Disabled: 1, HeldBack: 1, Completed: 1}, again.Counts)
		view := p.admission()
		require.NotNil(t, view.Inherited)
		assert.NotEmpty(t, view.Inherited.From)
		assert.Empty(t, view.Inherited.Fault)
		require.Len(t, view.Pools, 1)
		assert.Equal(t, 7, view.Pools[0].Operator)
		assert.Equal(t, 1, p.held())
	}
	_, err = p.client.Admission().ReEnable(t.Context(), "scrub", "bad/1")
	require.NoError(t, err)
	assert.Equal(t, 1, p.end(p.begin("scrub-last", spec)).Counts.Failed)
}

func (p *inProcess) held() int {
	held, err := p.client.Admission().Holds(p.t.Context(), contract.HoldsInput{JobType: "scrub"})
	if err != nil {
		return -1
	}
	return held.Total
}

// TestADisabledTypeStops: a running group starts no more jobs, and other groups do not begin, in any lane.
func TestADisabledTypeStops(t *testing.T) {
	t.Parallel()
	b := &brittle{site: newSite(), toFail: 200 * time.Millisecond}
	p := newInProcess(t, 8, b)
	var found []jobtype.Proposal
	for i := range 50 {
		found = append(found, at(fmt.Sprint("bad/", i)))
	}
	spec := siteSpec(t, "scrub", "default", found...)
	spec.RetryBudget, spec.Policy.GlobalExecutionConcurrency = budget(0, 3), 1
	result := p.end(p.begin("scrub-1", spec))
	assert.Equal(t, contract.OutcomeFailed, result.Outcome)
	assert.Contains(t, result.Reason, "RETRY_BUDGET: job type scrub is disabled until")
	assert.Positive(t, result.Counts.NotStarted)
	assert.Equal(t, 50, result.Counts.Failed+result.Counts.NotStarted)
	for _, lane := range []string{"default", ""} {
		spec.Lane = lane
		skipped := p.end(p.begin("scrub-lane-"+lane, spec))
		assert.Equal(t, contract.OutcomeSkipped, skipped.Outcome)
		assert.Contains(t, skipped.Reason, "RETRY_BUDGET")
		assert.Zero(t, skipped.Counts.Detected)
	}
	assert.Equal(t, []string{"scrub"}, b.order(), "only the first group has detected")
	other := siteSpec(t, "other", "default", at("good"))
	assert.Equal(t, contract.OutcomeCompleted, p.end(p.begin("other-1", other)).Outcome)
}

// TestFailuresAreCountedExactly: thirty keys fail once in each of two groups, which continue as new at every
// step. Admission is terminated during the second. No key is disabled after the first, and every key after the
// second.
func TestFailuresAreCountedExactly(t *testing.T) {
	t.Parallel()
	const keys = 30
	b := &brittle{site: newSite(), toFail: 100 * time.Millisecond}
	p := newInProcess(t, 8, b)
	var found []jobtype.Proposal
	for i := range keys {
		found = append(found, at(fmt.Sprint("bad/", i)))
	}
	spec := siteSpec(t, "scrub", "", found...)
	spec.RetryBudget, spec.Policy.GlobalExecutionConcurrency = budget(2, 0), 1
	in := contract.JobGroupInput{Spec: spec, RollEvents: 1}
	first, _ := p.groupOf(in)
	assert.Equal(t, keys, first.Counts.Failed)
	tracked := func() contract.HoldsResult {
		held, err := p.client.Admission().Holds(t.Context(), contract.HoldsInput{JobType: "scrub"})
		require.NoError(t, err)
		return held
	}
	testsuite.WaitFor(t, 20*time.Second, "all failures are known", func() bool { return tracked().Tracked == keys })
	assert.Zero(t, tracked().Total)

	before := b.attempts.Load()
	run := p.begin("scrub-2", spec)
	testsuite.WaitFor(t, 30*time.Second, "half of the second group has failed", func() bool { return b.attempts.Load()-before >= keys/2 })
	require.NoError(t, p.client.Temporal().TerminateWorkflow(t.Context(), contract.AdmissionWorkflowID, "", "test"))
	assert.Equal(t, keys, p.end(run).Counts.Failed)
	testsuite.WaitFor(t, 30*time.Second, "all keys are disabled", func() bool {
		held, err := p.client.Admission().Holds(t.Context(), contract.HoldsInput{JobType: "scrub"})
		return err == nil && held.Total == keys
	})
	assert.EqualValues(t, 2*keys, b.attempts.Load())
	third, _ := p.groupOf(contract.JobGroupInput{Spec: spec})
	assert.Equal(t, contract.GroupCounts{Detected: keys, Disabled: keys, HeldBack: keys}, third.Counts)
	assert.Equal(t, contract.OutcomePartial, third.Outcome)
}
