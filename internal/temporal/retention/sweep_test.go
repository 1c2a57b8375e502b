package retention_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/doctor"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/internal/temporal/retention"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

const (
	queue  = "retention-test"
	finish = "finish"
	within = 3 * time.Minute
)

// plan configures a stand-in for a run.
type plan struct {
	Renew, Child, Wait bool
}

// standIn is a workflow with the attributes that a sweep reads.
func standIn(ctx workflow.Context, p plan) error {
	if p.Renew {
		return workflow.NewContinueAsNewError(ctx, workflow.GetInfo(ctx).WorkflowType.Name, plan{Wait: true})
	}
	if p.Child {
		ctx := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{WorkflowID: workflow.GetInfo(ctx).WorkflowExecution.ID + "/sub"})
		if err := workflow.ExecuteChildWorkflow(ctx, contract.DAGWorkflow, plan{}).Get(ctx, nil); err != nil {
			return err
		}
	}
	if p.Wait {
		workflow.GetSignalChannel(ctx, finish).Receive(ctx, nil)
	}
	return nil
}

// world is a server with stand-ins.
type world struct {
	*testing.T
	client *starter.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	// By default a deletion waits up to a minute for queues to acknowledge, and visibility allows
	// ten queries per second.
	server := testsuite.StartServer(t, testsuite.WithArgs(
		"--dynamic-config-value", "frontend.namespaceRPS.visibility=1000",
		"--dynamic-config-value", "history.transferProcessorEnsureCloseBeforeDelete=false",
		"--dynamic-config-value", "history.visibilityProcessorEnsureCloseBeforeDelete=false"))
	dialed, err := starter.Dial(t.Context(), starter.Options{Address: server.Address(), HeartbeatInterval: -1})
	require.NoError(t, err)
	t.Cleanup(dialed.Close)
	w := worker.New(dialed.Temporal(), queue, worker.Options{})
	for _, name := range []string{contract.JobGroupWorkflow, contract.DAGWorkflow, contract.AuditWorkflow} {
		w.RegisterWorkflowWithOptions(standIn, workflow.RegisterOptions{Name: name})
	}
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return &world{t, dialed}
}

func (w *world) start(id, kind string, p plan) client.WorkflowRun {
	w.Helper()
	run, err := w.client.Temporal().ExecuteWorkflow(w.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: queue}, kind, p)
	require.NoError(w, err)
	return run
}

func (w *world) end(id string) {
	w.Helper()
	require.NoError(w, w.client.Temporal().SignalWorkflow(w.Context(), id, "", finish, nil))
	require.NoError(w, w.client.Temporal().GetWorkflow(w.Context(), id, "").Get(w.Context(), nil))
}

// listed returns the number of runs in visibility for a query.
func (w *world) listed(query string) (count int) {
	w.Helper()
	testsuite.WaitFor(w, within, "visibility answers", func() bool {
		counted, err := w.client.Temporal().CountWorkflow(w.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: w.client.Namespace(), Query: query})
		count = int(counted.GetCount())
		return answered(w, err)
	})
	return count
}

// answered reports whether the server did not refuse a call because of its rate limit.
func answered(t require.TestingT, err error) bool {
	if _, busy := errors.AsType[*serviceerror.ResourceExhausted](err); busy {
		return false
	}
	require.NoError(t, err)
	return true
}

func (w *world) has(id string) int { return w.listed("WorkflowId = '" + id + "'") }

// page stores a page of a run, and closes it as the keeper does.
func (w *world) page(run string) (id string) {
	w.Helper()
	store := pages.NewStore(w.client.Temporal(), w.client.Namespace(), starter.DataConverter())
	name, err := store.Put(w.Context(), run, []byte("proposals of "+run))
	require.NoError(w, err)
	require.NoError(w, store.Close(w.Context(), run, []string{name}))
	return contract.PageWorkflowID(run, name)
}

// TestPagesStayAsLongAsTheirRun: a run that its Schedule lists keeps its proposals and its record.
func TestPagesStayAsLongAsTheirRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, doctor.EnsureSearchAttributes(t.Context(), w.client))
	require.NoError(t, w.start("group/a", contract.JobGroupWorkflow, plan{}).Get(t.Context(), nil))
	w.start("group/open", contract.JobGroupWorkflow, plan{Wait: true})
	nightly := w.nightly()
	kept, open, left, orphan := w.page(nightly), w.page("group/open"), w.page("group/a"), w.page("group/never")
	old := time.Now().Add(3 * time.Hour)
	testsuite.WaitFor(t, within, "visibility knows all", func() bool { return w.listed(retention.Query(old)) == 6 })
	sweeper := w.sweeper(time.Nanosecond)
	testsuite.WaitFor(t, within, "one run and its page are deleted", func() bool {
		_, err := sweeper.Sweep(t.Context(), old)
		return answered(t, err) && w.has("group/a")+w.has(left)+w.has(orphan) == 0
	})
	assert.Equal(t, 1, w.has(nightly))
	assert.Equal(t, 1, w.has(kept), "its run stays")
	assert.Equal(t, 1, w.has(open), "its run is open")
}

func (w *world) sweeper(pause time.Duration) *retention.Sweeper {
	return retention.New(retention.Options{
		Client: w.client.Temporal(), Namespace: w.client.Namespace(), After: time.Hour, Pause: pause, Logger: testsuite.Quiet(),
	})
}

// nightly starts a run from a Schedule, which then lists it.
func (w *world) nightly() (id string) {
	w.Helper()
	jobType := temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeJobType)
	schedule, err := w.client.Temporal().ScheduleClient().Create(w.Context(), client.ScheduleOptions{
		ID: contract.ScheduleID("nightly"), TriggerImmediately: true,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: 1000 * time.Hour}}},
		Action: &client.ScheduleWorkflowAction{
			ID: contract.GroupWorkflowID("nightly"), Workflow: contract.JobGroupWorkflow, TaskQueue: queue, Args: []any{plan{}},
			TypedSearchAttributes: temporal.NewSearchAttributes(jobType.ValueSet("nightly")),
		},
	})
	require.NoError(w, err)
	testsuite.WaitFor(w, within, "the schedule has started its run", func() bool {
		described, err := schedule.Describe(w.Context())
		if err != nil || len(described.Info.RecentActions) == 0 {
			return false
		}
		id = described.Info.RecentActions[0].StartWorkflowResult.WorkflowID
		return true
	})
	return id
}

// Unneeded runs are deleted and no others, although control planes are killed in between.
func TestOldRunsAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, doctor.EnsureSearchAttributes(t.Context(), w.client))
	const open = contract.QueryOpen
	for _, id := range []string{"group/a", "group/b", "group/c"} {
		require.NoError(t, w.start(id, contract.JobGroupWorkflow, plan{}).Get(t.Context(), nil))
	}
	require.NoError(t, w.start("dag/a/1", contract.DAGWorkflow, plan{}).Get(t.Context(), nil))
	require.NoError(t, w.start("audit-like", contract.AuditWorkflow, plan{}).Get(t.Context(), nil))
	w.start("group/open", contract.JobGroupWorkflow, plan{Wait: true})
	w.start("dag/renewed/1", contract.DAGWorkflow, plan{Renew: true})
	w.start("dag/parent/1", contract.DAGWorkflow, plan{Child: true, Wait: true})
	nightly := w.nightly()
	old := time.Now().Add(3 * time.Hour) // Seen from there, all ended runs are old.
	testsuite.WaitFor(t, within, "visibility knows all", func() bool {
		return w.listed(open) >= 3 && w.listed(retention.Query(old)) == 7 && w.listed("WorkflowId = 'audit-like' AND CloseTime IS NOT NULL") == 1
	})

	swept, err := w.sweeper(time.Nanosecond).Sweep(t.Context(), time.Now())
	require.NoError(t, err)
	assert.Equal(t, retention.Swept{}, swept, "nothing is old yet")

	killed, kill := context.WithCancel(t.Context())
	go func() {
		_, err := w.sweeper(time.Hour).Sweep(killed, old)
		assert.Error(t, err)
	}()
	testsuite.WaitFor(t, within, "the first is deleted", func() bool { return w.listed(retention.Query(old)) < 7 })
	kill()
	sweeper := w.sweeper(time.Nanosecond)
	testsuite.WaitFor(t, within, "the others are", func() bool {
		_, err := sweeper.Sweep(t.Context(), old)
		return answered(t, err) && w.listed(retention.Query(old)) == 3
	})
	assert.Equal(t, 3, sweeper.State().Deleted, "each is counted once")
	assert.Equal(t, 1, w.has(nightly), "its schedule remembers it")
	assert.Equal(t, 1, w.has("dag/parent/1/sub"), "its parent is open")
	assert.Equal(t, 2, w.has("dag/renewed/1"), "it is open")
	assert.Equal(t, 1, w.has("group/open"))
	assert.Equal(t, 1, w.has("audit-like"), "it is no run")

	check := doctor.CheckRetention(t.Context(), w.client, time.Hour, old.Add(time.Hour))
	assert.Equal(t, doctor.VerdictOK, check.Verdict, check.Found)
	assert.Contains(t, check.Found, "runs are deleted 1 h after their end; 3 older ones are still needed")
	check = doctor.CheckRetention(t.Context(), w.client, 1000*time.Hour, old)
	assert.Equal(t, doctor.VerdictWarn, check.Verdict)
	assert.Contains(t, check.Found, "the namespace keeps closed runs for 3 days only")

	w.end("dag/parent/1")
	w.end("dag/renewed/1")
	testsuite.WaitFor(t, within, "what has ended is deleted, too", func() bool {
		_, err := sweeper.Sweep(t.Context(), old)
		return answered(t, err) && w.has("dag/parent/1")+w.has("dag/parent/1/sub")+w.has("dag/renewed/1") == 0
	})
	assert.Equal(t, 1, w.has(nightly))
}

// denied is a server that allows to list runs, but not to delete them.
type denied struct {
	retention.Client
	service deniedService
}

func (d *denied) WorkflowService() workflowservice.WorkflowServiceClient { return &d.service }

func (d *denied) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, serviceerror.NewNotFound("gone")
}

type deniedService struct {
	workflowservice.WorkflowServiceClient
	calls int
}

func (*deniedService) ListWorkflowExecutions(context.Context, *workflowservice.ListWorkflowExecutionsRequest, ...grpc.CallOption) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{
		{Execution: &commonpb.WorkflowExecution{WorkflowId: "group/a", RunId: "1"}},
	}}, nil
}

func (d *deniedService) DeleteWorkflowExecution(context.Context, *workflowservice.DeleteWorkflowExecutionRequest, ...grpc.CallOption) (*workflowservice.DeleteWorkflowExecutionResponse, error) {
	d.calls++
	return nil, serviceerror.NewPermissionDenied("not allowed", "")
}

// A missing permission is logged once, and the deletion is tried again.
func TestDeniedDeletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		server := &denied{}
		sweeper := retention.New(retention.Options{Client: server, Namespace: "default", After: time.Hour, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, stop := context.WithCancel(t.Context())
		go sweeper.Keep(ctx)
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		stop()
		synctest.Wait()
		assert.Equal(t, 3, server.service.calls)
		assert.Equal(t, 1, bytes.Count(log.Bytes(), []byte("RETENTION_DENIED")), log.String())
		assert.Error(t, sweeper.State().Fault)
		assert.Zero(t, sweeper.State().Deleted)
	})
}
