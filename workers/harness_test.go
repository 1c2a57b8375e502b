package workers_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/goleak"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/workers"
)

func TestMain(m *testing.M) {
	// The SDK caches the coroutines of open workflows for the life of the process.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("go.temporal.io/sdk/internal.(*coroutineState).initialYield"))
}

func fakeFleet(ctx workflow.Context, _ contract.FleetInput) error {
	known, settings := map[string]contract.WorkerRegistration{}, contract.WorkerSettings{}
	err := workflow.SetUpdateHandler(ctx, contract.UpdateRegisterWorker,
		func(_ workflow.Context, in contract.WorkerRegistration) (contract.RegisterWorkerResult, error) {
			if other, taken := known[in.ID]; taken && other.Instance != in.Instance && !in.TakeOver {
				return contract.RegisterWorkerResult{Refused: &contract.RegisteredOther{
					Host: other.Host, PID: other.PID, Instance: other.Instance, Age: jobtype.Duration(time.Minute),
				}}, nil
			}
			known[in.ID] = in
			return contract.RegisterWorkerResult{Accepted: true}, nil
		})
	if err != nil {
		return err
	}
	err = workflow.SetQueryHandler(ctx, contract.QuerySettings, func(in contract.KnownInput) (contract.WorkerSettings, error) {
		answer := settings
		answer.Known = known[in.ID].Instance == in.Instance
		return answer, nil
	})
	if err != nil {
		return err
	}
	err = workflow.SetQueryHandler(ctx, contract.QueryWorkers, func() (map[string]contract.WorkerRegistration, error) { return known, nil })
	if err != nil {
		return err
	}
	deregistrations, forget := workflow.GetSignalChannel(ctx, contract.SignalUnregisterWorker), workflow.GetSignalChannel(ctx, "forget")
	change := workflow.GetSignalChannel(ctx, "settings")
	for {
		selector := workflow.NewSelector(ctx)
		selector.AddReceive(change, func(c workflow.ReceiveChannel, _ bool) {
			settings = contract.WorkerSettings{}
			c.Receive(ctx, &settings)
		})
		selector.AddReceive(deregistrations, func(c workflow.ReceiveChannel, _ bool) {
			var bye contract.UnregisterWorkerInput
			c.Receive(ctx, &bye)
			if known[bye.ID].Instance == bye.Instance {
				delete(known, bye.ID)
			}
		})
		selector.AddReceive(forget, func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, nil)
			clear(known)
		})
		selector.Select(ctx)
	}
}

type groupInput struct {
	Queue     string
	Jobs      []contract.ExecuteInput
	Heartbeat time.Duration
	Detect    *contract.DetectActivityInput
	// Grace is the wait for the outcome of a lost attempt: two minutes by default.
	Grace time.Duration
}

type jobEnd struct {
	Failure  contract.FailureKind
	State    contract.ExecuteState
	Recalled bool
	Adopted  bool
	Error    string
}

type groupResult struct {
	Ends     map[string]jobEnd
	Detected contract.DetectActivityResult
	Keys     int
	Error    string
}

// fakeGroup is the part of a job group that a worker uses: attempts with a grace, and pages.
func fakeGroup(ctx workflow.Context, in groupInput) (groupResult, error) {
	result := groupResult{Ends: map[string]jobEnd{}}
	err := workflow.SetUpdateHandler(ctx, contract.UpdateDetectPage,
		func(_ workflow.Context, page contract.DetectPageInput) (contract.DetectPageResult, error) {
			result.Keys += len(page.Proposals)
			return contract.DetectPageResult{Accepted: len(page.Proposals)}, nil
		})
	if err != nil {
		return result, err
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: in.Queue, StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: in.Heartbeat,
		WaitForCancellation: true, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	if in.Detect != nil {
		in.Detect.WorkflowID = workflow.GetInfo(ctx).WorkflowExecution.ID
		in.Detect.RunID = workflow.GetInfo(ctx).WorkflowExecution.RunID
		if err := workflow.ExecuteActivity(ctx, contract.DetectActivity, *in.Detect).Get(ctx, &result.Detected); err != nil {
			result.Error = err.Error()
		}
		return result, nil
	}
	late := map[string]contract.JobOutcomeInput{}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var outcome contract.JobOutcomeInput
			workflow.GetSignalChannel(ctx, contract.SignalJobOutcome).Receive(ctx, &outcome)
			late[outcome.JobID] = outcome
		}
	})
	cancelable, cancel := workflow.WithCancel(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		workflow.GetSignalChannel(ctx, contract.SignalCancelRun).Receive(ctx, nil)
		cancel()
	})
	open := len(in.Jobs)
	for _, job := range in.Jobs {
		workflow.Go(ctx, func(ctx workflow.Context) {
			result.Ends[job.Job.ID] = runOne(ctx, cancelable, job, cmp.Or(in.Grace, 2*time.Minute), late)
			open--
		})
	}
	return result, workflow.Await(ctx, func() bool { return open == 0 })
}

func runOne(ctx, cancelable workflow.Context, job contract.ExecuteInput, grace time.Duration, late map[string]contract.JobOutcomeInput) jobEnd {
	var state contract.ExecuteState
	err := workflow.ExecuteActivity(cancelable, contract.ExecuteActivity, job).Get(ctx, &state)
	if err == nil {
		return jobEnd{State: state}
	}
	end := jobEnd{Error: err.Error(), Failure: contract.FailureWorkerLost}
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok && job.OrphanGrace > 0 && timeout.TimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT {
		again := contract.ExecuteInput{Handler: job.Handler, Adopt: true, Job: jobtype.Job{
			ID: job.Job.ID, Attempt: job.Job.Attempt, Fence: job.Job.Fence,
		}}
		if err = workflow.ExecuteActivity(cancelable, contract.ExecuteActivity, again).Get(ctx, &state); err == nil {
			return jobEnd{State: state, Adopted: true}
		}
	}
	if application, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		end.Failure = contract.FailureKind(application.Type())
		if err := application.Details(&end.State); err != nil {
			end.Error += ": details: " + err.Error()
		}
		return end
	}
	ok, _ := workflow.AwaitWithTimeout(ctx, grace, func() bool { _, ok := late[job.Job.ID]; return ok })
	if ok {
		return jobEnd{State: late[job.Job.ID].Outcome, Failure: late[job.Job.ID].Outcome.Failure, Recalled: true}
	}
	return end
}

type house struct {
	server *testsuite.Server
	client client.Client
}

func newHouse(t *testing.T, options ...testsuite.Option) *house {
	t.Helper()
	server := testsuite.StartServer(t, options...)
	h := &house{server: server, client: server.Client(t)}
	control, err := workers.NewControl(h.client, workers.ControlOptions{
		Register: []func(worker.Registry){func(r worker.Registry) {
			r.RegisterWorkflowWithOptions(fakeFleet, workflow.RegisterOptions{Name: contract.FleetWorkflow})
			r.RegisterWorkflowWithOptions(fakeGroup, workflow.RegisterOptions{Name: "test.Group"})
		}},
	})
	require.NoError(t, err)
	require.NoError(t, control.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, control.Stop(context.Background())) }) //nolint:usetesting // t.Context has ended by then
	return h
}

func (h *house) node(t *testing.T, handler jobtype.Handler, edit ...func(*workers.NodeOptions)) *workers.Node {
	t.Helper()
	options := workers.NodeOptions{ID: "node-a", DataDir: t.TempDir(), Handlers: []jobtype.Handler{handler}, Version: "test"}
	for _, change := range edit {
		change(&options)
	}
	node, err := workers.NewNode(h.client, options)
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Stop(context.Background()) }) //nolint:usetesting // t.Context has ended by then
	return node
}

func (h *house) started(t *testing.T, handler jobtype.Handler, edit ...func(*workers.NodeOptions)) *workers.Node {
	t.Helper()
	node := h.node(t, handler, edit...)
	require.NoError(t, node.Start(t.Context()))
	return node
}

func (h *house) run(t *testing.T, in groupInput) client.WorkflowRun {
	t.Helper()
	if in.Heartbeat == 0 {
		in.Heartbeat = 10 * time.Second
	}
	run, err := h.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: contract.ControlQueue}, "test.Group", in)
	require.NoError(t, err)
	return run
}

func ends(t *testing.T, run client.WorkflowRun) map[string]jobEnd {
	t.Helper()
	var result groupResult
	require.NoError(t, run.Get(t.Context(), &result))
	return result.Ends
}

// lasted returns the time from since to the end of a run on the server. At high load the server
// drops the notification of an end. A waiting client then gets it with the next long poll, 20 s
// later (history.longPollExpirationInterval).
func (h *house) lasted(t *testing.T, since time.Time, run client.WorkflowRun) time.Duration {
	t.Helper()
	described, err := h.client.DescribeWorkflowExecution(t.Context(), run.GetID(), run.GetRunID())
	require.NoError(t, err)
	return described.GetWorkflowExecutionInfo().GetCloseTime().AsTime().Sub(since)
}

func someJobs(n int, edit ...func(*contract.ExecuteInput)) []contract.ExecuteInput {
	var list []contract.ExecuteInput
	for i := range n {
		in := contract.ExecuteInput{
			Handler: "fake", Timeout: jobtype.Duration(5 * time.Minute), Liveness: jobtype.LivenessProcess,
			Job: jobtype.Job{ID: contract.JobID(i + 1), JobType: "fake", Attempt: 1},
		}
		for _, change := range edit {
			change(&in)
		}
		list = append(list, in)
	}
	return list
}

type handler struct {
	name    string
	cap     int
	execute func(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error)
	detect  func(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error

	mu             sync.Mutex
	runs           map[string]int
	running, worst int
	jobs           []jobtype.Job
}

func (h *handler) Descriptor() jobtype.Descriptor {
	name := h.name
	if name == "" {
		name = "fake"
	}
	return jobtype.Descriptor{Name: name, MaxExecuteConcurrency: h.cap}
}

func (h *handler) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	return h.detect(ctx, in, out)
}

func (h *handler) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	h.mu.Lock()
	if h.runs == nil {
		h.runs = map[string]int{}
	}
	h.runs[job.ID]++
	h.jobs = append(h.jobs, job)
	h.running++
	h.worst = max(h.worst, h.running)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.running--
		h.mu.Unlock()
	}()
	return h.execute(ctx, job, progress)
}

func (h *handler) now() (running, worst, total int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, n := range h.runs {
		total += n
	}
	return h.running, h.worst, total
}

func until(release <-chan struct{}) func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
	return func(ctx context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
		select {
		case <-release:
			return jobtype.Result{Summary: "did " + job.ID}, nil
		case <-ctx.Done():
			return jobtype.Result{}, fmt.Errorf("stopped: %w", context.Cause(ctx))
		}
	}
}
