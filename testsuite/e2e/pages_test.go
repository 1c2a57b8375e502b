package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// TestPages: on a real server a page can be read while open and closed, and the keeper closes a page whose run
// is gone.
func TestPages(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 1, flood{})
	c := p.client.Temporal()
	store := pages.NewStore(c, p.client.Namespace(), starter.DataConverter())
	const run = "group/paged"
	largest := make([]byte, contract.MaxPage)
	_, err := rand.Read(largest)
	require.NoError(t, err)

	name, err := store.Put(t.Context(), run, largest)
	require.NoError(t, err)
	again, err := store.Put(t.Context(), run, largest)
	require.NoError(t, err)
	assert.Equal(t, name, again)
	other, err := store.Put(t.Context(), run, []byte("other"))
	require.NoError(t, err)
	reads := func(name string, want []byte) {
		t.Helper()
		got, err := store.Get(t.Context(), run, name)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, got))
	}
	events := func() int64 {
		described, err := c.DescribeWorkflowExecution(t.Context(), contract.PageWorkflowID(run, name), "")
		require.NoError(t, err)
		return described.GetWorkflowExecutionInfo().GetHistoryLength()
	}
	reads(name, largest)
	assert.EqualValues(t, 1, events())

	require.NoError(t, store.Close(t.Context(), run, []string{name}))
	require.NoError(t, store.Close(t.Context(), run, []string{name}), "a repeat changes nothing")
	reads(name, largest)
	_, err = store.Put(t.Context(), run, largest)
	require.NoError(t, err, "a closed page is written again")
	assert.EqualValues(t, 1, events())
	reads(name, largest)
	_, err = store.Get(t.Context(), run, contract.PageName([]byte("never written")))
	require.ErrorIs(t, err, pages.ErrLost)

	open := func() int64 {
		return p.count(fmt.Sprintf("WorkflowType = '%s' AND %s", contract.PageWorkflow, contract.QueryOpen))
	}
	testsuite.WaitFor(t, time.Minute, "both pages are listed", func() bool { return open() == 2 })
	keeper := pages.NewKeeper(store, c, testsuite.Quiet())
	closed, err := keeper.Sweep(t.Context(), time.Now())
	require.NoError(t, err)
	assert.Zero(t, closed, "whoever submits jobs writes pages before the run starts")

	started, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: run, TaskQueue: "nobody"}, contract.JobGroupWorkflow)
	require.NoError(t, err)
	closed, err = keeper.Sweep(t.Context(), time.Now().Add(24*time.Hour))
	require.NoError(t, err)
	assert.Zero(t, closed, "the run is open")
	require.NoError(t, c.TerminateWorkflow(t.Context(), started.GetID(), "", "the test"))
	closed, err = keeper.Sweep(t.Context(), time.Now())
	require.NoError(t, err)
	assert.Equal(t, 2, closed)
	reads(other, []byte("other"))
	testsuite.WaitFor(t, time.Minute, "no page is open", func() bool { return open() == 0 })
}

// TestThirtyMegabytesOfDAGs: with DAGs that do not compress in its proposals, each run of the chain stays below the server's 50 MiB
// of history. TestTenThousandProposals has many small proposals.
func TestThirtyMegabytesOfDAGs(t *testing.T) {
	t.Parallel()
	const jobs = 170
	p := newInProcess(t, 200, flood{})
	spec := floodSpec("thirty", 0, 0, jobtype.Policy{
		MaxJobsPerDetection: jobs, GlobalExecutionConcurrency: 200, PerWorkerExecutionConcurrency: 200, DetectionTimeout: jobtype.Duration(10 * time.Minute),
	})
	spec.Params = fmt.Appendf(nil, `{"n":%d,"bytes":190000,"noise":true,"dag":true}`, jobs)
	result, run := p.group(spec)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, jobs, result.Counts.Completed)
	_, largest := p.largestHistory(run.GetID())
	t.Logf("largest history of the chain: %d bytes", largest)
	assert.Less(t, largest, int64(49<<20))
}

// TestAGroupIsResetToAnEarlierState: the state from which an earlier workflow run began is in a page that was closed since. The run is
// reset to before it has read it, and ends with all its jobs. A state that was written and never used is closed while the group runs.
func TestAGroupIsResetToAnEarlierState(t *testing.T) {
	t.Parallel()
	const jobs = 300
	gate := &gatedFlood{gate: make(chan struct{})}
	p := newInProcess(t, 10, gate)
	c := p.client.Temporal()
	spec := floodSpec("earlier", jobs, 400, jobtype.Policy{MaxJobsPerDetection: jobs, GlobalExecutionConcurrency: 10, PerWorkerExecutionConcurrency: 10})
	spec.Params = fmt.Appendf(nil, `{"n":%d,"bytes":400,"noise":true}`, jobs)
	store := pages.NewStore(c, p.client.Namespace(), starter.DataConverter())
	run := p.launch(contract.JobGroupInput{RollEvents: 150, Spec: spec})
	unused, err := store.PutState(t.Context(), run.GetID(), []byte("the process was killed before it continued as new"))
	require.NoError(t, err)
	testsuite.WaitFor(t, time.Minute, "jobs wait at the gate", func() bool { return gate.begun.Load() > 200 })
	require.NoError(t, c.SignalWorkflow(t.Context(), run.GetID(), "", contract.SignalPause, contract.PauseInput{By: "ann"}))
	close(gate.gate)
	var chain []stateOfRun
	testsuite.WaitFor(t, time.Minute, "the group is paused, has nothing to do and has begun from a state", func() bool {
		described, err := c.DescribeWorkflowExecution(t.Context(), run.GetID(), "")
		chain = p.statesOf(run.GetID())
		return err == nil && len(described.GetPendingActivities()) == 0 && described.GetPendingWorkflowTask() == nil &&
			chain[0].run == described.GetWorkflowExecutionInfo().GetExecution().GetRunId() && chain[0].read > 0
	})
	require.GreaterOrEqual(t, len(chain), 3)
	require.Less(t, gate.begun.Load(), int64(jobs))

	closed := func(page string) bool {
		described, err := c.DescribeWorkflowExecution(t.Context(), contract.PageWorkflowID(run.GetID(), page), "")
		return err == nil && described.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	}
	testsuite.WaitFor(t, time.Minute, "the state of the run before is closed", func() bool { return closed(chain[1].page) })
	assert.False(t, closed(chain[0].page), "a reset of the current run needs it")
	assert.False(t, closed(unused))
	testsuite.WaitFor(t, time.Minute, "the unused state is swept", func() bool {
		_, err := pages.NewKeeper(store, c, testsuite.Quiet()).Sweep(t.Context(), time.Now())
		return err == nil && closed(unused)
	})
	assert.False(t, closed(chain[0].page), "it is in force")

	_, err = c.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: p.client.Namespace(), Reason: "test", RequestId: "reset", WorkflowTaskFinishEventId: chain[1].read,
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: chain[1].run},
	})
	require.NoError(t, err)
	require.NoError(t, c.SignalWorkflow(t.Context(), run.GetID(), "", contract.SignalResume, contract.PauseInput{By: "ann"}))
	result := p.end(c.GetWorkflow(t.Context(), run.GetID(), ""))
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
	assert.Equal(t, jobs, result.Counts.Completed)
	assert.Equal(t, jobs, result.Counts.Accepted)
}

// gatedFlood has jobs that wait at a gate, but for the first 200.
type gatedFlood struct {
	flood

	begun atomic.Int64
	gate  chan struct{}
}

func (g *gatedFlood) Execute(ctx context.Context, _ jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
	if g.begun.Add(1) > 200 {
		select {
		case <-g.gate:
		case <-ctx.Done():
		}
	}
	return jobtype.Result{}, ctx.Err()
}

// stateOfRun is the first page of the state from which a workflow run began, and the workflow task that ordered to read it.
type stateOfRun struct {
	run, page string
	read      int64
}

// statesOf lists the workflow runs of a chain, newest first.
func (p *inProcess) statesOf(workflowID string) (chain []stateOfRun) {
	p.t.Helper()
	described, err := p.client.Temporal().DescribeWorkflowExecution(p.t.Context(), workflowID, "")
	require.NoError(p.t, err)
	for run := described.GetWorkflowExecutionInfo().GetExecution().GetRunId(); run != ""; {
		of := stateOfRun{run: run}
		before := ""
		for events := p.client.Temporal().GetWorkflowHistory(p.t.Context(), workflowID, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext() && of.read == 0; {
			event, err := events.Next()
			require.NoError(p.t, err)
			if started := event.GetWorkflowExecutionStartedEventAttributes(); started != nil {
				before = started.GetContinuedExecutionRunId()
			}
			if call := event.GetActivityTaskScheduledEventAttributes(); call.GetActivityType().GetName() == contract.ReadPageActivity {
				var in contract.PageInput
				require.NoError(p.t, starter.DataConverter().FromPayloads(call.GetInput(), &in))
				of.page, of.read = in.Page, call.GetWorkflowTaskCompletedEventId()
			}
		}
		chain, run = append(chain, of), before
	}
	return chain
}

// interruptions calls do while the control plane stores a state, each other time.
type interruptions struct {
	do     func()
	states atomic.Int64
}

func (i *interruptions) intercept(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	start, ok := request.(*workflowservice.StartWorkflowExecutionRequest)
	if ok && start.GetWorkflowType().GetName() == contract.PageWorkflow && start.GetMemo().GetFields()["state"] != nil && i.states.Add(1)%2 == 1 {
		i.do()
	}
	return invoke(ctx, method, request, reply, cc, opts...)
}

// TestAMessageArrivesWhileARunContinues: it is applied, and no workflow task fails for it. A failed task would have replayed the
// whole history.
func TestAMessageArrivesWhileARunContinues(t *testing.T) {
	t.Parallel()
	const jobs = 150
	for _, canceled := range []bool{false, true} {
		t.Run(fmt.Sprintf("canceled %t", canceled), func(t *testing.T) {
			t.Parallel()
			var messages interruptions
			p := newInProcessOn(t, replay.StartServer(t), 10, flood{}, messages.intercept)
			c := p.client.Temporal()
			const id = "group/interrupted"
			messages.do = func() {
				if canceled {
					assert.NoError(t, c.CancelWorkflow(t.Context(), id, ""))
				} else {
					assert.NoError(t, c.SignalWorkflow(t.Context(), id, "", contract.SignalResume, contract.PauseInput{By: "ann"}))
				}
			}
			spec := floodSpec("interrupted", jobs, 400, jobtype.Policy{MaxJobsPerDetection: jobs, GlobalExecutionConcurrency: 10, PerWorkerExecutionConcurrency: 10})
			spec.Params = fmt.Appendf(nil, `{"n":%d,"bytes":400,"noise":true}`, jobs)
			run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: contract.ControlQueue}, contract.JobGroupWorkflow,
				contract.JobGroupInput{RollEvents: 150, Spec: spec})
			require.NoError(t, err)
			result := p.end(run)
			if canceled {
				assert.Equal(t, contract.OutcomeCanceled, result.Outcome, result.Reason)
			} else {
				assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
				assert.Equal(t, jobs, result.Counts.Completed)
			}
			assert.Positive(t, messages.states.Load())
			for _, of := range p.statesOf(id) {
				for events := c.GetWorkflowHistory(t.Context(), id, of.run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
					event, err := events.Next()
					require.NoError(t, err)
					assert.Nil(t, event.GetWorkflowTaskFailedEventAttributes(), "event %d of run %s", event.GetEventId(), of.run)
				}
			}
		})
	}
}
