package starter_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// launched is one server for all tests of the package; it ends with the test process. Tests use
// their own job types and queues.
var launched = sync.OnceValues(func() (*testsuite.Server, error) { return testsuite.Launch() })

// dial connects to the shared server.
func dial(t *testing.T) *starter.Client {
	t.Helper()
	server, err := launched()
	require.NoError(t, err)
	return dialAt(t, server.Address())
}

func dialAt(t *testing.T, address string) *starter.Client {
	t.Helper()
	client, err := starter.Dial(t.Context(), starter.Options{Address: address, HeartbeatInterval: -1})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// The stand-in group follows the contract of a group: three jobs; the second reports progress
// until the signal `finish` or a cancellation.
const finishSignal = "finish"

// standInQueue is the test's own, so that another test's control plane does not take its tasks.
func standInQueue(t *testing.T) string { return "starter-test/" + t.Name() }

type standIn struct{ canceled []contract.CancelItemInput }

func standInGroup(ctx workflow.Context, in contract.JobGroupInput) (contract.JobGroupResult, error) {
	g := &standIn{}
	states := []string{"completed", "running", "pending"}
	err := workflow.SetQueryHandler(ctx, contract.QueryStatus, func() (contract.GroupStatus, error) {
		return contract.GroupStatus{
			JobType: in.Spec.Name, Phase: "executing", Running: 1, Pending: 1,
			Counts: contract.GroupCounts{Detected: 3, Accepted: 3, Completed: 1},
		}, nil
	})
	if err != nil {
		return contract.JobGroupResult{}, err
	}
	err = workflow.SetQueryHandler(ctx, contract.QueryJobs, func(query contract.JobsQueryInput) (contract.JobsQueryResult, error) {
		return g.jobs(states, query), nil
	})
	if err != nil {
		return contract.JobGroupResult{}, err
	}
	running := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ActivityID: "job-00002", TaskQueue: workflow.GetInfo(ctx).TaskQueueName, StartToCloseTimeout: time.Minute,
		HeartbeatTimeout: 30 * time.Second, WaitForCancellation: true, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	}), contract.ExecuteActivity)
	ended := record.NewBook()
	for i, state := range []string{"completed", "canceled", "canceled"} {
		ended.Add(record.Job{N: i + 1, State: state, Summary: fmt.Sprintf("file %d", i+1)})
	}
	result := contract.JobGroupResult{JobType: in.Spec.Name, Outcome: contract.OutcomeCompleted, DryRun: in.DryRun, Items: &contract.ItemRecord{Rest: ended.Rest()}}
	group := workflow.GetSignalChannel(ctx, contract.SignalCancelRun)
	if err := workflow.SetUpdateHandlerWithOptions(ctx, contract.UpdateCancelItem, g.cancel, workflow.UpdateHandlerOptions{Validator: g.checkCancel}); err != nil {
		return contract.JobGroupResult{}, err
	}
	finish, done := workflow.GetSignalChannel(ctx, finishSignal), false
	for !done {
		selector := workflow.NewSelector(ctx)
		selector.AddReceive(finish, func(c workflow.ReceiveChannel, _ bool) { c.Receive(ctx, nil); done = true })
		selector.AddReceive(group, func(c workflow.ReceiveChannel, _ bool) {
			var why contract.CancelRunInput
			c.Receive(ctx, &why)
			result.Outcome, result.Reason, done = contract.OutcomeCanceled, why.Reason, true
		})
		selector.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { done = true })
		selector.Select(ctx)
	}
	if ctx.Err() != nil {
		_ = running.Get(ctx, nil)
		result.Outcome = contract.OutcomeCanceled
		return result, temporal.NewCanceledError(result)
	}
	return result, nil
}

func (g *standIn) checkCancel(in contract.CancelItemInput) error {
	code := contract.Code("")
	if n, _ := contract.JobNumber(in.Item); n > 3 {
		code = contract.CodeUnknownItem
	} else if slices.ContainsFunc(g.canceled, func(c contract.CancelItemInput) bool { return c.Item == in.Item }) {
		code = contract.CodeAlreadyEnded
	}
	if code == "" {
		return nil
	}
	return contract.RefuseItem(contract.ItemRefusal{Code: code, Item: in.Item}, "refused")
}

func (g *standIn) cancel(_ workflow.Context, in contract.CancelItemInput) (contract.CancelItemResult, error) {
	g.canceled = append(g.canceled, in)
	return contract.CancelItemResult{State: "pending"}, nil
}

func (g *standIn) jobs(states []string, query contract.JobsQueryInput) contract.JobsQueryResult {
	var answer contract.JobsQueryResult
	for i, state := range states {
		view := contract.JobView{JobID: contract.JobID(i + 1), State: state, Summary: fmt.Sprintf("file %d", i+1)}
		if slices.ContainsFunc(g.canceled, func(c contract.CancelItemInput) bool { return c.Item == view.JobID }) {
			view.State, view.Error = "canceled", g.canceled[0].Reason
		}
		matches := (query.JobID == "" || query.JobID == view.JobID) && (len(query.States) == 0 || slices.Contains(query.States, view.State))
		if matches {
			answer.Total++
			if answer.Total > query.Offset && len(answer.Jobs) < query.Limit {
				answer.Jobs = append(answer.Jobs, view)
			}
		}
	}
	return answer
}

// serve runs a control plane with the stand-in on its own queue and returns its stop function.
func serve(t *testing.T, c *starter.Client) (stop func()) {
	t.Helper()
	w := worker.New(c.Temporal(), standInQueue(t), worker.Options{WorkerStopTimeout: time.Second})
	w.RegisterWorkflowWithOptions(standInGroup, workflow.RegisterOptions{Name: contract.JobGroupWorkflow})
	w.RegisterActivityWithOptions(func(ctx context.Context) error {
		activity.RecordHeartbeat(ctx, contract.Heartbeat{Percent: 40, Stage: "hashing", Message: "4 of 10", Worker: "node-a"})
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-activity.GetWorkerStopChannel(ctx):
				return nil
			case <-tick.C:
				activity.RecordHeartbeat(ctx, contract.Heartbeat{Percent: 40, Stage: "hashing", Message: "4 of 10", Worker: "node-a"})
			}
		}
	}, activity.RegisterOptions{Name: contract.ExecuteActivity})
	require.NoError(t, w.Start())
	stop = sync.OnceFunc(w.Stop)
	t.Cleanup(stop)
	return stop
}

// start starts a stand-in group as a Schedule would.
func start(t *testing.T, c *starter.Client, jobType string) starter.RunRef {
	t.Helper()
	run, err := c.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: contract.GroupWorkflowID(jobType) + "-2026-11-20T09:00:00Z", TaskQueue: standInQueue(t),
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeJobType).ValueSet(jobType)),
	}, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: contract.JobTypeSpec{Name: jobType}})
	require.NoError(t, err)
	return starter.RunRef{WorkflowID: run.GetID()}
}
