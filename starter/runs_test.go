package starter_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
	"github.com/roundsman/roundsman/testsuite"
)

func TestARunFromStartToEnd(t *testing.T) {
	t.Parallel()
	c := dial(t)
	serve(t, c)
	ref := start(t, c, "whole-life")

	var running starter.Snapshot
	require.Eventually(t, func() bool {
		snapshot, err := c.Runs().Show(t.Context(), ref)
		require.NoError(t, err)
		running = snapshot
		return snapshot.Group != nil && len(snapshot.Active) == 1 && snapshot.Active[0].Progress != nil
	}, time.Minute, 50*time.Millisecond)
	assert.True(t, running.Open())
	assert.Equal(t, "whole-life", running.JobType)
	assert.Equal(t, 3, running.Group.Counts.Detected)
	assert.Equal(t, "job-00002", running.Active[0].ID)
	assert.InDelta(t, 40, running.Active[0].Progress.Percent, 0.1)

	jobs, total, err := c.Runs().Items(t.Context(), ref, starter.ItemFilter{Limit: 2})
	require.NoError(t, err)
	assert.Equal(t, 3, total)
	require.Len(t, jobs, 2)
	assert.Nil(t, jobs[0].Active)
	require.NotNil(t, jobs[1].Active, "progress is merged by activity id")
	assert.Equal(t, "hashing", jobs[1].Active.Progress.Stage)

	watched := make(chan []starter.Snapshot, 1)
	go func() {
		var seen []starter.Snapshot
		for snapshot, err := range c.Runs().Watch(t.Context(), ref, time.Hour) {
			assert.NoError(t, err)
			seen = append(seen, snapshot)
			if len(seen) == 1 {
				assert.NoError(t, c.Temporal().SignalWorkflow(t.Context(), ref.WorkflowID, "", finishSignal, nil))
			}
		}
		watched <- seen
	}()
	select {
	case seen := <-watched:
		require.GreaterOrEqual(t, len(seen), 2, "the end is noticed by a long poll, not by the interval of an hour")
		last := seen[len(seen)-1]
		require.NotNil(t, last.Result)
		assert.Equal(t, contract.OutcomeCompleted, last.Outcome)
		assert.False(t, last.Ended.IsZero())
	case <-time.After(2 * time.Minute):
		t.Fatal("the watch did not end with its run")
	}

	closed, _, err := c.Runs().Items(t.Context(), ref, starter.ItemFilter{States: []string{"completed"}})
	require.NoError(t, err, "a closed run still answers")
	assert.Len(t, closed, 1)
	assert.ErrorIs(t, c.Runs().Cancel(t.Context(), ref, ""), starter.ErrAlreadyEnded)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	c := dial(t)
	serve(t, c)

	withReason := start(t, c, "cancel-reason")
	require.NoError(t, c.Runs().CancelItem(t.Context(), starter.ItemRef{Run: withReason, ID: "job-00003"}, "not this one"))
	require.Eventually(t, func() bool {
		job, err := c.Runs().Item(t.Context(), starter.ItemRef{Run: withReason, ID: "job-00003"})
		return err == nil && job.State == "canceled" && job.Error == "not this one"
	}, time.Minute, 50*time.Millisecond)
	require.ErrorIs(t, c.Runs().CancelItem(t.Context(), starter.ItemRef{Run: withReason, ID: "job-00003"}, ""), starter.ErrAlreadyEnded)
	require.ErrorIs(t, c.Runs().CancelItem(t.Context(), starter.ItemRef{Run: withReason, ID: "job-00099"}, ""), starter.ErrNotFound)
	require.NoError(t, c.Runs().Cancel(t.Context(), withReason, "disk is being replaced"))
	result, err := c.Runs().Result(t.Context(), withReason)
	require.NoError(t, err)
	assert.Equal(t, contract.OutcomeCanceled, result.Outcome)
	assert.Equal(t, "disk is being replaced", result.Reason)

	plain := start(t, c, "cancel-plain")
	require.NoError(t, c.Runs().Cancel(t.Context(), plain, ""))
	result, err = c.Runs().Result(t.Context(), plain)
	require.NoError(t, err, "a canceled group leaves its result as the details of the cancellation")
	assert.Equal(t, contract.OutcomeCanceled, result.Outcome)
}

func TestTerminatedRunLeavesNoResult(t *testing.T) {
	t.Parallel()
	c := dial(t)
	serve(t, c)
	ref := start(t, c, "terminated")
	require.NoError(t, c.Temporal().TerminateWorkflow(t.Context(), ref.WorkflowID, "", "by a test"))
	snapshot, err := c.Runs().Show(t.Context(), ref)
	require.NoError(t, err)
	assert.Equal(t, starter.RunStatus("Terminated"), snapshot.Status)
	assert.Nil(t, snapshot.Result)
	assert.Contains(t, snapshot.Failure, "terminated")
	_, err = c.Runs().Result(t.Context(), ref)
	var failed *starter.RunFailedError
	require.ErrorAs(t, err, &failed)
}

func TestListOfRuns(t *testing.T) {
	t.Parallel()
	c := dial(t)
	serve(t, c)
	ref := start(t, c, "listed")
	testsuite.WaitFor(t, 20*time.Second, "visibility shows the run", func() bool {
		runs, err := c.Runs().List(t.Context(), starter.RunFilter{JobType: "listed", Running: true})
		return err == nil && len(runs) == 1 && runs[0].WorkflowID == ref.WorkflowID && runs[0].Open()
	})
	runs, err := c.Runs().List(t.Context(), starter.RunFilter{JobType: "listed", Outcomes: []contract.Outcome{contract.OutcomeFailed}})
	require.NoError(t, err)
	assert.Empty(t, runs)
	require.NoError(t, c.Temporal().SignalWorkflow(t.Context(), ref.WorkflowID, "", finishSignal, nil))
	testsuite.WaitFor(t, 20*time.Second, "visibility shows that it completed, without an attribute that says so", func() bool {
		runs, err = c.Runs().List(t.Context(), starter.RunFilter{JobType: "listed", Outcomes: []contract.Outcome{contract.OutcomeFailed, contract.OutcomeCompleted}})
		return err == nil && len(runs) == 1 && runs[0].Outcome == contract.OutcomeCompleted
	})
	runs, err = c.Runs().List(t.Context(), starter.RunFilter{JobType: "listed", Outcomes: []contract.Outcome{contract.OutcomePartial}})
	require.NoError(t, err)
	assert.Empty(t, runs)
	runs, err = c.Runs().List(t.Context(), starter.RunFilter{JobType: "listed", Limit: -3})
	require.NoError(t, err)
	assert.Len(t, runs, 1, "a negative limit is the default")
	_, err = c.Runs().List(t.Context(), starter.RunFilter{JobType: "x' OR '1'='1"})
	require.ErrorContains(t, err, "must start with a-z")
}

// TestAShortRunIsListedBeforeOldOpenOnes, also if these fill a page of visibility.
func TestAShortRunIsListedBeforeOldOpenOnes(t *testing.T) {
	t.Parallel()
	c := dial(t)
	begin := func(name string) string {
		id := contract.DAGWorkflowID("crowded", name)
		_, err := c.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}, contract.DAGWorkflow)
		require.NoError(t, err)
		return id
	}
	for i := range 15 {
		begin(fmt.Sprint("old-", i))
	}
	short := begin("short")
	require.NoError(t, c.Temporal().TerminateWorkflow(t.Context(), short, "", "it is over"))
	testsuite.WaitFor(t, 20*time.Second, "visibility shows all runs", func() bool {
		runs, err := c.Runs().List(t.Context(), starter.RunFilter{DAG: "crowded", Limit: 100})
		return err == nil && len(runs) == 16 && !runs[0].Open()
	})
	runs, err := c.Runs().List(t.Context(), starter.RunFilter{DAG: "crowded", Limit: 1})
	require.NoError(t, err)
	require.Len(t, runs, 1)
	assert.Equal(t, short, runs[0].WorkflowID)
}

// TestListOfRunsWithDAGsOfJobs: the runs of a job type's DAGs are its runs, too, and those of other job types are not.
func TestListOfRunsWithDAGsOfJobs(t *testing.T) {
	t.Parallel()
	c := dial(t)
	const tick = "-2026-11-20T09:00:00Z"
	own := []string{
		"group/dags" + tick, "group/dags" + tick + "/job-00001", "group/dags" + tick + "/job-00001/inner",
		"group/dags-adhoc-ticket-1/job-00002",
	}
	others := []string{"group/dags-up" + tick, "group/dags-up" + tick + "/job-00001", "group/dags-adhoc" + tick + "/job-00001", "dag/dags/1", "dag/dags/1/inner"}
	for _, id := range slices.Concat(own, others) {
		kind, options := contract.DAGWorkflow, client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}
		if !strings.Contains(id, "/job-") && strings.HasPrefix(id, "group/") {
			kind = contract.JobGroupWorkflow
			options.TypedSearchAttributes = temporal.NewSearchAttributes(
				temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeJobType).ValueSet(starter.JobTypeOfRun(id)))
		}
		_, err := c.Temporal().ExecuteWorkflow(t.Context(), options, kind)
		require.NoError(t, err)
	}
	list := func(filter starter.RunFilter) (ids []string) {
		runs, err := c.Runs().List(t.Context(), filter)
		require.NoError(t, err)
		for _, run := range runs {
			ids = append(ids, run.WorkflowID)
		}
		return ids
	}
	testsuite.WaitFor(t, 20*time.Second, "visibility shows all runs", func() bool {
		shown := list(starter.RunFilter{SubDAGs: true, Limit: starter.All})
		return !slices.ContainsFunc(slices.Concat(own, others), func(id string) bool { return !slices.Contains(shown, id) })
	})
	assert.ElementsMatch(t, own, list(starter.RunFilter{JobType: "dags", SubDAGs: true, Limit: 100}))
	assert.ElementsMatch(t, own[:1], list(starter.RunFilter{JobType: "dags", Limit: 100}))
	assert.ElementsMatch(t, own[:1], list(starter.RunFilter{JobType: "dags", SubDAGs: true, Kind: starter.KindGroup, Limit: 100}))
	assert.ElementsMatch(t, []string{others[3], others[4]}, list(starter.RunFilter{DAG: "dags", SubDAGs: true, Limit: 100}))
}

func TestControlPlaneDown(t *testing.T) {
	t.Parallel()
	c := dialAt(t, testsuite.StartServer(t).Address())
	stop := serve(t, c)
	ref := start(t, c, "orphaned")
	require.Eventually(t, func() bool {
		snapshot, err := c.Runs().Show(t.Context(), ref)
		return err == nil && snapshot.Group != nil
	}, time.Minute, 50*time.Millisecond)
	stop()

	snapshot, err := c.Runs().Show(t.Context(), ref)
	require.NoError(t, err, "what the server itself knows is shown")
	assert.Nil(t, snapshot.Group)
	assert.Contains(t, snapshot.Unanswered, "CONTROL_PLANE_DOWN")

	var down *starter.ControlPlaneDownError
	_, _, err = c.Runs().Items(t.Context(), ref, starter.ItemFilter{})
	require.ErrorAs(t, err, &down)
	assert.ErrorContains(t, err, "roundsman server")
	err = c.Runs().CancelItem(t.Context(), starter.ItemRef{Run: ref, ID: "job-00003"}, "")
	require.ErrorAs(t, err, &down)
	assert.ErrorContains(t, err, "it may still take effect once one runs")
	_, err = c.Workers().List(t.Context(), contract.WorkersQueryInput{})
	require.ErrorAs(t, err, &down)
	assert.NotContains(t, err.Error(), "may still take effect", "a question leaves nothing behind")
}

func TestResolveRun(t *testing.T) {
	t.Parallel()
	c := dial(t)
	serve(t, c)
	ref := start(t, c, "resolved")
	for _, written := range []string{ref.WorkflowID, "resolved-2026-11-20T09:00:00Z"} {
		found, err := refs.Of(c).Run(t.Context(), written)
		require.NoError(t, err)
		assert.Equal(t, ref.WorkflowID, found.WorkflowID)
	}
	testsuite.WaitFor(t, 20*time.Second, "a run is found whose Schedule is gone", func() bool {
		found, err := refs.Of(c).Run(t.Context(), "resolved")
		return err == nil && found.WorkflowID == ref.WorkflowID
	})
	_, err := refs.Of(c).Run(t.Context(), "no-such-thing")
	require.ErrorIs(t, err, starter.ErrNotFound)
	assert.ErrorContains(t, err, "job type no-such-thing does not exist")
}

// A job type that ran only ad hoc has a newest run; a run of its Schedule comes first.
func TestANameFindsSubmittedJobs(t *testing.T) {
	t.Parallel()
	c := dial(t)
	const name = "by-hand"
	adHoc, err := c.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: contract.AdHocWorkflowID(name, "ticket-1"), TaskQueue: standInQueue(t),
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeJobType).ValueSet(name)),
	}, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: contract.JobTypeSpec{Name: name}})
	require.NoError(t, err)
	means := func(want string) {
		t.Helper()
		testsuite.WaitFor(t, time.Minute, name+" means "+want, func() bool {
			found, err := refs.Of(c).Run(t.Context(), name)
			return err == nil && found.WorkflowID == want
		})
	}
	means(adHoc.GetID())
	means(start(t, c, name).WorkflowID)
}

// A run that continued as new twice started with its first workflow run.
func TestARunStartsOnce(t *testing.T) {
	t.Parallel()
	c := dial(t)
	const name = "chain"
	w := worker.New(c.Temporal(), standInQueue(t), worker.Options{WorkerStopTimeout: time.Second})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, links int) error {
		if links == 0 {
			return workflow.Await(ctx, func() bool { return false })
		}
		return workflow.NewContinueAsNewError(ctx, contract.JobGroupWorkflow, links-1)
	}, workflow.RegisterOptions{Name: contract.JobGroupWorkflow})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	first, err := c.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: contract.GroupWorkflowID(name) + "-2026-11-20T09:00:00Z", TaskQueue: standInQueue(t),
	}, contract.JobGroupWorkflow, 2)
	require.NoError(t, err)
	begun, err := c.Temporal().DescribeWorkflowExecution(t.Context(), first.GetID(), first.GetRunID())
	require.NoError(t, err)
	var last starter.Snapshot
	testsuite.WaitFor(t, time.Minute, "the third workflow run", func() bool {
		last, err = c.Runs().Describe(t.Context(), starter.RunRef{WorkflowID: first.GetID()})
		require.NoError(t, err)
		previous, err := c.Temporal().DescribeWorkflowExecution(t.Context(), first.GetID(), last.RunID)
		require.NoError(t, err)
		return last.RunID != first.GetRunID() && previous.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	assert.Equal(t, begun.GetWorkflowExecutionInfo().GetStartTime().AsTime(), last.Started)
}

// The kinds of runs have results of their own; a caller that mixes them up gets an error.
func TestAResultOfTheOtherKindIsRefused(t *testing.T) {
	t.Parallel()
	c, queue := dial(t), standInQueue(t)
	w := worker.New(c.Temporal(), queue, worker.Options{})
	w.RegisterWorkflowWithOptions(func(workflow.Context) (contract.DAGResult, error) {
		return contract.DAGResult{Outcome: contract.OutcomeCompleted}, nil
	}, workflow.RegisterOptions{Name: contract.DAGWorkflow})
	w.RegisterWorkflowWithOptions(func(workflow.Context) (contract.JobGroupResult, error) {
		return contract.JobGroupResult{Outcome: contract.OutcomeCompleted}, nil
	}, workflow.RegisterOptions{Name: contract.JobGroupWorkflow})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	for id, name := range map[string]string{"dag/kinds/first": contract.DAGWorkflow, "group/kinds-first": contract.JobGroupWorkflow} {
		_, err := c.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: queue}, name)
		require.NoError(t, err)
	}
	ctx, cancel := testsuite.Within(t, time.Minute)
	defer cancel()
	_, err := c.Runs().Result(ctx, starter.RunRef{WorkflowID: "dag/kinds/first"})
	require.ErrorContains(t, err, "run dag/kinds/first is a DAG run: use DAGs.Await")
	_, err = c.DAGs().Await(ctx, starter.RunRef{WorkflowID: "group/kinds-first"})
	require.ErrorContains(t, err, "run group/kinds-first is not a DAG run")
	_, err = c.Runs().Await(ctx, starter.RunRef{})
	require.Error(t, err)
	require.NoError(t, ctx.Err(), "a reference without an id can never be found, so there is nothing to wait for")
}
