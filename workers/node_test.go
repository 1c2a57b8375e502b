package workers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/workers"
)

func (h *house) registered(t *testing.T) map[string]contract.WorkerRegistration {
	t.Helper()
	answer, err := h.client.QueryWorkflow(t.Context(), contract.FleetWorkflowID, "", contract.QueryWorkers)
	require.NoError(t, err)
	var known map[string]contract.WorkerRegistration
	require.NoError(t, answer.Get(&known))
	return known
}

func done(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
	return jobtype.Result{Summary: "ok"}, nil
}

func TestNodeRegistersRunsAndDeregisters(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	work := &handler{execute: done, cap: 7, detect: func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
		for i := range 450 {
			if err := out.Emit(ctx, jobtype.Proposal{DedupeKey: fmt.Sprint(i)}); err != nil {
				return err
			}
		}
		return nil
	}}
	node := h.started(t, work, func(o *workers.NodeOptions) {
		o.Labels, o.Shared = map[string]string{"rack": "r1"}, []string{"fake"}
	})
	reg := h.registered(t)["node-a"]
	assert.Equal(t, node.Instance(), reg.Instance)
	assert.Equal(t, os.Getpid(), reg.PID)
	assert.Equal(t, "test", reg.Version)
	assert.Equal(t, map[string]string{"rack": "r1"}, reg.Labels)
	assert.Equal(t, []string{"fake"}, reg.Shared)
	require.Len(t, reg.Capabilities, 1)
	assert.True(t, reg.Capabilities[0].Detect)
	assert.Equal(t, 7, reg.Capabilities[0].MaxExecute)
	assert.Equal(t, "fake", reg.Capabilities[0].Descriptor.Name)

	for _, queue := range []string{contract.WorkerQueue("node-a", node.Instance()), contract.SharedQueue("fake")} {
		end := ends(t, h.run(t, groupInput{Queue: queue, Jobs: someJobs(1)}))[contract.JobID(1)]
		assert.Equal(t, "ok", end.State.Result.Summary)
		assert.Equal(t, "node-a", end.State.Worker)
	}
	run := h.run(t, groupInput{
		Queue:  contract.WorkerDetectQueue("node-a", node.Instance()),
		Detect: &contract.DetectActivityInput{Handler: "fake", Attempt: 1},
	})
	var result groupResult
	require.NoError(t, run.Get(t.Context(), &result))
	assert.Empty(t, result.Error)
	assert.Equal(t, 450, result.Keys)
	assert.Equal(t, contract.DetectActivityResult{Worker: "node-a", Pages: 3, Emitted: 450}, result.Detected)

	require.NoError(t, node.Stop(t.Context()))
	assert.Empty(t, h.registered(t))
}

// Without a version of its own the SDK reads the whole binary to make one up.
func TestNodePollsWithItsVersion(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	node := h.started(t, &handler{execute: done}, func(o *workers.NodeOptions) { o.Shared = []string{"fake"} })
	versions := func(queue string, kind enums.TaskQueueType) []string {
		described, err := h.client.DescribeTaskQueue(t.Context(), queue, kind)
		require.NoError(t, err)
		var found []string
		for _, poller := range described.GetPollers() {
			found = append(found, poller.GetWorkerVersionCapabilities().GetBuildId()) //nolint:staticcheck // see workers.ControlOptions.Version
		}
		return found
	}
	for queue, kind := range map[string]enums.TaskQueueType{
		contract.WorkerQueue("node-a", node.Instance()):        enums.TASK_QUEUE_TYPE_ACTIVITY,
		contract.SharedQueue("fake"):                           enums.TASK_QUEUE_TYPE_ACTIVITY,
		contract.WorkerControlQueue("node-a", node.Instance()): enums.TASK_QUEUE_TYPE_WORKFLOW,
	} {
		testsuite.WaitFor(t, time.Minute, "pollers of "+queue, func() bool { return len(versions(queue, kind)) > 0 })
		assert.Equal(t, []string{"test"}, versions(queue, kind), queue)
	}
}

func TestNodeIsRefusedAndTakesOver(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := h.started(t, &handler{execute: done}, func(o *workers.NodeOptions) { o.CheckInterval = 200 * time.Millisecond })
	second := h.node(t, &handler{execute: done})
	err := second.Start(t.Context())
	var refused *workers.RefusedError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, os.Getpid(), refused.PID)
	assert.Equal(t, time.Minute, refused.Age)
	assert.Contains(t, err.Error(), "--take-over")
	require.NoError(t, second.Stop(t.Context()))
	assert.Equal(t, first.Instance(), h.registered(t)["node-a"].Instance, "a refused worker must not unregister the other")

	third := h.started(t, &handler{execute: done}, func(o *workers.NodeOptions) { o.TakeOver = true })
	assert.Equal(t, third.Instance(), h.registered(t)["node-a"].Instance)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	require.ErrorAs(t, first.Wait(ctx), &refused, "the first one notices that it was fenced")
}

func TestNodeRegistersAgainWhenForgotten(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	node := h.started(t, &handler{execute: done}, func(o *workers.NodeOptions) { o.CheckInterval = 100 * time.Millisecond })
	said := contract.WorkerSettings{
		Resized: &contract.WorkerCaps{MaxDetect: 3, MaxExecute: 7}, Held: true, Kept: &contract.WorkerTransition{Mode: "cordoned"},
	}
	require.NoError(t, h.client.SignalWorkflow(t.Context(), contract.FleetWorkflowID, "", "settings", said))
	testsuite.WaitFor(t, 10*time.Second, "the worker has learned what the operator said", func() bool { return node.Report().Held })
	require.NoError(t, h.client.SignalWorkflow(t.Context(), contract.FleetWorkflowID, "", "forget", nil))
	testsuite.WaitFor(t, 10*time.Second, "the worker registers again", func() bool {
		return h.registered(t)["node-a"].Instance == node.Instance()
	})
	assert.Equal(t, said.Resized, h.registered(t)["node-a"].Resized, "a registry that has lost it hears it from the worker")
	assert.Equal(t, said.Kept, h.registered(t)["node-a"].Kept)
	require.NoError(t, h.client.TerminateWorkflow(t.Context(), contract.FleetWorkflowID, "", "test"))
	testsuite.WaitFor(t, 10*time.Second, "the worker brings the registry back", func() bool {
		answer, err := h.client.QueryWorkflow(t.Context(), contract.FleetWorkflowID, "", contract.QuerySettings,
			contract.KnownInput{ID: "node-a", Instance: node.Instance()})
		var settings contract.WorkerSettings
		return err == nil && answer.Get(&settings) == nil && settings.Known
	})
}

// TestNodeAnswersForItself: the process reports its running jobs. It applies new caps and a hold
// as soon as it is requested to read the registry.
func TestNodeAnswersForItself(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	release := make(chan struct{})
	work := &handler{execute: func(_ context.Context, _ jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
		progress.Report(40, "copy", "half way")
		<-release
		return jobtype.Result{}, nil
	}}
	node := h.started(t, work, func(o *workers.NodeOptions) { o.MaxExecute, o.CheckInterval = 2, time.Hour })
	ask := func(query string) (report contract.WorkerReport) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		answer, err := h.client.QueryWorkflow(ctx, contract.WorkerWorkflowID("node-a"), "", query)
		if err == nil {
			err = answer.Get(&report)
		}
		assert.NoError(t, err)
		return report
	}
	testsuite.WaitFor(t, 20*time.Second, "the endpoint is open", func() bool {
		_, err := h.client.DescribeWorkflowExecution(t.Context(), contract.WorkerWorkflowID("node-a"), "")
		return err == nil
	})
	run := h.run(t, groupInput{Queue: contract.WorkerQueue("node-a", node.Instance()), Jobs: someJobs(1), Heartbeat: time.Minute})
	testsuite.WaitFor(t, 20*time.Second, "the job reports", func() bool {
		report := ask(contract.QueryReport)
		return len(report.Jobs) == 1 && report.Jobs[0].Stage == "copy"
	})
	report := ask(contract.QueryReport)
	assert.Equal(t, node.Instance(), report.Instance)
	assert.Equal(t, contract.WorkerCaps{MaxDetect: 1, MaxExecute: 2}, report.Caps)
	assert.Equal(t, 1, report.Executing)
	assert.True(t, report.Registered)
	assert.Equal(t, contract.WorkerJobRunning, report.Jobs[0].State)
	assert.InDelta(t, 40, report.Jobs[0].Percent, 0.1)

	require.NoError(t, h.client.SignalWorkflow(t.Context(), contract.FleetWorkflowID, "", "settings",
		contract.WorkerSettings{Resized: &contract.WorkerCaps{MaxDetect: 3, MaxExecute: 7}, Held: true}))
	ask(contract.QueryRefresh)
	testsuite.WaitFor(t, 20*time.Second, "the caps are in force", func() bool {
		report := ask(contract.QueryReport)
		return report.Caps == contract.WorkerCaps{MaxDetect: 3, MaxExecute: 7} && report.Held
	})
	close(release)
	require.NoError(t, run.Get(t.Context(), nil))
}

func TestNodeFollowsItsDeadSelfAtOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	dir := t.TempDir()
	inDir := func(o *workers.NodeOptions) { o.DataDir = dir }
	first := h.started(t, &handler{execute: done}, inDir)
	_, err := workers.NewNode(h.client, workers.NodeOptions{ID: "node-a", DataDir: dir, Handlers: []jobtype.Handler{&handler{}}})
	var inUse *workers.InUseError
	require.ErrorAs(t, err, &inUse)
	// A crash leaves the registration and frees the lock. Stop frees the lock, so the
	// registration is restored.
	require.NoError(t, first.Stop(t.Context()))
	handle, err := h.client.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: contract.FleetWorkflowID, UpdateName: contract.UpdateRegisterWorker, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{contract.WorkerRegistration{ID: "node-a", Instance: first.Instance(), Host: "h", PID: 1}},
	})
	require.NoError(t, err)
	require.NoError(t, handle.Get(t.Context(), nil))
	second := h.started(t, &handler{execute: done}, inDir)
	assert.Equal(t, second.Instance(), h.registered(t)["node-a"].Instance)
}

func TestNodeKeepsItsCapsOverAllQueues(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	work := &handler{execute: func(ctx context.Context, _ jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
		return jobtype.Result{}, nil
	}}
	shared := []string{"a", "b", "c"}
	node := h.started(t, work, func(o *workers.NodeOptions) { o.MaxExecute, o.Shared = 3, shared })
	queues := []string{contract.WorkerQueue("node-a", node.Instance())}
	for _, jobType := range shared {
		queues = append(queues, contract.SharedQueue(jobType))
	}
	completed, full := 0, 0
	var runs []client.WorkflowRun
	for _, queue := range queues {
		runs = append(runs, h.run(t, groupInput{Queue: queue, Jobs: someJobs(30)}))
	}
	for _, run := range runs {
		for _, end := range ends(t, run) {
			switch end.Failure {
			case "":
				completed++
			case contract.FailureAtCapacity:
				full++
			default:
				t.Errorf("unexpected end: %+v", end)
			}
		}
	}
	_, worst, total := work.now()
	assert.Equal(t, 120, completed+full)
	assert.Equal(t, completed, total, "a job that found the gate shut never ran")
	assert.Equal(t, 3, worst, "the cap is kept, and used")
}

// A full worker answers a task: it has no slot, because of other groups.
func TestNodeThatIsFullSaysSo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	release, begun := make(chan struct{}), make(chan struct{}, 2)
	work := &handler{execute: func(ctx context.Context, _ jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
		begun <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return jobtype.Result{}, nil
	}}
	node := h.started(t, work, func(o *workers.NodeOptions) { o.MaxExecute = 2 })
	queue := contract.WorkerQueue("node-a", node.Instance())
	first := h.run(t, groupInput{Queue: queue, Jobs: someJobs(2)})
	<-begun
	<-begun
	before := time.Now()
	for id, end := range ends(t, h.run(t, groupInput{Queue: queue, Jobs: someJobs(3), Heartbeat: time.Minute})) {
		assert.Equal(t, contract.FailureAtCapacity, end.Failure, id)
		assert.Equal(t, []int{2, 2}, []int{end.State.Others, end.State.OthersOfHandler}, id)
		assert.Equal(t, node.Instance(), end.State.Instance)
		assert.WithinRange(t, end.State.StartedAt, before, time.Now())
	}
	close(release)
	for id, end := range ends(t, first) {
		assert.Empty(t, end.Failure, id)
		assert.Zero(t, end.State.Others, id)
	}
}

// The same applies to detections.
func TestNodeWithoutADetectSlotSaysSo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	release, begun := make(chan struct{}), make(chan struct{}, 1)
	work := &handler{execute: done, detect: func(context.Context, jobtype.DetectInput, jobtype.ProposalSink) error {
		begun <- struct{}{}
		<-release
		return nil
	}}
	node := h.started(t, work, func(o *workers.NodeOptions) { o.MaxDetect = 1 })
	queue := contract.WorkerDetectQueue("node-a", node.Instance())
	detection := contract.DetectActivityInput{Handler: "fake", Attempt: 1, Input: jobtype.DetectInput{JobType: "x"}}
	first := h.run(t, groupInput{Queue: queue, Detect: &detection})
	<-begun
	var result groupResult
	second := detection
	require.NoError(t, h.run(t, groupInput{Queue: queue, Detect: &second}).Get(t.Context(), &result))
	assert.Contains(t, result.Error, "no free slot")
	close(release)
	require.NoError(t, first.Get(t.Context(), &result))
	assert.Empty(t, result.Error)
}

func TestNodeResizesWhileRunning(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	release := make(chan struct{})
	work := &handler{execute: until(release)}
	node := h.started(t, work, func(o *workers.NodeOptions) { o.MaxExecute = 1 })
	run := h.run(t, groupInput{Queue: contract.WorkerQueue("node-a", node.Instance()), Jobs: someJobs(6)})
	running := func(want int) func() bool {
		return func() bool { n, _, _ := work.now(); return n == want }
	}
	testsuite.WaitFor(t, 20*time.Second, "one job runs", running(1))
	require.NoError(t, node.Resize(1, 4))
	testsuite.WaitFor(t, 20*time.Second, "four jobs run", running(4))
	require.Error(t, node.Resize(0, 1))
	close(release)
	assert.Len(t, ends(t, run), 6)
}

func TestNodeHandsBackWhatStillRuns(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	big := strings.Repeat("x", jobtype.MaxCheckpointBytes-20)
	work := &handler{execute: func(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
		if job.Checkpoint != nil {
			return jobtype.Result{Output: string(job.Checkpoint)}, nil
		}
		if err := progress.Checkpoint(map[string]string{"at": big}); err != nil {
			return jobtype.Result{}, err
		}
		<-ctx.Done()
		return jobtype.Result{}, context.Cause(ctx)
	}}
	node := h.started(t, work, func(o *workers.NodeOptions) { o.DrainTimeout = 300 * time.Millisecond })
	run := h.run(t, groupInput{Queue: contract.WorkerQueue("node-a", node.Instance()), Jobs: someJobs(2)})
	testsuite.WaitFor(t, 20*time.Second, "both jobs run", func() bool { n, _, _ := work.now(); return n == 2 })
	require.NoError(t, node.Stop(t.Context()))
	got := ends(t, run)
	require.Len(t, got, 2)
	for _, end := range got {
		assert.Equal(t, contract.FailureDraining, end.Failure)
		var kept map[string]string
		require.NoError(t, json.Unmarshal(end.State.Checkpoint, &kept), "a failure must carry a checkpoint of full size")
		assert.Len(t, kept["at"], len(big))
	}
}

func TestNodeLetsJobsEndWhileDraining(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	release := make(chan struct{})
	work := &handler{execute: until(release)}
	node := h.started(t, work)
	run := h.run(t, groupInput{Queue: contract.WorkerQueue("node-a", node.Instance()), Jobs: someJobs(2)})
	testsuite.WaitFor(t, 20*time.Second, "both jobs run", func() bool { n, _, _ := work.now(); return n == 2 })
	stopped := make(chan error)
	go func() { stopped <- node.Stop(context.WithoutCancel(t.Context())) }()
	testsuite.WaitFor(t, 20*time.Second, "it has said goodbye", func() bool { return len(h.registered(t)) == 0 })
	close(release)
	require.NoError(t, <-stopped)
	for _, end := range ends(t, run) {
		assert.Equal(t, "did "+contract.JobID(1), strings.Replace(end.State.Result.Summary, contract.JobID(2), contract.JobID(1), 1))
	}
}

func TestNodeCancelsAJobWithItsHandler(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	work := &handler{execute: until(nil)}
	node := h.started(t, work)
	run := h.run(t, groupInput{
		Queue: contract.WorkerQueue("node-a", node.Instance()),
		Jobs:  someJobs(1, func(in *contract.ExecuteInput) { in.Interactive = true }),
	})
	testsuite.WaitFor(t, 20*time.Second, "the job runs", func() bool { n, _, _ := work.now(); return n == 1 })
	require.NoError(t, h.client.SignalWorkflow(t.Context(), run.GetID(), "", contract.SignalCancelRun, nil))
	end := ends(t, run)[contract.JobID(1)]
	assert.Equal(t, contract.FailureCanceled, end.Failure)
}

func TestNodeHandlerThatHangsLosesItsJob(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	work := &handler{execute: until(nil)}
	node := h.started(t, work)
	run := h.run(t, groupInput{
		Queue: contract.WorkerQueue("node-a", node.Instance()), Heartbeat: 2 * time.Second, Grace: time.Second,
		Jobs: someJobs(1, func(in *contract.ExecuteInput) {
			in.Liveness, in.StallTimeout = jobtype.LivenessProgress, jobtype.Duration(time.Second)
		}),
	})
	end := ends(t, run)[contract.JobID(1)]
	assert.Equal(t, contract.FailureWorkerLost, end.Failure)
	assert.Contains(t, end.Error, "Heartbeat")
	testsuite.WaitFor(t, 20*time.Second, "the hung handler is told", func() bool { n, _, _ := work.now(); return n == 0 })
}

func TestNodesShareAClient(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	a := h.started(t, &handler{execute: done})
	b := h.started(t, &handler{execute: done}, func(o *workers.NodeOptions) { o.ID = "node-b" })
	require.NotEqual(t, a.Identity(), b.Identity())
	testsuite.WaitFor(t, 30*time.Second, "the server lists both by queue and identity", func() bool {
		listed, err := h.client.WorkflowService().ListWorkers(t.Context(), &workflowservice.ListWorkersRequest{Namespace: h.server.Namespace})
		if err != nil {
			return false
		}
		identities := map[string]string{}
		for _, info := range listed.GetWorkers() {
			identities[info.GetTaskQueue()] = info.GetWorkerIdentity()
		}
		return identities[contract.WorkerQueue("node-a", a.Instance())] == a.Identity() &&
			identities[contract.WorkerDetectQueue("node-b", b.Instance())] == b.Identity()
	})
}
