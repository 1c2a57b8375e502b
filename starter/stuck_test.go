package starter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/workflows/callopts"
	"github.com/roundsman/roundsman/workflows/run"
)

// serveVersion runs a control plane whose groups first call before and then wait. A version with
// another before cannot continue a group of this one.
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

// A control plane of another version cannot continue a group. This differs from an absent
// control plane and from a group that has just started, and ends with the old version's return.
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

	before := time.Now()
	stop = serveVersion(t, c, "v2.0", other)
	var stuck *starter.StuckWorkflowError
	testsuite.WaitFor(t, time.Minute, "nothing has happened to the group yet, but it cannot be asked", func() bool {
		_, _, err = c.Runs().Items(t.Context(), ref, starter.ItemFilter{})
		return errors.As(err, &stuck) // A busy machine answers late: no control plane.
	})
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
	require.ErrorContains(t, err, "start the version that began it, or a corrected one, in place of all others: it continues by itself; or `temporal workflow terminate --workflow-id "+ref.WorkflowID+"`")
	shown, err := c.Runs().Show(t.Context(), ref)
	require.NoError(t, err, "what the server itself knows is shown")
	assert.Contains(t, shown.Unanswered, "WORKFLOW_STUCK")
	explained, err := explainer.Explain(t.Context(), c, ref.WorkflowID)
	require.NoError(t, err)
	assert.Equal(t, "stuck", explained.State)
	require.Len(t, explained.Reasons, 1)
	reason := explained.Reasons[0]
	assert.Equal(t, []any{contract.CodeWorkflowStuck, ref.WorkflowID}, []any{reason.Code, reason.Object})
	assert.WithinRange(t, reason.Since, before, time.Now())
	assert.Contains(t, reason.Detail, "workflow "+ref.WorkflowID+", which last continued under version v1.0, its workflow task failed")
	assert.Contains(t, reason.Remedy, "temporal workflow terminate --workflow-id "+ref.WorkflowID)
	stop()

	stop = serveVersion(t, c, "v1.0", one)
	defer stop()
	testsuite.WaitFor(t, time.Minute, "the group to continue", answers)
}

// The workflow tasks of a run fail, so it never reads a request. The sender gets the cause and
// the remedy within seconds, also if the request is the first to fail.
func TestARequestThatIsNeverRead(t *testing.T) {
	t.Parallel()
	server, err := testsuite.Launch()
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	c := dialAt(t, server.Address())
	stop := serveVersion(t, c, "v1.0", func(workflow.Context) {})
	refs := map[string]starter.RunRef{}
	requests := map[string]func(starter.RunRef) error{
		"cancel":             func(ref starter.RunRef) error { return c.Runs().Cancel(t.Context(), ref, "") },
		"cancel with reason": func(ref starter.RunRef) error { return c.Runs().Cancel(t.Context(), ref, "the disk is replaced") },
		"pause":              func(ref starter.RunRef) error { return c.Runs().Pause(t.Context(), ref, "") },
		"resume":             func(ref starter.RunRef) error { return c.Runs().Resume(t.Context(), ref) },
		"expire": func(ref starter.RunRef) error {
			return c.Runs().ExpireItem(t.Context(), starter.ItemRef{Run: ref, ID: "job-00001"}, "")
		},
		"cancel of a job": func(ref starter.RunRef) error {
			return c.Runs().CancelItem(t.Context(), starter.ItemRef{Run: ref, ID: "job-00001"}, "")
		},
	}
	for name := range requests {
		refs[name] = start(t, c, "unread-"+strings.ReplaceAll(name, " ", "-"))
	}
	healthy := start(t, c, "unread-healthy")
	for name, ref := range refs {
		testsuite.WaitFor(t, 20*time.Second, name+": the group to answer", func() bool {
			shown, err := c.Runs().Show(t.Context(), ref)
			return err == nil && shown.Group != nil
		})
	}
	require.NoError(t, c.Runs().Pause(t.Context(), healthy, ""), "a run that continues has read it")
	stop()

	defer serveVersion(t, c, "v1.1", func(workflow.Context) { panic("a defect of this version") })()
	var failed errgroup.Group
	for name, request := range requests {
		failed.Go(func() error {
			began := time.Now()
			err := request(refs[name])
			var stuck *starter.StuckWorkflowError
			if !errors.As(err, &stuck) || !strings.Contains(err.Error(), "a defect of this version") ||
				!strings.Contains(err.Error(), "`temporal workflow terminate --workflow-id "+refs[name].WorkflowID+"`") {
				return fmt.Errorf("%s, after %s: %w", name, time.Since(began), err)
			}
			return nil
		})
	}
	require.NoError(t, failed.Wait())

	ref := refs["cancel"]
	explained, err := explainer.Explain(t.Context(), c, ref.WorkflowID)
	require.NoError(t, err)
	assert.Equal(t, "stuck", explained.State)
	require.NoError(t, c.Temporal().TerminateWorkflow(t.Context(), ref.WorkflowID, "", "as the error says"))
	shown, err := c.Runs().Show(t.Context(), ref)
	require.NoError(t, err)
	assert.False(t, shown.Open(), "the command ends it")
}

// TestARunThatCannotReadItsState names the cause, and answers once it has read it. A query waits for a read that takes a moment.
func TestARunThatCannotReadItsState(t *testing.T) {
	t.Parallel()
	server, err := testsuite.Launch()
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	c := dialAt(t, server.Address())
	var lost atomic.Bool
	var refused atomic.Int64
	reading := make(chan struct{})
	w := worker.New(c.Temporal(), standInQueue(t), worker.Options{WorkerStopTimeout: time.Second})
	w.RegisterActivityWithOptions(func(context.Context, contract.PageInput) ([]byte, error) {
		if lost.Load() {
			return nil, errors.New("read page/1: the page is lost")
		}
		<-reading
		return nil, nil
	}, activity.RegisterOptions{Name: contract.ReadPageActivity})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ contract.JobGroupInput) error {
		options := callopts.ControlOptions("")
		options.TaskQueue = workflow.GetInfo(ctx).TaskQueueName
		begun := false
		err := workflow.SetQueryHandler(ctx, contract.QueryStatus, func() (status contract.GroupStatus, err error) {
			if !begun {
				refused.Add(1)
				err = run.ErrNotBegun
			}
			return status, err
		})
		if err != nil {
			return err
		}
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), contract.ReadPageActivity, contract.PageInput{}).Get(ctx, nil)
		begun = true
		return errors.Join(err, workflow.Await(ctx, func() bool { return false }))
	}, workflow.RegisterOptions{Name: contract.JobGroupWorkflow})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)

	slow := start(t, c, "slow")
	testsuite.WaitFor(t, time.Minute, "the read has begun", func() bool {
		described, err := c.Temporal().DescribeWorkflowExecution(t.Context(), slow.WorkflowID, "")
		return err == nil && len(described.GetPendingActivities()) == 1 && described.GetPendingActivities()[0].GetLastStartedTime() != nil
	})
	var asking errgroup.Group
	asking.Go(func() error {
		shown, err := c.Runs().Show(t.Context(), slow)
		if err == nil && shown.Group == nil {
			err = errors.New(shown.Unanswered)
		}
		return err
	})
	testsuite.WaitFor(t, time.Minute, "it is asked meanwhile", func() bool { return refused.Load() > 0 })
	close(reading)
	require.NoError(t, asking.Wait())

	lost.Store(true)
	ref := start(t, c, "unread")
	var shown starter.Snapshot
	testsuite.WaitFor(t, time.Minute, "a read has failed", func() bool {
		shown, err = c.Runs().Show(t.Context(), ref)
		return err == nil && strings.Contains(shown.Unanswered, "its state could not be read")
	})
	assert.Contains(t, shown.Unanswered, "WORKFLOW_STUCK: the control plane cannot continue with workflow "+ref.WorkflowID)
	assert.Contains(t, shown.Unanswered, "the page is lost")
	assert.Contains(t, shown.Unanswered, "reset the workflow run before this one")
	assert.Equal(t, "waiting", shown.Standing.State)
	assert.Contains(t, shown.Standing.Cause, "the page is lost")
	explained, err := explainer.Explain(t.Context(), c, ref.WorkflowID)
	require.NoError(t, err)
	assert.Equal(t, "stuck", explained.State)
	require.Len(t, explained.Reasons, 1)
	assert.Equal(t, contract.CodeWorkflowStuck, explained.Reasons[0].Code)
	assert.Contains(t, explained.Reasons[0].Detail, "the page is lost")
	assert.Contains(t, explained.Reasons[0].Remedy, "it writes the state again")
	var stuck *starter.StuckWorkflowError
	testsuite.WaitFor(t, time.Minute, "a request that is not read", func() bool {
		return errors.As(c.Runs().Cancel(t.Context(), ref, ""), &stuck)
	})

	lost.Store(false)
	testsuite.WaitFor(t, time.Minute, "the run continues", func() bool {
		shown, err = c.Runs().Show(t.Context(), ref)
		return err == nil && shown.Group != nil
	})
}
