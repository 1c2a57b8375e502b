package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/registry"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	// MaxWait bounds a poll: the server answers an empty one after a minute itself.
	MaxWait = 60 * time.Second
	// minPoll is hardly longer than the shortest poll that the server takes, two
	// seconds; it answers pollMargin before the end.
	minPoll    = 2500 * time.Millisecond
	pollMargin = time.Second
	// refuseTimeout bounds returning a task, also for a client that is gone.
	refuseTimeout = 5 * time.Second
)

// PollInput is what a worker says when it wants work.
type PollInput struct {
	// Wait is how long it waits, at most [MaxWait].
	Wait time.Duration
	// Full: it has no free slot. An item that was sent to it is returned at once instead of
	// waiting for it, and placed elsewhere.
	Full bool
	// Running are the leases of the jobs that it runs. A run that was cut off from one
	// of them gives it a new lease; without Running it places the job elsewhere.
	Running []string
}

// Job is a job with its lease.
type Job struct {
	jobtype.Job
	// Handler executes it.
	Handler string `json:"handler"`
	// Lease names the attempt in all that is said about it.
	Lease string `json:"lease"`
	// Replaces is the lease of a job that the worker runs already, to which it beats
	// and reports by this one from now on; there is nothing to start then.
	Replaces string `json:"replaces,omitempty"`
	// HeartbeatTimeout is how long the worker may be silent about it, 0: for ever;
	// HeartbeatInterval is how often it beats.
	HeartbeatTimeout  jobtype.Duration `json:"heartbeat_timeout,omitempty"`
	HeartbeatInterval jobtype.Duration `json:"heartbeat_interval"`
	// Timeout is how long it may take, ProgressTimeout how long its progress may stay
	// the same; 0: no limit. The worker keeps them.
	Timeout         jobtype.Duration `json:"timeout,omitempty"`
	ProgressTimeout jobtype.Duration `json:"progress_timeout,omitempty"`
	// StopAfter is how long no heartbeat may be taken before the worker stops the job;
	// 0: it continues.
	StopAfter jobtype.Duration `json:"stop_after,omitempty"`
}

// PollJob waits for a job; nil: there is none. It polls only the queue of this very
// process.
func (w Worker) PollJob(ctx context.Context, in PollInput) (*Job, error) {
	if err := w.registered(ctx); err != nil {
		return nil, err
	}
	queue := contract.WorkerQueue(w.who.ID, w.who.Instance)
	for wait := newWait(in.Wait); wait.more(); {
		task, err := w.poll(ctx, queue, wait)
		if task == nil || err != nil {
			return nil, err
		}
		var input contract.ExecuteInput
		if err := w.g.converter.FromPayloads(task.GetInput(), &input); err != nil {
			w.refuse(ctx, task, contract.FailurePermanent, "the gateway cannot read the job: "+err.Error())
			continue
		}
		job, err := w.take(ctx, task, input, in)
		if job != nil || err != nil {
			return job, err
		}
	}
	return nil, nil
}

// waiting is the time that a client waits. However short it is, there is one poll.
type waiting struct {
	until time.Time
	begun bool
}

func newWait(wait time.Duration) *waiting {
	return &waiting{until: time.Now().Add(min(max(wait, 0), MaxWait))}
}

func (w *waiting) more() bool { return !w.begun || time.Now().Before(w.until) }

// take decides what becomes of a task; nil: it was returned.
func (w Worker) take(ctx context.Context, task *workflowservice.PollActivityTaskQueueResponse, input contract.ExecuteInput, in PollInput) (*Job, error) {
	l := w.lease(task, input)
	if input.Adopt {
		return w.adopted(ctx, task, l, in)
	}
	switch {
	case ctx.Err() != nil:
		w.refuse(ctx, task, contract.FailureDraining, fmt.Sprintf("worker %s hung up before it got the job", w.who.ID))
		return nil, context.Cause(ctx)
	case w.held(ctx):
		w.refuse(ctx, task, contract.FailureDraining, fmt.Sprintf("worker %s is drained or cordoned", w.who.ID))
		return nil, nil
	case in.Full:
		w.refuse(ctx, task, contract.FailureAtCapacity, fmt.Sprintf("worker %s has no free slot", w.who.ID))
		return nil, nil
	}
	input, err := w.completed(ctx, l.Workflow, input)
	if err != nil {
		w.refuse(ctx, task, contract.FailureAtCapacity, err.Error())
		return nil, nil
	}
	job, err := jobs.Merged(input)
	if err != nil {
		w.refuse(ctx, task, contract.FailurePermanent, err.Error())
		return nil, nil
	}
	job.GroupID, job.WorkerID, job.Deadline = l.Workflow, w.who.ID, l.deadline()
	job.Run.ID = l.Workflow
	return w.job(job, input, l, task.GetHeartbeatTimeout().AsDuration())
}

// commonTimeout bounds how long a client waits for what the jobs of a run have in common.
// A job that cannot be completed is returned, and placed again.
const commonTimeout = 10 * time.Second

func (w Worker) completed(ctx context.Context, workflowID string, input contract.ExecuteInput) (contract.ExecuteInput, error) {
	input, complete := w.g.commons.Take(input)
	if complete {
		return input, nil
	}
	ctx, cancel := context.WithTimeout(ctx, commonTimeout)
	defer cancel()
	return w.g.commons.Fetch(ctx, workflowID, input, func() {})
}

func (w Worker) job(job jobtype.Job, input contract.ExecuteInput, l leased, heartbeat time.Duration) (*Job, error) {
	sealed, err := w.g.sealer.seal(sealedLease, l)
	if err != nil {
		return nil, err
	}
	return &Job{
		Job: job, Handler: input.Handler, Lease: sealed, HeartbeatTimeout: jobtype.Duration(heartbeat), HeartbeatInterval: beatEvery(heartbeat),
		Timeout: input.Timeout, ProgressTimeout: input.ProgressTimeout, StopAfter: input.StopAfter,
	}, nil
}

// adopted gives a job that the worker runs its new lease. Any other adoption fails,
// so that the job is placed again.
func (w Worker) adopted(ctx context.Context, task *workflowservice.PollActivityTaskQueueResponse, l leased, in PollInput) (*Job, error) {
	for _, sealed := range in.Running {
		var has leased
		if w.g.sealer.open(sealedLease, sealed, &has) != nil || has.Worker != w.who.ID || !has.same(l) {
			continue
		}
		l.Started = has.Started
		job, err := w.job(jobtype.Job{ID: l.Job, GroupID: l.Workflow, Attempt: l.Attempt, Fence: l.Fence, WorkerID: w.who.ID, Deadline: l.deadline()},
			contract.ExecuteInput{}, l, task.GetHeartbeatTimeout().AsDuration())
		if err != nil {
			return nil, err
		}
		job.Replaces = sealed
		return job, nil
	}
	w.refuse(ctx, task, contract.FailureNotRunning, fmt.Sprintf("attempt %d of %s does not run on worker %s", l.Attempt, l.Job, w.who.ID))
	return nil, nil
}

// lease describes the attempt that a task is.
func (w Worker) lease(task *workflowservice.PollActivityTaskQueueResponse, input contract.ExecuteInput) leased {
	now := time.Now()
	l := leased{
		Worker: w.who.ID, Instance: w.who.Instance, Token: task.GetTaskToken(), Workflow: input.Job.GroupID,
		Job: input.Job.ID, Attempt: input.Job.Attempt, Fence: input.Job.Fence, Started: now.UnixMilli(),
	}
	if l.Workflow == "" {
		l.Workflow = task.GetWorkflowExecution().GetWorkflowId()
	}
	limit := input.Timeout.Std()
	if server := task.GetStartToCloseTimeout().AsDuration(); limit <= 0 || server > 0 && server < limit {
		limit = server
	}
	if limit > 0 {
		l.Deadline = now.Add(limit).UnixMilli()
	}
	return l
}

// poll waits for one task; nil: there is none.
func (w Worker) poll(ctx context.Context, queue string, wait *waiting) (*workflowservice.PollActivityTaskQueueResponse, error) {
	wait.begun = true
	limited, cancel := context.WithTimeout(ctx, max(time.Until(wait.until)+pollMargin, minPoll))
	defer cancel()
	task, err := w.g.service.PollActivityTaskQueue(limited, &workflowservice.PollActivityTaskQueueRequest{
		Namespace: w.g.namespace, Identity: registry.Identity(w.who.registration()),
		TaskQueue: &taskqueuepb.TaskQueue{Name: queue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, late := errors.AsType[*serviceerror.DeadlineExceeded](err); late || errors.Is(err, context.DeadlineExceeded) {
			return nil, nil
		}
		return nil, unavailable("the server did not take the poll", err)
	}
	if len(task.GetTaskToken()) == 0 {
		return nil, nil
	}
	return task, nil
}

// refuse returns a task, also for a client that is gone. If that fails, the heartbeat
// timeout places the job elsewhere as well.
func (w Worker) refuse(ctx context.Context, task *workflowservice.PollActivityTaskQueueResponse, kind contract.FailureKind, message string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refuseTimeout)
	defer cancel()
	state := jobs.Failed(w.state(w.who.Instance, 0), kind, message, "")
	if err := w.g.server.Complete(ctx, task.GetTaskToken(), state, jobs.FailureOf(state)); err != nil && !errors.Is(err, jobtype.ErrLeaseLost) {
		w.g.logger.Warn("a job could not be returned", "worker", w.who.ID, "activity", task.GetActivityId(), "error", err)
	}
}

// linger returns what was sent before the senders learned that the worker is gone;
// left in the queue it would look as if the worker were lost.
func (w Worker) linger(ctx context.Context) {
	queue := contract.WorkerQueue(w.who.ID, w.who.Instance)
	for wait := newWait(minPoll - pollMargin); wait.more(); {
		task, err := w.poll(ctx, queue, wait)
		if task == nil || err != nil {
			return
		}
		w.refuse(ctx, task, contract.FailureDraining, fmt.Sprintf("worker %s is being stopped", w.who.ID))
	}
}
