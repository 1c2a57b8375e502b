package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
)

// resetTo resets a workflow to the task that scheduled its first activity of that type.
func (p *inProcess) resetTo(workflowID, activity string) {
	p.t.Helper()
	described, err := p.client.Temporal().DescribeWorkflowExecution(p.t.Context(), workflowID, "")
	require.NoError(p.t, err)
	runID, finished := described.GetWorkflowExecutionInfo().GetExecution().GetRunId(), int64(0)
	for events := p.client.Temporal().GetWorkflowHistory(p.t.Context(), workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(p.t, err)
		if event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == activity {
			finished = event.GetActivityTaskScheduledEventAttributes().GetWorkflowTaskCompletedEventId()
			break
		}
	}
	require.NotZero(p.t, finished, "%s has scheduled no %s", workflowID, activity)
	_, err = p.client.Temporal().ResetWorkflowExecution(p.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: p.client.Namespace(), Reason: "test", RequestId: "reset-" + runID, WorkflowTaskFinishEventId: finished,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID},
	})
	require.NoError(p.t, err)
}

// TestAnEndedGroupIsReset: ended groups are reset while another group holds the lane and the object. Their
// earlier grants are void, although the server replays the old answers. A group reset to before its turn waits
// for its turn again. A group reset to after its turn is refused.
func TestAnEndedGroupIsReset(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 20, s)
	wants := at("volume")
	wants.Exclusive = []string{"volume"}
	for _, name := range []string{"early", "late"} {
		assert.Equal(t, contract.OutcomeCompleted, p.end(p.begin(name, siteSpec(t, name, "default", wants))).Outcome)
	}
	open := s.hold("volume")
	defer open()
	holder := p.begin("holder", siteSpec(t, "holder", "default", wants))
	testsuite.WaitFor(t, 20*time.Second, "the holder works", func() bool { return s.present("volume") == 1 })

	p.resetTo("group/late", contract.ExecuteActivity)
	var lost contract.JobGroupResult
	assert.Error(t, p.client.Temporal().GetWorkflow(t.Context(), "group/late", "").Get(t.Context(), &lost), "it is canceled")
	p.reset("group/early")
	testsuite.WaitFor(t, 20*time.Second, "the first waits for its turn, or works in spite of the holder", func() bool {
		return len(p.waiting("default")) == 1 || s.present("volume") > 1 || len(s.order()) > 3
	})
	assert.Equal(t, []string{"early", "late", "holder"}, s.order(), "it has not begun")
	open()
	assert.Equal(t, contract.OutcomeCompleted, p.end(holder).Outcome)
	assert.Equal(t, contract.OutcomeCompleted, p.end(p.client.Temporal().GetWorkflow(t.Context(), "group/early", "")).Outcome)
	assert.Equal(t, 1, s.crowds()["volume"])
	assert.Equal(t, 4, s.entered())
	assert.Zero(t, s.outdated())
	view := p.admission()
	assert.Empty(t, view.Lanes)
	assert.Empty(t, view.Holders)
}

// TestARunningGroupIsResetAtWork: the group keeps its grants and repeats its jobs with fences above the earlier
// ones.
func TestARunningGroupIsResetAtWork(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 20, s)
	wants := at("volume")
	wants.Exclusive = []string{"volume"}
	open := s.hold("volume")
	defer open()
	plainly := s.hold("plain")
	defer plainly()
	spec := siteSpec(t, "reset", "default", wants, at("plain"))
	spec.Policy.RetryLimit = 3
	p.begin("reset", spec)
	testsuite.WaitFor(t, 20*time.Second, "it works", func() bool { return s.entered() == 2 })
	p.resetTo("group/reset", contract.ExecuteActivity)
	testsuite.WaitFor(t, 30*time.Second, "its jobs are done again", func() bool { return s.entered() == 4 })
	for _, pool := range p.admission().Objects {
		assert.Len(t, pool.Holders, 1)
	}
	open()
	plainly()
	result := p.end(p.client.Temporal().GetWorkflow(t.Context(), "group/reset", ""))
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, "%+v", result)
	assert.Zero(t, s.outdated(), "no fence comes twice")
	assert.Empty(t, p.admission().Holders)
}
