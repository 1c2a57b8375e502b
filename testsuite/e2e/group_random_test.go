package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// wild succeeds or fails as its proposals require, and counts.
type wild struct {
	mu sync.Mutex
	// began and done count the started and successful attempts of a group's jobs. fences are the received
	// fences.
	began, done map[string]int
	fences      map[string]map[int64]bool
	faults      []string
}

type wildParams struct {
	N    int    `json:"n"`
	Does string `json:"does"`
}

func (*wild) Descriptor() jobtype.Descriptor { return jobtype.Descriptor{Name: "wild"} }

func (*wild) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	var params wildParams
	if err := json.Unmarshal(in.Params, &params); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Duration(params.N) * 10 * time.Millisecond):
	}
	for i := range params.N {
		does := []string{"well", "well", "slow", "fails", "flaky", "panics", "stubborn", "waits"}[i%8]
		p := jobtype.Proposal{DedupeKey: fmt.Sprintf("key/%d", i), Summary: does, Params: fmt.Appendf(nil, `{"does":%q}`, does)}
		switch i % 5 {
		case 1:
			p.Resources = map[string]int{"wild": 1}
		case 2:
			p.Exclusive = []string{fmt.Sprintf("%s/%d", in.JobType, i%3)}
		case 3:
			p.Priority = jobtype.PriorityHigh
		}
		for range 1 + i%2 { // Every second one twice.
			if err := out.Emit(ctx, p); err != nil && !errors.Is(err, jobtype.ErrSinkFull) {
				return err
			}
		}
	}
	return nil
}

// Execute implements jobtype.Handler.
func (h *wild) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	var params wildParams
	if err := json.Unmarshal(job.Params, &params); err != nil {
		return jobtype.Result{}, jobtype.Permanent(err)
	}
	id := job.GroupID + " " + job.ID
	n := h.begin(id, job)
	progress.Alive()
	switch params.Does {
	case "slow":
		select {
		case <-ctx.Done():
			return jobtype.Result{}, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	case "fails":
		return jobtype.Result{}, errors.New("it went wrong")
	case "flaky":
		if n == 1 {
			return jobtype.Result{}, errors.New("not yet")
		}
	case "panics":
		panic("on purpose")
	case "stubborn": // It is done although it was canceled.
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	case "waits":
		select {
		case <-ctx.Done():
			return jobtype.Result{}, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done[id]++
	return jobtype.Result{}, nil
}

func (h *wild) begin(id string, job jobtype.Job) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began[id]++
	if h.began[id] != job.Attempt && h.began[id] > job.Attempt {
		h.faults = append(h.faults, fmt.Sprintf("%s: attempt %d was begun after %d others", id, job.Attempt, h.began[id]-1))
	}
	if h.fences[id] == nil {
		h.fences[id] = map[int64]bool{}
	}
	if h.fences[id][job.Fence] {
		h.faults = append(h.faults, fmt.Sprintf("%s: fence %d was given twice", id, job.Fence))
	}
	h.fences[id][job.Fence] = true
	return h.began[id]
}

// TestGroupRandomOperators: after random requests of operators a group ends with exact counts and a matching
// outcome, and holds nothing.
func TestGroupRandomOperators(t *testing.T) {
	t.Parallel()
	h := &wild{began: map[string]int{}, done: map[string]int{}, fences: map[string]map[int64]bool{}}
	p := newInProcess(t, 64, h, pauseButton())
	const runs, together = 12, 6
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any seed will do
	t.Logf("seed %d", seed)
	var wg sync.WaitGroup
	places := make(chan struct{}, together)
	for n := range runs {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			random := rand.New(rand.NewPCG(seed, uint64(n))) //nolint:gosec // for a test
			ref, jobs := p.beginWild(n, random)
			for range 14 {
				p.harass(ref, random, jobs)
			}
			p.calm(ref)
			h.checkEnd(t, p, ref)
		})
	}
	wg.Wait()
	h.mu.Lock()
	assert.Empty(t, h.faults)
	h.mu.Unlock()
	testsuite.WaitFor(t, 20*time.Second, "nothing is kept from others", func() bool {
		view := p.admission()
		return len(view.Holders)+view.Keys == 0
	})
}

func (p *inProcess) beginWild(n int, random *rand.Rand) (starter.RunRef, int) {
	name, jobs := fmt.Sprintf("wild-%d", n), 4+random.IntN(16)
	policy := jobtype.Policy{
		GlobalExecutionConcurrency: 1 + random.IntN(8), PerWorkerExecutionConcurrency: 8, RetryLimit: random.IntN(3), RetryBackoff: jobtype.Duration(time.Second),
		HeartbeatTimeout: jobtype.Duration(5 * time.Second), Interactive: true, MaxJobsPerDetection: 1 + random.IntN(40),
	}.WithDefaults()
	in := contract.JobGroupInput{RollEvents: random.IntN(2), Spec: contract.JobTypeSpec{
		Name: name, Handler: "wild", Params: fmt.Appendf(nil, `{"n":%d}`, jobs), Policy: policy, Resources: map[string]int{"wild": 3},
		Lane: []string{"", "wild"}[n%2], LaneShared: n%4 == 1, Interval: jobtype.Duration(time.Hour),
	}}
	run, err := p.client.Temporal().ExecuteWorkflow(p.t.Context(), client.StartWorkflowOptions{
		ID: "group/" + name, TaskQueue: contract.ControlQueue,
	}, contract.JobGroupWorkflow, in)
	require.NoError(p.t, err)
	return starter.RunRef{WorkflowID: run.GetID()}, jobs
}

// harass sends one random message. The group may refuse it.
func (p *inProcess) harass(ref starter.RunRef, random *rand.Rand, jobs int) {
	ctx, c, temporal := p.t.Context(), p.client, p.client.Temporal()
	job := contract.JobID(1 + random.IntN(jobs))
	key := fmt.Sprintf("key/%d", random.IntN(jobs))
	execution := &commonpb.WorkflowExecution{WorkflowId: ref.WorkflowID}
	var err error
	switch random.IntN(22) {
	case 0, 1:
		err = testsuite.CancelItem(ctx, temporal, ref.WorkflowID, contract.CancelItemInput{Item: job})
	case 2:
		err = testsuite.CancelItem(ctx, temporal, ref.WorkflowID, contract.CancelItemInput{Key: key})
	case 3, 4:
		err = testsuite.CancelItem(ctx, temporal, ref.WorkflowID, contract.CancelItemInput{Force: true, Item: job})
	case 5, 6:
		err = c.Runs().Pause(ctx, ref, "for a test")
	case 7, 8, 9:
		err = c.Runs().Resume(ctx, ref)
	case 10, 11, 12:
		change := fmt.Sprintf(`{"global_execution_concurrency":%d,"retry_limit":%d,"routing":%q,"heartbeat_timeout":"%ds"}`,
			1+random.IntN(8), random.IntN(3), []string{"worker", "shared"}[random.IntN(2)], 3+random.IntN(4))
		var handle client.WorkflowUpdateHandle
		handle, err = temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: ref.WorkflowID, UpdateName: contract.UpdateSetPolicy, WaitForStage: client.WorkflowUpdateStageCompleted,
			Args: []any{contract.SetPolicyInput{Change: json.RawMessage(change), By: "test"}},
		})
		if err == nil {
			err = handle.Get(ctx, nil)
		}
	case 13:
		_, err = temporal.WorkflowService().ResetActivity(ctx, &workflowservice.ResetActivityRequest{
			Namespace: c.Namespace(), Execution: execution, Activity: &workflowservice.ResetActivityRequest_Id{Id: job}, ResetHeartbeat: true,
		})
	case 14:
		_, err = temporal.WorkflowService().PauseActivity(ctx, &workflowservice.PauseActivityRequest{
			Namespace: c.Namespace(), Execution: execution, Activity: &workflowservice.PauseActivityRequest_Id{Id: job}, Reason: "for a test",
		})
	case 15:
		_, err = temporal.WorkflowService().PauseWorkflowExecution(ctx, &workflowservice.PauseWorkflowExecutionRequest{
			Namespace: c.Namespace(), WorkflowId: ref.WorkflowID, Reason: "for a test", Identity: "test",
		})
	case 16, 17:
		p.unpause(ref)
	case 18:
		if random.IntN(3) == 0 {
			err = temporal.SignalWorkflow(ctx, ref.WorkflowID, "", contract.SignalCancelRun, contract.CancelRunInput{Reason: "for a test"})
		}
	default:
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(random.IntN(150)) * time.Millisecond):
		}
	}
	if err != nil {
		assert.NotContains(p.t, err.Error(), "panic", "%v", err)
	}
}

// unpauseJobs ends the pauses of activities. One that was paused before its worker took it starts no sooner.
func (p *inProcess) unpauseJobs(ref starter.RunRef) {
	described, err := p.client.Temporal().DescribeWorkflowExecution(p.t.Context(), ref.WorkflowID, "")
	if err != nil {
		return
	}
	for _, activity := range described.GetPendingActivities() {
		if activity.GetPaused() {
			_, _ = p.client.Temporal().WorkflowService().UnpauseActivity(p.t.Context(), &workflowservice.UnpauseActivityRequest{
				Namespace: p.client.Namespace(), Execution: &commonpb.WorkflowExecution{WorkflowId: ref.WorkflowID},
				Activity: &workflowservice.UnpauseActivityRequest_Id{Id: activity.GetActivityId()},
			})
		}
	}
}

// unpause ends a pause by Temporal itself, if there is one.
func (p *inProcess) unpause(ref starter.RunRef) {
	_, _ = p.client.Temporal().WorkflowService().UnpauseWorkflowExecution(p.t.Context(), &workflowservice.UnpauseWorkflowExecutionRequest{
		Namespace: p.client.Namespace(), WorkflowId: ref.WorkflowID, Reason: "for a test", Identity: "test",
	})
}

// calm reverts all requests that would keep the group from its end.
func (p *inProcess) calm(ref starter.RunRef) {
	p.unpause(ref)
	p.unpauseJobs(ref)
	if err := p.client.Runs().Resume(p.t.Context(), ref); err != nil {
		assert.ErrorIs(p.t, err, starter.ErrAlreadyEnded)
	}
	handle, err := p.client.Temporal().UpdateWorkflow(p.t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: ref.WorkflowID, UpdateName: contract.UpdateSetPolicy, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{contract.SetPolicyInput{Change: json.RawMessage(`{"routing":"worker"}`), By: "test"}}, // No worker pulls the shared queue.
	})
	if err == nil {
		err = handle.Get(p.t.Context(), nil)
	}
	if err != nil { // It has ended, or not begun, so no request has changed it.
		p.t.Log(ref.WorkflowID, err)
	}
}

func (h *wild) checkEnd(t *testing.T, p *inProcess, ref starter.RunRef) {
	ctx, cancel := testsuite.Within(t, 90*time.Second)
	defer cancel()
	result, err := p.client.Runs().Result(ctx, ref)
	if !assert.NoError(t, err, ref.WorkflowID) {
		snapshot, _ := p.client.Runs().Show(t.Context(), ref)
		t.Logf("%s: %+v %+v", ref.WorkflowID, snapshot.Group, snapshot.Unanswered)
		return
	}
	c := result.Counts
	assert.Equal(t, c.Accepted, c.Completed+c.Failed+c.Canceled+c.Stale+c.Expired+c.NotStarted, ref.WorkflowID)
	assert.Equal(t, c.Detected, c.Accepted+c.Batched+c.Duplicates+c.AlreadyActive+c.Disabled+c.Surplus+c.Invalid, ref.WorkflowID)
	views, total, err := p.client.Runs().Items(t.Context(), ref, starter.ItemFilter{Limit: 200})
	require.NoError(t, err)
	assert.Equal(t, c.Accepted, total)
	states := map[string]int{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, view := range views {
		states[view.State]++
		id := ref.WorkflowID + " " + view.ID
		assert.LessOrEqual(t, h.began[id], view.Attempt, id)
		if view.State == "completed" {
			assert.Positive(t, h.done[id], "%s is said to be done", id)
		}
	}
	assert.Equal(t, []int{c.Completed, c.Failed, c.Canceled, c.Stale, c.Expired, c.NotStarted},
		[]int{states["completed"], states["failed"], states["canceled"], states["stale"], states["expired"], states["not_started"]}, ref.WorkflowID)
	switch bad := c.Failed + c.Canceled + c.Stale + c.Expired + c.NotStarted + c.Invalid; result.Outcome {
	case contract.OutcomeCompleted:
		assert.Zero(t, bad)
	case contract.OutcomePartial:
		assert.Positive(t, bad)
		assert.Positive(t, c.Completed)
	case contract.OutcomeFailed:
		assert.Zero(t, c.Completed)
	case contract.OutcomeCanceled:
	default:
		assert.Fail(t, "outcome", "%s: %s %s", ref.WorkflowID, result.Outcome, result.Reason)
	}
}
