package starter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/testsuite"
)

// serveVersion runs a control plane whose groups wait, after what before does. A
// version that does another thing before cannot continue with a group of this one.
func serveVersion(t *testing.T, c *starter.Client, version string, before func(workflow.Context)) (stop func()) {
	t.Helper()
	w := worker.New(c.Temporal(), standInQueue(t), worker.Options{
		WorkerStopTimeout: time.Second, BuildID: version, //nolint:staticcheck // as a control plane does it, see workers.ControlOptions.Version
	})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ contract.JobGroupInput) error {
		err := workflow.SetQueryHandler(ctx, contract.QueryStatus, func() (contract.GroupStatus, error) { return contract.GroupStatus{Phase: "executing"}, nil })
		if err != nil {
			return err
		}
		before(ctx)
		return workflow.Await(ctx, func() bool { return workflow.GetSignalChannel(ctx, finishSignal).Len() > 0 })
	}, workflow.RegisterOptions{Name: contract.JobGroupWorkflow})
	require.NoError(t, w.Start())
	return w.Stop
}

// TestStuckWorkflow: a control plane of another version cannot continue with a group.
// That is neither one that is down nor a group that has just been started, and it
// is over as soon as one of the old version is back.
func TestStuckWorkflow(t *testing.T) {
	t.Parallel()
	server, err := testsuite.Launch()
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	c := dialAt(t, server.Address())
	one := func(ctx workflow.Context) { workflow.NewTimer(ctx, time.Hour) }
	other := func(ctx workflow.Context) {
		workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: "nobody", StartToCloseTimeout: time.Hour}), "none")
	}
	stop := serveVersion(t, c, "v1.0", one)
	ref := start(t, c, "stuck")
	answers := func() bool {
		shown, err := c.Runs().Show(t.Context(), ref)
		return err == nil && shown.Group != nil
	}
	testsuite.WaitFor(t, 20*time.Second, "the group to answer", answers)
	stop()

	stop = serveVersion(t, c, "v2.0", other)
	var stuck *starter.StuckWorkflowError
	_, _, err = c.Runs().Items(t.Context(), ref, starter.ItemFilter{})
	require.ErrorAs(t, err, &stuck, "nothing has happened to the group yet, but it cannot be asked")
	assert.Zero(t, stuck.Times)
	assert.Equal(t, "v1.0", stuck.Version)

	require.NoError(t, c.Temporal().SignalWorkflow(t.Context(), ref.WorkflowID, "", "anything", nil))
	testsuite.WaitFor(t, time.Minute, "the workflow task to have failed several times", func() bool {
		_, _, err = c.Runs().Items(t.Context(), ref, starter.ItemFilter{})
		require.ErrorAs(t, err, &stuck)
		return stuck.Times > 1
	})
	assert.Contains(t, stuck.Message, "a matching Timer command was expected")
	assert.Equal(t, "v1.0", stuck.Version, "that which can continue with it")
	require.ErrorContains(t, err, "start `roundsman server` in the version that began it")
	shown, err := c.Runs().Show(t.Context(), ref)
	require.NoError(t, err, "what the server itself knows is shown")
	assert.Contains(t, shown.Unanswered, "WORKFLOW_STUCK")
	explained, err := explainer.Explain(t.Context(), c, ref.WorkflowID)
	require.NoError(t, err)
	assert.Equal(t, "stuck", explained.State)
	require.Len(t, explained.Reasons, 1)
	reason := explained.Reasons[0]
	assert.Equal(t, []any{explain.WorkflowStuck, ref.WorkflowID}, []any{reason.Code, reason.Object})
	assert.WithinDuration(t, time.Now(), reason.Since, time.Minute)
	assert.Contains(t, reason.Detail, "workflow "+ref.WorkflowID+", which last continued under version v1.0, its workflow task failed")
	assert.Contains(t, reason.Remedy, "temporal workflow terminate --workflow-id "+ref.WorkflowID)
	stop()

	stop = serveVersion(t, c, "v1.0", one)
	defer stop()
	testsuite.WaitFor(t, time.Minute, "the group to continue", answers)
}
