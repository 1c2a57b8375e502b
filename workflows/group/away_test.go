package group_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/envtest"
)

// submitSpec runs an ad-hoc group of that job type.
func (b *bench) submitSpec(spec contract.JobTypeSpec, list ...jobtype.Proposal) contract.JobGroupResult {
	b.t.Helper()
	b.ExecuteWorkflow(contract.JobGroupWorkflow, contract.JobGroupInput{
		Spec: spec, Submission: &contract.Submission{ID: "ticket-1", By: "tester", Proposals: list},
	})
	return b.result()
}

// released lists the released ids, one request after the other.
func (b *bench) released() (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, in := range b.asked {
		ids = append(ids, in.Release...)
	}
	return ids
}

func (b *bench) wanted() (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, in := range b.asked {
		for _, item := range in.Items {
			ids = append(ids, item.ID)
		}
	}
	return ids
}

// takes sets the duration of every execution in the workflow's time.
func (b *bench) takes(d time.Duration) {
	b.OnActivity(contract.ExecuteActivity, mock.Anything, mock.Anything).Return(contract.ExecuteState{Worker: "node-a"}, nil).After(d)
}

// TestSubmittedJobsComeBackWithTheNextWindow: three jobs of 25 minutes run one at a time in a window of an
// hour, so the third waits for the next day. Meanwhile the group holds nothing, and reports its wait.
func TestSubmittedJobsComeBackWithTheNextWindow(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon)
	b.lane = "default"
	b.takes(25 * time.Minute)
	list := proposals(3)
	for i := range list {
		list[i].EstimatedRuntime = jobtype.Duration(25 * time.Minute)
	}
	spec := b.spec(jobtype.Policy{MaxRuntime: 4 * hour})
	spec.Calendar, spec.Interval = daily("12:00", "13:00", "UTC"), jobtype.Duration(time.Hour)
	b.RegisterDelayedCallback(func() {
		assert.Equal(t, []string{"lane", "claims"}, b.wanted())
		assert.ElementsMatch(t, []string{"lane", "claims", "lane-2"}, b.released(), "it keeps nothing from others, nor what a lost task may have requested")
		status := b.status()
		assert.Equal(t, "waiting", status.Phase)
		assert.Equal(t, 1, status.Pending)
		require.NotNil(t, status.Wait)
		assert.Equal(t, "WINDOW_CLOSED_UNTIL", status.Wait.Code)
		assert.Equal(t, noon.Add(24*time.Hour), status.Wait.Until.UTC())
		assert.Zero(t, status.Deadline)
		job := b.job("job-00003")
		assert.Equal(t, "pending", job.State)
		require.NotNil(t, job.Wait)
		assert.Equal(t, "WINDOW_CLOSED_UNTIL", job.Wait.Code)
		assert.Equal(t, noon.Add(24*time.Hour), job.Wait.Until.UTC())
	}, 3*time.Hour)
	result := b.submitSpec(spec, list...)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, contract.GroupCounts{Detected: 3, Accepted: 3, Completed: 3}, result.Counts)
	assert.WithinDuration(t, noon.Add(24*time.Hour+25*time.Minute), result.EndedAt, time.Minute)
	assert.Equal(t, []string{"lane", "claims", "lane-2", "claims-2"}, b.wanted())
	assert.Contains(t, codes(b.audit), "delayed WINDOW_CLOSED")
}

func (b *bench) job(id string) contract.JobView {
	b.t.Helper()
	value, err := b.QueryWorkflow(contract.QueryJobs, contract.JobsQueryInput{JobID: id})
	require.NoError(b.t, err)
	var found contract.JobsQueryResult
	require.NoError(b.t, value.Get(&found))
	require.Len(b.t, found.Jobs, 1)
	return found.Jobs[0]
}

// TestSubmittedJobGoesOnFromItsCheckpoint: the end of the window stops the job. The next window continues it
// from its checkpoint with a greater fence.
func TestSubmittedJobGoesOnFromItsCheckpoint(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon.Add(-5*time.Second))
	b.lane = "default"
	var fences []int64
	b.execute = func(ctx context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		fences = append(fences, in.Job.Fence)
		switch in.Job.Attempt {
		case 1:
			return contract.ExecuteState{}, envtest.FailureOf(contract.FailureFailed, contract.ExecuteState{Checkpoint: json.RawMessage(`{"at":40}`)})
		case 2:
			beats := time.NewTicker(10 * time.Millisecond)
			defer beats.Stop()
			for ctx.Err() == nil {
				activity.RecordHeartbeat(ctx)
				<-beats.C
			}
			return contract.ExecuteState{}, ctx.Err()
		}
		assert.JSONEq(t, `{"at":40}`, string(in.Job.Checkpoint))
		return contract.ExecuteState{Worker: "node-a"}, nil
	}
	spec := b.spec(jobtype.Policy{OnWindowEnd: jobtype.WindowEndCheckpoint, HeartbeatTimeout: jobtype.Duration(time.Second), MaxRuntime: jobtype.Duration(time.Hour), RetryLimit: 1, RetryBackoff: jobtype.Duration(time.Millisecond)})
	spec.Calendar, spec.Interval = daily("11:00", "12:00", "UTC"), jobtype.Duration(time.Hour)
	result := b.submitSpec(spec, proposals(1)...)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, contract.GroupCounts{Detected: 1, Accepted: 1, Completed: 1, Retries: 1}, result.Counts)
	require.Len(t, fences, 3)
	assert.IsIncreasing(t, fences)
	assert.Nil(t, result.Dropped)
}

// TestSubmittedJobsThatOthersTookUpMeanwhile: the group does not execute them again.
func TestSubmittedJobsThatOthersTookUpMeanwhile(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon)
	b.takes(40 * time.Minute)
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		answer := grantAll(in)
		for i := range answer.Granted {
			if answer.Granted[i].ID == "claims-2" {
				answer.Granted[i].Taken = []contract.AdmissionTaken{{By: "group/scheduled", Indexes: []int{0}}}
			}
		}
		return answer
	}
	list := proposals(3)
	for i := range list {
		list[i].EstimatedRuntime = jobtype.Duration(40 * time.Minute)
	}
	spec := b.spec(jobtype.Policy{MaxRuntime: 4 * hour})
	spec.Calendar, spec.Interval = daily("12:00", "13:00", "UTC"), jobtype.Duration(time.Hour)
	result := b.submitSpec(spec, list...)
	assert.Equal(t, contract.OutcomePartial, result.Outcome)
	assert.Equal(t, 2, result.Counts.Completed)
	assert.Equal(t, 1, result.Counts.NotStarted)
	assert.Equal(t, []contract.DedupedProposal{{DedupeKey: "key-1", By: "group/scheduled"}}, result.Deduped)
	assert.WithinDuration(t, noon.Add(24*time.Hour+40*time.Minute), result.EndedAt, time.Minute)
}

// TestSubmittedJobsAreOverWhenNobodyWantsThemAnyMore: they expire, are canceled, or end after a month.
func TestSubmittedJobsAreOverWhenNobodyWantsThemAnyMore(t *testing.T) {
	t.Parallel()
	setup := func(t *testing.T) (*bench, contract.JobTypeSpec, []jobtype.Proposal) {
		t.Helper()
		b := windowed(t, noon)
		b.lane = "default"
		b.takes(40 * time.Minute)
		list := proposals(2)
		for i := range list {
			list[i].EstimatedRuntime = jobtype.Duration(40 * time.Minute)
		}
		spec := b.spec(jobtype.Policy{MaxRuntime: 4 * hour})
		spec.Calendar, spec.Interval = daily("12:00", "13:00", "UTC"), jobtype.Duration(time.Hour)
		return b, spec, list
	}
	t.Run("expires_at", func(t *testing.T) {
		t.Parallel()
		b, spec, list := setup(t)
		list[1].ExpiresAt = noon.Add(8 * time.Hour)
		result := b.submitSpec(spec, list...)
		assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 2, Completed: 1, Expired: 1}, result.Counts)
		assert.WithinDuration(t, noon.Add(8*time.Hour), result.EndedAt, time.Minute, "it does not wait for the window")
	})
	t.Run("canceled job", func(t *testing.T) {
		t.Parallel()
		b, spec, list := setup(t)
		b.RegisterDelayedCallback(func() {
			b.cancelItem(contract.CancelItemInput{Item: "job-00002", Reason: "done by hand"})
		}, 8*time.Hour)
		result := b.submitSpec(spec, list...)
		assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 2, Completed: 1, Canceled: 1}, result.Counts)
		assert.WithinDuration(t, noon.Add(8*time.Hour), result.EndedAt, time.Minute)
	})
	t.Run("canceled group", func(t *testing.T) {
		t.Parallel()
		b, spec, list := setup(t)
		b.RegisterDelayedCallback(b.CancelWorkflow, 8*time.Hour)
		b.ExecuteWorkflow(contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec, Submission: &contract.Submission{ID: "t", Proposals: list}})
		require.ErrorContains(t, b.GetWorkflowError(), "canceled")
	})
	t.Run("no window any more", func(t *testing.T) {
		t.Parallel()
		b, spec, list := setup(t)
		b.RegisterDelayedCallback(func() {
			b.SignalWorkflow(contract.SignalSetCalendar, contract.SetCalendarInput{Calendar: &jobtype.Calendar{
				Windows: []jobtype.Window{{From: "12:00", To: "13:00", Timezone: "UTC"}}, Blackouts: []jobtype.Blackout{{From: "2026-01-01T00:00", To: "2030-01-01T00:00", Timezone: "UTC"}},
			}})
		}, 8*time.Hour)
		result := b.submitSpec(spec, list...)
		assert.Equal(t, contract.OutcomePartial, result.Outcome)
		assert.Contains(t, result.Reason, "WINDOW_CLOSED_UNTIL: no window opens within 400 days")
		assert.Equal(t, 1, result.Counts.NotStarted)
	})
	t.Run("a month", func(t *testing.T) {
		t.Parallel()
		b, spec, list := setup(t)
		b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
			if len(in.Items) > 0 && in.Items[0].ID != "lane" && in.Items[0].Lane != "" {
				return nil // The lane is always busy.
			}
			return grantAll(in)
		}
		result := b.submitSpec(spec, list...)
		assert.Equal(t, contract.OutcomePartial, result.Outcome)
		assert.Contains(t, result.Reason, "it has been coming back for 36 days")
		assert.Equal(t, 1, result.Counts.NotStarted)
		assert.WithinDuration(t, noon.Add(36*24*time.Hour), result.EndedAt, 2*time.Hour)
	})
}

// TestApplyOpensTheWindowForWhatIsAway: a changed calendar takes effect at once.
func TestApplyOpensTheWindowForWhatIsAway(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon)
	b.lane = "default"
	b.takes(40 * time.Minute)
	list := proposals(2)
	for i := range list {
		list[i].EstimatedRuntime = jobtype.Duration(40 * time.Minute)
	}
	spec := b.spec(jobtype.Policy{MaxRuntime: 4 * hour})
	spec.Calendar, spec.Interval = daily("12:00", "13:00", "UTC"), jobtype.Duration(time.Hour)
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(contract.SignalSetCalendar, contract.SetCalendarInput{Calendar: daily("12:00", "22:00", "UTC")})
	}, 5*time.Hour)
	result := b.submitSpec(spec, list...)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.WithinDuration(t, noon.Add(5*time.Hour+40*time.Minute), result.EndedAt, time.Minute)
}

// TestSubmittedGroupThatMissesItsTurn: the window closes while the group waits for its lane. It requests the
// lane again in the next window.
func TestSubmittedGroupThatMissesItsTurn(t *testing.T) {
	t.Parallel()
	b := windowed(t, noon)
	b.lane = "default"
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		if len(in.Items) > 0 && in.Items[0].ID == "lane" {
			return nil // The lane is busy all day.
		}
		return grantAll(in)
	}
	spec := b.spec(jobtype.Policy{MaxRuntime: 4 * hour})
	spec.Calendar, spec.Interval = daily("12:00", "13:00", "UTC"), jobtype.Duration(time.Hour)
	b.RegisterDelayedCallback(func() {
		assert.Contains(t, b.released(), "lane", "nobody waits behind it")
		status := b.status()
		require.NotNil(t, status.Wait)
		assert.Equal(t, "WINDOW_CLOSED_UNTIL", status.Wait.Code)
	}, 5*time.Hour)
	result := b.submitSpec(spec, proposals(2)...)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, 2, result.Counts.Completed)
	assert.WithinDuration(t, noon.Add(24*time.Hour), result.EndedAt, time.Minute)

	late := windowed(t, noon)
	late.lane = "default"
	late.answer = func(contract.AdmissionRequest) *contract.AdmissionAnswer { return nil }
	list := proposals(1)
	list[0].ExpiresAt = noon.Add(8 * time.Hour)
	assert.Equal(t, contract.OutcomeSkipped, late.submitSpec(spec, list...).Outcome, "its job expires before the next window")
}
