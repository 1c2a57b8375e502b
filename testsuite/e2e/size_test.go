package e2e

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestTenThousandProposals: 10,000 proposals of 3.7 KB that do not compress run in one group within Temporal's limits: no
// failed workflow task, no run of the chain over 45,000 events or near the server's 50 MiB. Each job is listed and found
// while the group runs and afterwards, then also without a control plane. The 3,200 of `make test` are more than the 2,000 with keys
// that a group has itself and a chunk of 1,024, and continue as new.
func TestTenThousandProposals(t *testing.T) {
	t.Parallel()
	jobs := testsuite.Sized(t, 3_200, 10_000)
	p := newInProcess(t, 200, flood{})
	spec := floodSpec("flood", 0, 0, jobtype.Policy{
		MaxJobsPerDetection: jobs, GlobalExecutionConcurrency: 200, PerWorkerExecutionConcurrency: 200,
	})
	spec.Params = fmt.Appendf(nil, `{"n":%d,"bytes":3700,"noise":true}`, jobs)
	run := p.launch(contract.JobGroupInput{Spec: spec})
	ref := starter.RunRef{WorkflowID: run.GetID()}
	everyJob := func(states ...string) map[string]int {
		items, total, err := p.client.Runs().Items(t.Context(), ref, starter.ItemFilter{Limit: starter.All, States: states})
		require.NoError(t, err)
		require.Len(t, items, total)
		numbers := map[string]bool{}
		counts := map[string]int{}
		for _, item := range items {
			require.False(t, numbers[item.ID], "%s is listed twice", item.ID)
			numbers[item.ID] = true
			counts[item.State]++
		}
		return counts
	}
	testsuite.WaitFor(t, 3*time.Minute, "the first page of the record is written", func() bool {
		var jobs contract.JobsQueryResult
		answer, err := p.client.Temporal().QueryWorkflow(t.Context(), ref.WorkflowID, "", contract.QueryJobs, contract.JobsQueryInput{Limit: 1})
		return err == nil && answer.Get(&jobs) == nil && len(jobs.Record) > 0
	})
	sum := 0
	for _, n := range everyJob() {
		sum += n
	}
	assert.Equal(t, jobs, sum, "while it runs")
	result := p.end(run)
	p.stopControl()
	assert.Equal(t, map[string]int{contract.JobCompleted: jobs}, everyJob())
	assert.Equal(t, map[string]int{contract.JobCompleted: jobs}, everyJob(contract.JobCompleted))
	assert.Empty(t, everyJob(contract.JobFailed))
	for _, n := range []int{0, jobs * 2 / 5, jobs - 1} {
		item, err := p.client.Runs().ItemByKey(t.Context(), ref, fmt.Sprintf("object/%d", n))
		require.NoError(t, err)
		same, err := p.client.Runs().Item(t.Context(), starter.ItemRef{Run: ref, ID: item.ID})
		require.NoError(t, err)
		assert.Equal(t, item.DedupeKey, same.DedupeKey)
		assert.Equal(t, "node-a", same.Worker)
	}
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	result.Counts.Replacements = 0 // On a busy machine some jobs are accepted too late and placed again.
	assert.Equal(t, contract.GroupCounts{Detected: jobs, Accepted: jobs, Completed: jobs}, result.Counts)
	events, bytes := p.largestHistory(run.GetID())
	t.Logf("largest histories of the chain: %d events, %d bytes", events, bytes)
	assert.Less(t, events, int64(45_000))
	assert.Less(t, bytes, int64(49<<20))
	described, err := p.client.Temporal().DescribeWorkflowExecution(t.Context(), run.GetID(), "")
	require.NoError(t, err)
	info := described.GetWorkflowExecutionInfo()
	assert.NotEqual(t, info.GetFirstRunId(), info.GetExecution().GetRunId(), "it continued as new")
}

// TestSurplusIsCounted: proposals over a limit are reported, never silently cut.
func TestSurplusIsCounted(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 20, flood{})
	result, _ := p.group(floodSpec("surplus", 100_001, 0, jobtype.Policy{
		MaxJobsPerDetection: 50, GlobalExecutionConcurrency: 20, PerWorkerExecutionConcurrency: 20,
	}))
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, contract.GroupCounts{Detected: 100_001, Accepted: 50, Surplus: 99_951, Completed: 50}, result.Counts)
}

// TestSharedRouting runs a group on a shared queue.
func TestSharedRouting(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 8, flood{})
	result, _ := p.group(floodSpec("shared", 100, 0, jobtype.Policy{
		GlobalExecutionConcurrency: 20, PerWorkerExecutionConcurrency: 8, Routing: jobtype.RoutingShared,
	}))
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, map[string]int{"node-a": 100}, result.ByWorker)
}

// TestContinueAsNewAtEveryStep: the group continues as new whenever no job runs, and loses and repeats nothing.
func TestContinueAsNewAtEveryStep(t *testing.T) {
	t.Parallel()
	var executed atomic.Int64
	p := newInProcess(t, 8, flood{executed: &executed})
	result, run := p.groupOf(contract.JobGroupInput{RollEvents: 1, Spec: floodSpec("rolling", 150, 200, jobtype.Policy{
		GlobalExecutionConcurrency: 8, PerWorkerExecutionConcurrency: 8,
	})})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, contract.GroupCounts{Detected: 150, Accepted: 150, Completed: 150}, result.Counts)
	assert.EqualValues(t, 150, executed.Load())
	described, err := p.client.Temporal().DescribeWorkflowExecution(t.Context(), run.GetID(), "")
	require.NoError(t, err)
	assert.NotEqual(t, described.GetWorkflowExecutionInfo().GetFirstRunId(), described.GetWorkflowExecutionInfo().GetExecution().GetRunId())
	assert.Len(t, result.Record.Good, 1)
}

// TestLargeStateContinuesAsNew: a state of several payloads survives repeated roll-overs.
func TestLargeStateContinuesAsNew(t *testing.T) {
	t.Parallel()
	const jobs = 400
	var executed atomic.Int64
	p := newInProcess(t, 20, flood{executed: &executed})
	spec := floodSpec("heavy", jobs, 3000, jobtype.Policy{
		MaxJobsPerDetection: jobs, GlobalExecutionConcurrency: 20, PerWorkerExecutionConcurrency: 20,
	})
	spec.Params = fmt.Appendf(nil, `{"n":%d,"bytes":3000,"noise":true}`, jobs)
	result, run := p.groupOf(contract.JobGroupInput{RollEvents: 400, Spec: spec})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, jobs, result.Counts.Completed)
	assert.EqualValues(t, jobs, executed.Load())
	ofPages := fmt.Sprintf("WorkflowType = '%s'", contract.PageWorkflow)
	open := func() int64 { return p.count(ofPages + " AND " + contract.QueryOpen) }
	// The last state and, if the last workflow run was short, the one before it are left for the sweep. Each has at most three pages.
	testsuite.WaitFor(t, time.Minute, "most pages are closed", func() bool { return open() <= 6 })
	store := pages.NewStore(p.client.Temporal(), p.client.Namespace(), starter.DataConverter())
	closed, err := pages.NewKeeper(store, p.client.Temporal(), testsuite.Quiet()).Sweep(t.Context(), time.Now())
	require.NoError(t, err)
	assert.Positive(t, closed, "the group has ended")
	testsuite.WaitFor(t, time.Minute, "no page is open", func() bool { return open() == 0 })
	assert.Greater(t, p.count(ofPages), int64(3))
	described, err := p.client.Temporal().DescribeWorkflowExecution(t.Context(), run.GetID(), "")
	require.NoError(t, err)
	assert.NotEqual(t, described.GetWorkflowExecutionInfo().GetFirstRunId(), described.GetWorkflowExecutionInfo().GetExecution().GetRunId())
}

// TestCancelWhileContinuingAsNew: a group that continues as new at every step ends when it is canceled, in
// whichever of its runs.
func TestCancelWhileContinuingAsNew(t *testing.T) {
	t.Parallel()
	var executed atomic.Int64
	p := newInProcess(t, 4, flood{executed: &executed})
	for i := range 5 {
		executed.Store(0)
		name := fmt.Sprintf("stopped-%d", i)
		run := p.start(name, contract.JobGroupInput{RollEvents: 1, Spec: floodSpec(name, 400, 0, jobtype.Policy{
			GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 4,
		})})
		testsuite.WaitFor(t, time.Minute, "some jobs are done", func() bool { return executed.Load() >= int64(20+i*7) })
		require.NoError(t, p.client.Temporal().SignalWorkflow(t.Context(), run.GetID(), "", contract.SignalCancelRun, contract.CancelRunInput{Reason: "enough"}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		result, err := p.client.Runs().Result(ctx, starter.RunRef{WorkflowID: run.GetID()})
		cancel()
		require.NoError(t, err)
		assert.Equal(t, contract.OutcomeCanceled, result.Outcome)
		assert.Equal(t, 400, result.Counts.Completed+result.Counts.Canceled)
		assert.EqualValues(t, result.Counts.Completed, executed.Load())
	}
}
