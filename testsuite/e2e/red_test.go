package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestAFailedGroupIsRedAndRemembered: a failed group has Temporal's status Failed. The record of the job type
// survives groups that failed, were terminated or canceled.
func TestAFailedGroupIsRedAndRemembered(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	c.apply(script("disks", "global_execution_concurrency: 1", "date +sda-%N", "cd "+c.dir+"; echo x >>begun; test ! -e hang || sleep 60; test -e good"))
	flag := func(name string) { require.NoError(t, os.WriteFile(filepath.Join(c.dir, name), nil, 0o600)) }
	status := func(ref starter.RunRef) enums.WorkflowExecutionStatus {
		described, err := c.client.Temporal().DescribeWorkflowExecution(t.Context(), ref.WorkflowID, "")
		require.NoError(t, err)
		return described.GetWorkflowExecutionInfo().GetStatus()
	}
	next := func() starter.RunRef {
		begun := len(c.lines("begun"))
		ref := c.run("disks")
		testsuite.WaitFor(t, 20*time.Second, "its job runs", func() bool { return len(c.lines("begun")) > begun })
		return ref
	}

	for n := range 2 {
		ref := next()
		failed := c.result(ref, time.Minute)
		assert.Equal(t, contract.OutcomeFailed, failed.Outcome)
		assert.EqualValues(t, n+1, failed.Record.Sequence)
		assert.Len(t, failed.Record.Bad, n+1)
		assert.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_FAILED, status(ref))
	}
	flag("hang")
	require.NoError(t, c.client.Temporal().TerminateWorkflow(t.Context(), next().WorkflowID, "", "a test"))
	canceled := next()
	require.NoError(t, c.client.Temporal().CancelWorkflow(t.Context(), canceled.WorkflowID, ""))
	assert.Equal(t, contract.OutcomeCanceled, c.result(canceled, time.Minute).Outcome)
	require.NoError(t, os.Remove(filepath.Join(c.dir, "hang")))
	flag("good")

	good := next()
	result := c.result(good, time.Minute)
	assert.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, status(good))
	assert.EqualValues(t, 5, result.Record.Sequence)
	assert.Len(t, result.Record.Good, 1)
	var outcomes []contract.Outcome
	for _, run := range result.Record.Bad {
		outcomes = append(outcomes, run.Outcome)
	}
	assert.Regexp(t, `^"sda-\d+ on node-a"$`, c.summaryOf(good, contract.ExecuteActivity))
	assert.Equal(t, []contract.Outcome{contract.OutcomeCanceled, contract.OutcomeFailed, contract.OutcomeFailed, contract.OutcomeFailed}, outcomes)
}

// summaryOf is the summary in the Web UI of the first activity of that type.
func (c *cluster) summaryOf(ref starter.RunRef, activity string) string {
	c.t.Helper()
	events := c.client.Temporal().GetWorkflowHistory(c.t.Context(), ref.WorkflowID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(c.t, err)
		if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activity {
			return string(event.GetUserMetadata().GetSummary().GetData())
		}
	}
	return ""
}
