package e2e

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestCancelsMeetContinueAsNew: operators cancel the jobs of a group one by one while it continues as new after
// each few of them. Each answer is true: no cancel is lost between two workflow runs, and no update fails.
func TestCancelsMeetContinueAsNew(t *testing.T) {
	t.Parallel()
	const jobs, operators, each = 300, 6, 8
	p := newInProcess(t, 2, flood{})
	spec := floodSpec("flood", jobs, 80, jobtype.Policy{GlobalExecutionConcurrency: 2, PerWorkerExecutionConcurrency: 2})
	run := p.launch(contract.JobGroupInput{Spec: spec, RollEvents: 1})
	ref := starter.RunRef{WorkflowID: run.GetID()}
	item := func(n int) starter.ItemRef { return starter.ItemRef{Run: ref, ID: contract.JobID(n)} }
	testsuite.WaitFor(t, time.Minute, "the detection has ended", func() bool {
		_, err := p.client.Runs().Item(t.Context(), item(jobs))
		return err == nil
	})
	answers, answered := map[int]error{}, map[int]time.Time{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for operator := range operators {
		all.Go(func() {
			workflowRun := ""
			for i := range each {
				// Each cancel is for another workflow run.
				testsuite.WaitFor(t, time.Minute, "the group has continued as new", func() bool {
					described, err := p.client.Temporal().DescribeWorkflowExecution(t.Context(), ref.WorkflowID, "")
					if err != nil {
						return false
					}
					info := described.GetWorkflowExecutionInfo()
					before := workflowRun
					workflowRun = info.GetExecution().GetRunId()
					return before != workflowRun || info.GetCloseTime() != nil
				})
				n := jobs - operator - i*operators
				err := p.client.Runs().CancelItem(t.Context(), item(n), "a test")
				mu.Lock()
				answers[n], answered[n] = err, time.Now()
				mu.Unlock()
			}
		})
	}
	all.Wait()
	result := p.end(run)
	canceled := 0
	for n, answer := range answers {
		item, err := p.client.Runs().Item(t.Context(), item(n))
		require.NoError(t, err)
		switch {
		case answer == nil && item.State == contract.JobCompleted:
			assert.False(t, item.StartedAt.After(answered[n]), "%s began at %s, after its cancel at %s", item.ID, item.StartedAt, answered[n])
		case answer == nil:
			canceled++
			assert.Equal(t, contract.JobCanceled, item.State, item.ID)
		default:
			require.ErrorIs(t, answer, starter.ErrAlreadyEnded, item.ID)
			assert.Equal(t, contract.JobCompleted, item.State, item.ID)
		}
	}
	assert.Equal(t, canceled, result.Counts.Canceled)
	assert.Equal(t, jobs-canceled, result.Counts.Completed)
	continued := p.count("WorkflowId = '" + run.GetID() + "' AND ExecutionStatus = 'ContinuedAsNew'")
	t.Logf("%d canceled, %d workflow runs continued as new", canceled, continued)
	assert.GreaterOrEqual(t, continued, int64(each))
	assert.Positive(t, canceled)
}
