package dagrun_test

import (
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
)

const (
	groupID = "group/gated-1"
	childID = groupID + "/job-00001"
)

// laneBench is a run of a DAG below a group that is played by the test: it takes the reports, and
// grants nothing by itself.
type laneBench struct {
	*dagBench

	// ends: the group ends when its run has begun, as a terminated one does.
	ends    bool
	reports []contract.LaneReport
}

// group is the workflow of the group.
func (b *laneBench) group(ctx workflow.Context, in contract.DAGInput, encoded []byte) error {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: childID, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_ABANDON})
	child := workflow.ExecuteChildWorkflow(ctx, contract.DAGWorkflow, in, encoded, []byte(nil))
	if err := child.GetChildWorkflowExecution().Get(ctx, nil); err != nil || b.ends {
		return err
	}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var report contract.LaneReport
			workflow.GetSignalChannel(ctx, contract.SignalLaneReport).Receive(ctx, &report)
			b.reports = append(b.reports, report)
		}
	})
	return child.Get(ctx, nil)
}

// play executes a DAG for five hours.
func (b *laneBench) play(text string, files map[string]string) {
	b.t.Helper()
	inner := fstest.MapFS{}
	for name, text := range files {
		inner[name] = &fstest.MapFile{Data: []byte(text)}
	}
	loaded, err := spec.Load("dag.yaml", []byte(text))
	require.NoError(b.t, err)
	compiled, err := spec.Compile(loaded, inner)
	require.NoError(b.t, err)
	b.RegisterWorkflowWithOptions(b.group, workflow.RegisterOptions{Name: "group"})
	b.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: groupID})
		in := contract.DAGInput{Name: compiled.Header.Name, Lane: &contract.DAGLane{Lane: "night", JobID: "job-00001", Attempt: 1}}
		if err := workflow.ExecuteChildWorkflow(ctx, "group", in, compiled.Graph.Encode()).Get(ctx, nil); err != nil {
			return err
		}
		return workflow.Sleep(ctx, 5*time.Hour)
	}, workflow.RegisterOptions{Name: "root"})
	b.ExecuteWorkflow("root")
	require.True(b.t, b.IsWorkflowCompleted())
	require.NoError(b.t, b.GetWorkflowError())
}

func (b *laneBench) approve(id, task string) {
	callbacks := &sdktest.TestUpdateCallback{
		OnAccept: func() {}, OnReject: func(err error) { assert.NoError(b.t, err) }, OnComplete: func(_ any, err error) { assert.NoError(b.t, err) },
	}
	assert.NoError(b.t, b.UpdateWorkflowByID(id, contract.UpdateApprove, "approve-"+task, callbacks, contract.DecideTaskInput{Task: task}))
}

func (b *laneBench) status(id string) (status contract.DAGStatus) {
	answer, err := b.QueryWorkflowByID(id, contract.QueryStatus)
	if assert.NoError(b.t, err) {
		assert.NoError(b.t, answer.Get(&status))
	}
	return status
}

// TestARunWhoseGroupHasEndedNeedsNoLane: its request reaches no one, and its next task runs.
func TestARunWhoseGroupHasEndedNeedsNoLane(t *testing.T) {
	t.Parallel()
	b := &laneBench{dagBench: newDAGBench(t), ends: true}
	b.RegisterDelayedCallback(func() { b.approve(childID, "gate") }, time.Hour)
	var after contract.DAGStatus
	b.RegisterDelayedCallback(func() { after = b.status(childID) }, 2*time.Hour)
	b.play("version: 1\nname: gated\ndeadline: 3h\ntasks:\n  - {id: gate, approval: {}}\n  - {id: behind, needs: [gate], noop: true}\n", nil)
	assert.Equal(t, map[string]int{"completed": 2}, after.Counts)
}

// TestAnApprovalInASubDAGGivesTheLaneBack: the group has the reports of the run, and the task behind the
// approval waits for the group's grant.
func TestAnApprovalInASubDAGGivesTheLaneBack(t *testing.T) {
	t.Parallel()
	b := &laneBench{dagBench: newDAGBench(t)}
	const deep = childID + "/middle/deep"
	b.RegisterDelayedCallback(func() {
		assert.Equal(t, []contract.LaneReport{{JobID: "job-00001", Attempt: 1, Seq: 1}}, b.reports)
		b.approve(deep, "gate")
	}, time.Hour)
	b.RegisterDelayedCallback(func() {
		assert.Equal(t, contract.LaneReport{JobID: "job-00001", Attempt: 1, Seq: 2, Wants: true}, b.reports[len(b.reports)-1])
		waiting := b.status(deep)
		assert.Equal(t, 1, waiting.Counts["completed"], "no task begins without the lane")
		assert.NoError(t, b.SignalWorkflowByID(childID, contract.SignalLaneGrant, contract.LaneGrant{Attempt: 1, Seq: 2}))
	}, 2*time.Hour)
	b.play("version: 1\nname: outer\ntasks:\n  - {id: middle, dag: middle.yaml}\n  - {id: last, needs: [middle], noop: true}\n", map[string]string{
		"middle.yaml": "version: 1\nname: middle\ntasks:\n  - {id: deep, dag: deep.yaml}\n",
		"deep.yaml":   "version: 1\nname: deep\ntasks:\n  - {id: gate, approval: {}}\n  - {id: behind, needs: [gate], noop: true}\n",
	})
	assert.Len(t, b.reports, 2, "the lane stays from then on")
}
