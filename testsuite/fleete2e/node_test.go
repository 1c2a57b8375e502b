package fleete2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/workers"
)

// patient is a handler whose jobs run until they are released.
type patient struct {
	running  chan struct{}
	released chan struct{}
}

func (patient) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{Name: "patient", ExecuteOnly: true}
}

func (patient) Detect(context.Context, jobtype.DetectInput, jobtype.ProposalSink) error { return nil }

func (p patient) Execute(ctx context.Context, _ jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
	close(p.running)
	select {
	case <-p.released:
		return jobtype.Result{Summary: "released"}, nil
	case <-ctx.Done():
		return jobtype.Result{}, ctx.Err()
	}
}

// oneJob runs one attempt on a worker's queue.
func oneJob(ctx workflow.Context, queue string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: queue, StartToCloseTimeout: 20 * time.Minute, HeartbeatTimeout: 10 * time.Minute})
	var state contract.ExecuteState
	err := workflow.ExecuteActivity(ctx, contract.ExecuteActivity, contract.ExecuteInput{
		Handler: "patient", Timeout: jobtype.Duration(20 * time.Minute), Liveness: jobtype.LivenessProcess,
		Job: jobtype.Job{ID: contract.JobID(1), JobType: "patient", Attempt: 1},
	}).Get(ctx, &state)
	return state.Result.Summary, err
}

// liveNode starts a real node worker without the control plane's settings: its client beats once a minute.
func (s *site) liveNode(p patient, edit func(*workers.NodeOptions)) *workers.Node {
	s.t.Helper()
	c, err := starter.Dial(s.t.Context(), starter.Options{Address: s.server.Address(), HeartbeatInterval: time.Minute})
	require.NoError(s.t, err)
	s.t.Cleanup(c.Close)
	options := workers.NodeOptions{
		ID: "a", Handlers: []jobtype.Handler{p}, DrainTimeout: 20 * time.Minute, CheckInterval: time.Hour,
		HeartbeatInterval: c.HeartbeatInterval(),
	}
	edit(&options)
	node, err := workers.NewNode(c.Temporal(), options)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = node.Stop(context.Background()) })
	require.NoError(s.t, node.Start(s.t.Context()))
	return node
}

// beats waits until the server has n further heartbeats of a process of worker a. It reports whether is holds at each
// look.
func (s *site) beats(n int, node *workers.Node, is func(contract.WorkerDetail) bool) (last contract.WorkerDetail, held bool) {
	s.t.Helper()
	held = true
	seen := map[time.Time]bool{}
	testsuite.WaitFor(s.t, time.Duration(2*n)*interval, "further heartbeats", func() bool {
		answer, err := s.client.WorkflowService().DescribeWorker(s.t.Context(), &workflowservice.DescribeWorkerRequest{
			Namespace: testsuite.DefaultNamespace, WorkerInstanceKey: "roundsman/" + node.Instance(),
		})
		if err == nil {
			seen[answer.GetWorkerInfo().GetWorkerHeartbeat().GetHeartbeatTime().AsTime()] = true
		}
		if w, ok := s.worker("a"); ok {
			last, held = w, held && is(w)
		}
		return !held || len(seen) > n
	})
	return last, held
}

// A worker beats at the registry's interval, not at its client's, and keeps its draining job until it ends.
func TestNodeFollowsTheRegistrysInterval(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := patient{running: make(chan struct{}), released: make(chan struct{})}
	node := s.liveNode(p, func(*workers.NodeOptions) {})
	s.await(15*time.Second, "a observed", "a", observed)
	w, _ := s.beats(8, node, func(contract.WorkerDetail) bool { return true })
	assertKept(t, w) // With the client's interval it would be OFFLINE before its second beat.

	jobs := worker.New(s.client, "test", worker.Options{})
	jobs.RegisterWorkflow(oneJob)
	require.NoError(t, jobs.Start())
	defer jobs.Stop()
	run, err := s.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "test"}, oneJob, contract.WorkerQueue("a", node.Instance()))
	require.NoError(t, err)
	<-p.running
	stopped := make(chan error, 1)
	go func() { stopped <- node.Stop(t.Context()) }()
	s.await(10*time.Second, "a leaves", "a", func(w contract.WorkerDetail) bool { return w.Leaving })
	w, held := s.beats(8, node, func(w contract.WorkerDetail) bool { return w.Leaving })
	require.True(t, held, "its jobs are taken from it: %+v", w)
	close(p.released)
	require.NoError(t, <-stopped)
	var summary string
	require.NoError(t, run.Get(t.Context(), &summary))
	assert.Equal(t, "released", summary)
	s.await(10*time.Second, "a has left", "a", func(w contract.WorkerDetail) bool { return !w.Leaving })
}

// A change of the interval reaches the worker before the registry applies it.
func TestNodeLearnsOfAnotherInterval(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := patient{running: make(chan struct{}), released: make(chan struct{})}
	s.thresholds = "default"
	s.control.kill()
	s.startControl()
	node := s.liveNode(p, func(o *workers.NodeOptions) { o.CheckInterval = 2 * time.Second })
	s.await(30*time.Second, "a observed", "a", observed)
	s.thresholds = "scaled"
	s.control.kill()
	s.startControl()
	w, _ := s.beats(8, node, func(contract.WorkerDetail) bool { return true })
	assertKept(t, w)
}

// An operator ends the registry in each possible way. It survives or is back within seconds with its worker,
// which would register again only after an hour. The audit log names the operator.
func TestEndsOfTheRegistryAreRecordedAndRepaired(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	operator, err := client.Dial(starter.Options{Address: s.server.Address(), Identity: "roundsman:ann@desk"}.WithDefaults().ClientOptions())
	require.NoError(t, err)
	defer operator.Close()
	node := s.liveNode(patient{}, func(*workers.NodeOptions) {})
	before := s.await(15*time.Second, "a observed", "a", observed)

	require.NoError(t, operator.CancelWorkflow(t.Context(), contract.FleetWorkflowID, ""))
	byAnn(t, s.awaitEntry("fleet.cancel"))
	w, held := s.beats(3, node, func(w contract.WorkerDetail) bool { return w.RegisteredAt.Equal(before.RegisteredAt) })
	require.True(t, held, "a cancellation ends nothing: %+v", w)
	assertKept(t, w)

	s.reset(operator)
	assert.Equal(t, "unknown", s.awaitEntry("fleet.reset").Actor, "server 1.32 does not tell who it was")
	s.await(15*time.Second, "a is still there", "a", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOnline })

	began := time.Now()
	require.NoError(t, operator.TerminateWorkflow(t.Context(), contract.FleetWorkflowID, "", "by accident"))
	s.await(40*time.Second, "a is registered again", "a", func(w contract.WorkerDetail) bool { return w.Fresh && w.RegisteredAt.After(began) })
	t.Logf("rebuilt %.1f s after it was terminated", time.Since(began).Seconds())
	terminated := s.awaitEntry("fleet.terminate")
	byAnn(t, terminated)
	assert.Equal(t, "by accident", terminated.Detail)

	require.NoError(t, operator.CancelWorkflow(t.Context(), contract.AuditWorkflowID, ""))
	byAnn(t, s.awaitEntry("audit.cancel"))
	assert.Equal(t, "by accident", s.awaitEntry("fleet.terminate").Detail, "nothing is lost")
}

// reset resets the registry to its last workflow task.
func (s *site) reset(operator client.Client) {
	s.t.Helper()
	var last int64
	history := operator.GetWorkflowHistory(s.t.Context(), contract.FleetWorkflowID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(s.t, err)
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			last = event.GetEventId()
		}
	}
	_, err := operator.ResetWorkflowExecution(s.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: testsuite.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: contract.FleetWorkflowID},
		Reason: "by accident", WorkflowTaskFinishEventId: last, RequestId: "reset", Identity: "roundsman:ann@desk",
	})
	require.NoError(s.t, err)
}

// awaitEntry waits for an entry of the audit log.
func (s *site) awaitEntry(action string) (found contract.AuditEntry) {
	s.t.Helper()
	testsuite.WaitFor(s.t, 30*time.Second, action+" is in the audit log", func() bool {
		ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
		defer cancel()
		answer, err := s.client.QueryWorkflow(ctx, contract.AuditWorkflowID, "", contract.QueryAudit, contract.AuditFilter{})
		var page contract.AuditPage
		if err != nil || answer.Get(&page) != nil {
			return false
		}
		for _, entry := range page.Entries {
			if entry.Action == action {
				found = entry
			}
		}
		return found.Action != ""
	})
	return found
}

func byAnn(t *testing.T, entry contract.AuditEntry) {
	t.Helper()
	assert.Equal(t, [2]string{"ann", "desk"}, [2]string{entry.Actor, entry.From}, entry.Action)
}

// A worker restarts without a control plane: the deregistration of the old process and the registration of the
// new one arrive in one workflow task.
func TestRestartWhileTheControlPlaneIsAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.thresholds = "default"
	s.control.kill()
	s.startControl()
	verdict, err := register(t.Context(), s.client, registration("a", "1"))
	require.NoError(t, err)
	require.True(t, verdict.Accepted)
	s.control.kill()
	require.NoError(t, s.client.SignalWorkflow(t.Context(), contract.FleetWorkflowID, "", contract.SignalUnregisterWorker, contract.UnregisterWorkerInput{ID: "a", Instance: "1"}))
	answer := make(chan contract.RegisterWorkerResult, 1)
	go func() {
		verdict, err := register(t.Context(), s.client, registration("a", "2"))
		assert.NoError(t, err)
		answer <- verdict
	}()
	s.startControl() // A separate process: its registration reaches the server much earlier.
	assert.True(t, (<-answer).Accepted, "the one before it has left")
	s.await(time.Minute, "a is online", "a", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOnline })
}
