package group_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func (b *bench) submit(policy jobtype.Policy, rollEvents int, list ...jobtype.Proposal) {
	b.t.Helper()
	b.ExecuteWorkflow(contract.JobGroupWorkflow, contract.JobGroupInput{
		Spec: b.spec(policy), RollEvents: rollEvents, Submission: &contract.Submission{ID: "ticket-1", By: "tester", Proposals: list},
	})
	require.True(b.t, b.IsWorkflowCompleted())
}

func (b *bench) submitted(policy jobtype.Policy, list ...jobtype.Proposal) contract.JobGroupResult {
	b.t.Helper()
	b.submit(policy, 0, list...)
	return b.result()
}

func TestAdHocGroupDetectsNothingAndLeavesNoRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.found = proposals(5)
	b.detect = func(contract.DetectActivityInput) error { return errors.New("nothing was to be detected") }
	result := b.submitted(jobtype.Policy{}, append(proposals(3), proposals(1)...)...)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, contract.GroupCounts{Detected: 4, Accepted: 3, Duplicates: 1, Completed: 3}, result.Counts)
	assert.EqualValues(t, 3, b.executed.Load())
	assert.Equal(t, "ticket-1", result.Submission)
	assert.Equal(t, "tester", result.SubmittedBy)
	assert.Zero(t, result.Record)
}

func TestAdHocGroupSaysWhoIsAtItAlready(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		answer := grantAll(in)
		for i := range answer.Granted {
			answer.Granted[i].Taken = []contract.AdmissionTaken{{By: "group/other", Indexes: []int{0}}}
		}
		return answer
	}
	result := b.submitted(jobtype.Policy{}, proposals(1)...)
	assert.Equal(t, contract.OutcomeSkipped, result.Outcome)
	assert.Equal(t, `DEDUPED: "key-0" is active in group/other`, result.Reason)
	assert.Equal(t, []contract.DedupedProposal{{DedupeKey: "key-0", By: "group/other"}}, result.Deduped)
	assert.Zero(t, b.executed.Load())
}

// TestAdHocGroupIsPatient: no later group replaces it, so it waits for its lane beyond the interval of its job
// type, and takes a turn of its own.
func TestAdHocGroupIsPatient(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lane = "default"
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		if len(in.Items) > 0 && in.Items[0].Lane != "" {
			assert.True(t, in.Items[0].Distinct)
			if len(b.asked) < 10 {
				return nil // Nine requests without an answer, a minute apart.
			}
		}
		return grantAll(in)
	}
	result := b.submitted(jobtype.Policy{CatchupWindow: jobtype.Duration(time.Minute)}, proposals(1)...)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
}

func TestAdHocGroupGivesUpWhenItsJobsHaveExpired(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lane = "default"
	b.answer = func(contract.AdmissionRequest) *contract.AdmissionAnswer { return nil }
	list := proposals(2)
	list[0].ExpiresAt, list[1].ExpiresAt = b.Now().Add(time.Minute), b.Now().Add(5*time.Minute)
	result := b.submitted(jobtype.Policy{}, list...)
	assert.Equal(t, contract.OutcomeSkipped, result.Outcome)
	assert.Contains(t, result.Reason, "until every job had expired")
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 2, NotStarted: 2}, result.Counts)
}

// TestAdHocGroupCarriesItsProposalsOnce: after continue-as-new they are in its state, not in its input.
func TestAdHocGroupCarriesItsProposalsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.SetCurrentHistoryLength(100)
	b.submit(jobtype.Policy{}, 1, proposals(20)...)
	again, ok := errors.AsType[*workflow.ContinueAsNewError](b.GetWorkflowError())
	require.True(t, ok, "%v", b.GetWorkflowError())
	var in contract.JobGroupInput
	var core []byte
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &in, &core))
	require.NotNil(t, in.Submission)
	assert.Equal(t, "ticket-1", in.Submission.ID)
	assert.Empty(t, in.Submission.Proposals)
	require.NotNil(t, in.State)
}

// TestGroupClaimsObjects: exclusive or shared, as each proposal requires.
func TestGroupClaimsObjects(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.submitted(jobtype.Policy{}, jobtype.Proposal{Exclusive: []string{"volume/1"}, Shared: []string{"rack/1"}})
	require.NotEmpty(t, b.asked)
	require.Len(t, b.asked[0].Items, 1)
	assert.Equal(t, []contract.AdmissionObject{{Name: "volume/1"}, {Name: "rack/1", Shared: true}}, b.asked[0].Items[0].Objects)
}

// TestAdHocGroupWaitsForItsFirstJob: it holds no lane meanwhile, and answers admission.
func TestAdHocGroupWaitsForItsFirstJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lane = "default"
	began := b.Now()
	var askedAt time.Time
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		if len(in.Items) > 0 && in.Items[0].Lane != "" {
			askedAt = b.Now()
		}
		return grantAll(in)
	}
	b.RegisterDelayedCallback(func() {
		value, err := b.QueryWorkflow(contract.QueryStatus)
		require.NoError(t, err)
		var status contract.GroupStatus
		require.NoError(t, value.Get(&status))
		require.NotNil(t, status.Wait)
		assert.Equal(t, "NOT_BEFORE", status.Wait.Code)
		assert.WithinDuration(t, began.Add(5*time.Hour), status.Wait.Until, time.Second)
		assert.Equal(t, 2, status.Pending)
		b.SignalWorkflow(contract.SignalReassert, nil)
	}, time.Hour)
	list := proposals(2)
	list[0].NotBefore, list[1].NotBefore = began.Add(5*time.Hour+time.Minute), began.Add(5*time.Hour)
	result := b.submitted(jobtype.Policy{}, list...)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.WithinDuration(t, began.Add(5*time.Hour), askedAt, time.Second)
	assert.WithinDuration(t, began.Add(5*time.Hour), result.StartedAt, time.Second, "max_runtime counts from there")
	require.NotEmpty(t, b.asked)
	assert.True(t, b.asked[0].Reassert, "it said that it holds nothing")
	assert.Empty(t, b.asked[0].Held)
}

// TestAdHocGroupIsCanceledBeforeItsFirstJob: its result counts the jobs that did not start.
func TestAdHocGroupIsCanceledBeforeItsFirstJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(contract.SignalCancelRun, contract.CancelRunInput{Reason: "no more"})
	}, time.Hour)
	later := jobtype.Proposal{NotBefore: b.Now().Add(5 * time.Hour)}
	b.submit(jobtype.Policy{}, 0, later)
	canceled, ok := errors.AsType[*temporal.CanceledError](b.GetWorkflowError())
	require.True(t, ok)
	var result contract.JobGroupResult
	require.NoError(t, canceled.Details(&result))
	assert.Equal(t, contract.GroupCounts{Detected: 1, Accepted: 1, Canceled: 1}, result.Counts)
	assert.Equal(t, "no more", result.Reason)
}
