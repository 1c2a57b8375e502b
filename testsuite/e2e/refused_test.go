package e2e

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/runend"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// refusals makes the server refuse the first last task of each group: a message comes before its completion.
type refusals struct {
	mu sync.Mutex
	// send sends the message to a group. Without it nothing is refused.
	send func(workflowID string)
	seen map[string]bool
	// ends receives the same calls, as the counter of ended runs.
	ends grpc.UnaryClientInterceptor
}

func (r *refusals) intercept(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if task, ok := request.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok {
		if id := strings.TrimPrefix(task.GetResourceId(), "workflow:"); strings.HasPrefix(id, "group/") && slices.ContainsFunc(task.GetCommands(), closes) {
			if send := r.first(id); send != nil {
				send(id)
			}
		}
	}
	if r.ends != nil {
		return r.ends(ctx, method, request, reply, cc, invoke, opts...)
	}
	return invoke(ctx, method, request, reply, cc, opts...)
}

func (r *refusals) first(id string) func(string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[id] {
		return nil
	}
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[id] = true
	return r.send
}

func (r *refusals) begin(send func(string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.send = send
}

// refusedTasks counts the tasks of a run that the server refused.
func (p *inProcess) refusedTasks(run client.WorkflowRun) (refused int) {
	p.t.Helper()
	for events := p.client.Temporal().GetWorkflowHistory(p.t.Context(), run.GetID(), run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(p.t, err)
		if event.GetWorkflowTaskFailedEventAttributes().GetCause() == enums.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND {
			refused++
		}
	}
	return refused
}

// TestARefusedLastTaskCountsOnce: the server refuses the last task of each run, which is repeated with a later time. Each report
// counts once: failures, turns, entries of the audit log, ended runs.
func TestARefusedLastTaskCountsOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var log bytes.Buffer
	ends := runend.New(starter.DataConverter(), slog.New(slog.NewTextHandler(locked{&mu, &log}, nil)))
	r := refusals{ends: ends.Intercept}
	p := newInProcessOn(t, replay.StartServer(t), 8, &brittle{site: newSite()}, r.intercept)
	r.begin(func(id string) {
		assert.NoError(t, p.client.Temporal().SignalWorkflow(t.Context(), id, "", contract.SignalSucceeded, contract.SucceededSignal{JobType: "another"}))
	})
	// Its last task follows the report of the failure.
	spec := siteSpec(t, "scrub", "default", at("bad/1"))
	spec.RetryBudget, spec.Policy.RetryLimit = budget(2, 2), 0
	plain := p.begin("scrub-1", spec)
	assert.Equal(t, 1, p.end(plain).Counts.Failed)
	assert.Equal(t, 1, p.refusedTasks(plain))
	// Its last task comes after the entry of the audit log.
	spec = siteSpec(t, "dump", "default", at("bad/1"))
	spec.Policy.RetryLimit, spec.Policy.RetryBackoff = 1, jobtype.Duration(10*time.Millisecond)
	retried := p.begin("dump-1", spec)
	assert.Equal(t, 1, p.end(retried).Counts.Failed)
	assert.Equal(t, 1, p.refusedTasks(retried))
	assert.Equal(t, 1, audited(t, p.client, string(contract.CodeBackoff), "group/dump-1").Count)
	entries, err := p.client.Audit().Read(t.Context(), contract.AuditFilter{Object: "group/dump-1"})
	require.NoError(t, err)
	assert.Len(t, entries.Entries, 1)

	var turns contract.PastGrants
	testsuite.WaitFor(t, time.Minute, "both turns have ended", func() bool {
		turns, err = p.client.Admission().PastGrants(t.Context(), contract.PastGrantsFilter{Lane: "default"})
		return err == nil && len(turns.Grants) >= 2
	})
	assert.Len(t, turns.Grants, 2)
	assert.Zero(t, p.held(), "one failure of two") // The second run had its turn after all reports of the first.
	mu.Lock()
	defer mu.Unlock()
	for _, id := range []string{"group/scrub-1", "group/dump-1"} {
		assert.Equal(t, 1, strings.Count(log.String(), "run="+id+" "), id)
	}
}

type locked struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

// local detects an object with the name of the worker.
type local struct{ *site }

func (l local) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	return out.Emit(ctx, at(in.WorkerID))
}

// TestARunThatReleasedItsLaneHasEnded: a worker comes while the server takes the last task of a run for every worker. The
// run has released its lane, so it does not begin again with that worker, next to the next holder.
func TestARunThatReleasedItsLaneHasEnded(t *testing.T) {
	t.Parallel()
	var r refusals
	s := local{newSite()}
	p := newInProcessOn(t, replay.StartServer(t), 8, s, r.intercept)
	spec := siteSpec(t, "each", "default")
	spec.DetectOn = contract.DetectOnEvery
	assert.Equal(t, contract.OutcomeCompleted, p.end(p.begin("each-0", spec)).Outcome) // It waited for a complete registry.
	reached, came := make(chan struct{}), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(came) })
	defer goOn()
	r.begin(func(string) {
		close(reached)
		<-came
	})
	each := p.begin("each-1", spec)
	select {
	case <-reached:
	case <-time.After(time.Minute):
		require.Fail(t, "the run does not end")
	}
	p.node("node-b", 8, s)
	testsuite.WaitFor(t, time.Minute, "the run has a view with node-b", func() bool { return p.sawWorker("group/each-1", "node-b") })
	goOn()
	result := p.end(each)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, 1, p.refusedTasks(each))
	assert.Equal(t, map[string]int{"node-a": 1}, s.crowds())
}

// sawWorker reports whether the registry has signaled a view with a worker to a workflow.
func (p *inProcess) sawWorker(workflowID, worker string) bool {
	sent := map[int64]bool{}
	for events := p.client.Temporal().GetWorkflowHistory(p.t.Context(), contract.FleetWorkflowID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		if err != nil {
			return false
		}
		call := event.GetSignalExternalWorkflowExecutionInitiatedEventAttributes()
		if call.GetWorkflowExecution().GetWorkflowId() == workflowID && call.GetSignalName() == contract.SignalFleetChanged {
			var view contract.FleetView
			assert.NoError(p.t, starter.DataConverter().FromPayloads(call.GetInput(), &view))
			for _, one := range view.Workers {
				sent[event.GetEventId()] = sent[event.GetEventId()] || one.ID == worker && one.Fresh
			}
		}
		if sent[event.GetExternalWorkflowExecutionSignaledEventAttributes().GetInitiatedEventId()] {
			return true
		}
	}
	return false
}
