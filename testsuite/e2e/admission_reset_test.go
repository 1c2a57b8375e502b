package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
)

// reset resets a workflow to its first workflow task, as the Web UI's button does.
func (p *inProcess) reset(workflowID string) {
	p.t.Helper()
	described, err := p.client.Temporal().DescribeWorkflowExecution(p.t.Context(), workflowID, "")
	require.NoError(p.t, err)
	_, err = p.client.Temporal().ResetWorkflowExecution(p.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: p.client.Namespace(), Reason: "test", RequestId: "reset-" + workflowID, WorkflowTaskFinishEventId: 4,
		WorkflowExecution: &commonpb.WorkflowExecution{
			WorkflowId: workflowID, RunId: described.GetWorkflowExecutionInfo().GetExecution().GetRunId(),
		},
	})
	require.NoError(p.t, err)
}

// TestAdmissionIsReset: an operator resets admission to its first task while one group holds a grant and one
// waits. Admission learns the later grants from their holders and grants nothing twice.
func TestAdmissionIsReset(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 20, s)
	early := at("early")
	early.Exclusive = []string{"early"}
	for _, id := range []string{"early-1", "early-2", "early-3"} {
		assert.Equal(t, contract.OutcomeCompleted, p.end(p.begin(id, siteSpec(t, "early", "default", early))).Outcome)
	}
	open := s.hold("object")
	defer open()
	wants := at("object")
	wants.Exclusive = []string{"object"}
	runs := []client.WorkflowRun{p.begin("holder", siteSpec(t, "holder", "default", wants))}
	testsuite.WaitFor(t, 20*time.Second, "the holder works", func() bool { return s.present("object") == 1 })
	runs = append(runs, p.begin("object", siteSpec(t, "object", "", wants)), p.begin("lane", siteSpec(t, "lane", "default", at("free"))))
	p.awaitWaiting("default", 1)

	p.reset(contract.AdmissionWorkflowID)
	testsuite.WaitFor(t, 30*time.Second, "everybody was heard", func() bool {
		answer, err := p.client.Temporal().QueryWorkflow(t.Context(), contract.AdmissionWorkflowID, "", contract.QueryAdmission)
		if err != nil {
			return false
		}
		var view contract.AdmissionView
		return answer.Get(&view) == nil && !view.Recovering && len(view.Lanes) == 1 && view.Lanes[0].Holder != nil &&
			view.Lanes[0].Holder.WorkflowID == "group/holder" && len(view.Lanes[0].Waiting) == 1
	})
	again := p.end(p.begin("early-4", siteSpec(t, "early", "", early)))
	assert.Equal(t, contract.OutcomeCompleted, again.Outcome)
	assert.Equal(t, 1, s.present("object"))
	open()
	for _, run := range runs {
		assert.Equal(t, contract.OutcomeCompleted, p.end(run).Outcome, run.GetID())
	}
	for object, most := range s.crowds() {
		assert.Equal(t, 1, most, object)
	}
	assert.Zero(t, s.outdated(), "fences continued above those of the time before the reset")
}

// TestGroupIsReset: a group that is reset to before its turn waits for the current holder, works again, and
// releases all at its end.
func TestGroupIsReset(t *testing.T) {
	t.Parallel()
	s := newSite()
	p := newInProcess(t, 20, s)
	open := s.hold("x")
	defer open()
	p.begin("reset", siteSpec(t, "reset", "default", at("x")))
	testsuite.WaitFor(t, 20*time.Second, "it works", func() bool { return s.present("x") == 1 })
	next := p.begin("next", siteSpec(t, "next", "default", at("y")))
	p.awaitWaiting("default", 1)
	p.reset("group/reset")
	testsuite.WaitFor(t, 20*time.Second, "the new run works", func() bool { return len(s.order()) == 2 })
	open()
	assert.Equal(t, contract.OutcomeCompleted, p.end(p.client.Temporal().GetWorkflow(t.Context(), "group/reset", "")).Outcome)
	assert.Equal(t, contract.OutcomeCompleted, p.end(next).Outcome)
	assert.ElementsMatch(t, []string{"reset", "reset", "next"}, s.order())
	view := p.admission()
	assert.Empty(t, view.Lanes)
	assert.Zero(t, view.Keys)
}
