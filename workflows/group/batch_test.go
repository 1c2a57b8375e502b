package group_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// batched runs proposals in batches of two. All except the last have one batch key.
func (b *bench) batched(budget *contract.RetryBudget, list ...jobtype.Proposal) contract.JobGroupResult {
	b.t.Helper()
	spec := b.spec(jobtype.Policy{})
	spec.RetryBudget = budget
	spec.Params, spec.Batch = []byte(`{"dir":"/srv"}`), &contract.BatchSpec{By: "x", MaxSize: 2}
	keys := make([]string, len(list))
	for i := range len(list) - 1 {
		keys[i] = "x"
	}
	b.ExecuteWorkflow(contract.JobGroupWorkflow, contract.JobGroupInput{Spec: spec, Submission: &contract.Submission{ID: "s", Proposals: list, BatchKeys: keys}})
	return b.result()
}

func TestGroupTellsHandlersTheirBatches(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	list := proposals(4)
	list[0].Params = []byte(`{"n":1}`)
	var jobs []jobtype.Job
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		assert.Empty(t, in.ProposalParams, "they are in the items")
		jobs = append(jobs, in.Job)
		return contract.ExecuteState{}, nil
	}
	result := b.batched(nil, list...)
	assert.Equal(t, contract.GroupCounts{Detected: 4, Accepted: 3, Batched: 1, Completed: 3}, result.Counts)
	require.Len(t, jobs, 3)
	assert.Equal(t, []jobtype.BatchItem{{DedupeKey: "key-0", Summary: "job 0", Params: []byte(`{"n":1}`)}, {DedupeKey: "key-1", Summary: "job 1"}}, jobs[0].Batch)
	assert.JSONEq(t, `{"dir":"/srv"}`, string(jobs[0].Params))
	assert.Empty(t, jobs[0].DedupeKey)
	assert.Equal(t, "key-2", jobs[1].DedupeKey, "the third of the batch had no room")
	assert.Len(t, jobs[1].Batch, 1, "a single one is told as a batch too")
	assert.Len(t, jobs[2].Batch, 1)
	require.NotEmpty(t, b.asked)
	assert.Len(t, b.asked[0].Items[0].Keys, 4*8, "every key is claimed")
}

// TestGroupReportsFailuresOfABatchForEachKey: one attempt counts for two keys.
func TestGroupReportsFailuresOfABatchForEachKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		if len(in.Job.Batch) == 2 {
			return contract.ExecuteState{}, failure(contract.FailurePermanent)
		}
		return contract.ExecuteState{}, nil
	}
	result := b.batched(&contract.RetryBudget{PerKey: &contract.RetryBudgetRule{Count: 3}}, proposals(3)...)
	assert.Equal(t, contract.GroupCounts{Detected: 3, Accepted: 2, Batched: 1, Completed: 1, Failed: 1}, result.Counts)
	require.Len(t, result.Errors, 1)
	assert.Equal(t, contract.JobError{DedupeKey: "key-0", Items: 2, Message: "it went wrong", JobID: "job-00001", Worker: "node-a"}, result.Errors[0])
	var failed []contract.AdmissionFailure
	for _, request := range b.asked {
		for _, endings := range request.Endings {
			failed = append(failed, endings.Failed...)
		}
	}
	require.Len(t, failed, 2)
	assert.Equal(t, []string{"key-0", "key-1"}, []string{failed[0].DedupeKey, failed[1].DedupeKey})
	assert.Equal(t, failed[0].Attempt, failed[1].Attempt, "once for the job type")
}

// TestWhatJobsHaveInCommonTravelsOnce: the common data is sent once to each process, and the group answers
// queries for it.
func TestWhatJobsHaveInCommonTravelsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.workers = []contract.WorkerView{worker("node-a", 2), worker("node-b", 2)}
	b.found = proposals(20)
	spec := b.spec(jobtype.Policy{GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 2})
	spec.Params, spec.Cluster = []byte(`{"filler":"`+strings.Repeat("x", 200)+`"}`), []byte(`{"c":1}`)
	common := contract.RunCommon{Params: spec.Params, Cluster: spec.Cluster}
	var whole, bare atomic.Int64
	b.execute = func(_ context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
		assert.Equal(t, common.ID(), in.Common)
		if len(in.Job.Params) > 0 {
			whole.Add(1)
			assert.Equal(t, string(spec.Cluster), string(in.Job.Cluster))
		} else {
			bare.Add(1)
			assert.Empty(t, in.Job.Cluster)
		}
		return contract.ExecuteState{}, nil
	}
	assert.Equal(t, 20, b.runSpec(spec).Counts.Completed)
	assert.EqualValues(t, 2, whole.Load())
	assert.EqualValues(t, 18, bare.Load())
	value, err := b.QueryWorkflow(contract.QueryCommon, common.ID())
	require.NoError(t, err)
	var answer contract.RunCommon
	require.NoError(t, value.Get(&answer))
	assert.Equal(t, common, answer)
	_, err = b.QueryWorkflow(contract.QueryCommon, "another")
	require.ErrorContains(t, err, "another")
}
