package gateway

import (
	"cmp"
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
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/internal/temporal/registry"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	// MaxWait bounds a poll. The server answers an empty poll after a minute.
	MaxWait = 60 * time.Second
	// The server's minimum is two seconds. The server answers pollMargin before the end.
	minPoll    = 2500 * time.Millisecond
	pollMargin = time.Second
	// refuseTimeout bounds the return of a task, also for a disconnected client.
	refuseTimeout = 5 * time.Second
)

// PollInput is a worker's request for work.
type PollInput struct {
	// Longest wait, at most [MaxWait].
	Wait time.Duration
	// Full: the worker has no free slot. An item sent to it is placed elsewhere.
	Full bool
	// Leases of the jobs that it runs. A run that lost contact to such a job gives it a new lease.
	Running []string
}

// Job is a job with its lease.
type Job struct {
	jobtype.Job
	Handler string `json:"handler"`
	// Lease identifies the attempt in all further calls.
	Lease string `json:"lease"`
	// Lease of a job that the worker runs already. It uses Lease from now on and starts nothing.
	Replaces string `json:"replaces,omitempty"`
	// Longest time without a heartbeat (0: no limit), and the interval of heartbeats.
	HeartbeatTimeout  jobtype.Duration `json:"heartbeat_timeout,omitempty"`
	HeartbeatInterval jobtype.Duration `json:"heartbeat_interval"`
	// Bounds of the attempt and of the time without progress, which the worker enforces.
	Timeout         jobtype.Duration `json:"timeout,omitempty"`
	ProgressTimeout jobtype.Duration `json:"progress_timeout,omitempty"`
	// Time without an accepted heartbeat after which the worker stops the job; 0: never.
	StopAfter jobtype.Duration `json:"stop_after,omitempty"`
}

// PollJob waits for a job of this process. It returns nil if there is none in time.
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

type waiting struct {
	until time.Time
	begun bool
}

func newWait(wait time.Duration) *waiting {
	return &waiting{until: time.Now().Add(min(max(wait, 0), MaxWait))}
}

func (w *waiting) more() bool { return !w.begun || time.Now().Before(w.until) }

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
	if errors.Is(err, pages.ErrLost) {
		w.refuse(ctx, task, contract.FailurePermanent, contract.CodePageLost.Wrap(err).Error())
		return nil, nil
	}
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

// A job without the common settings is placed again.
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

// Any adoption of a job that the worker does not run fails.
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

func (w Worker) lease(task *workflowservice.PollActivityTaskQueueResponse, input contract.ExecuteInput) leased {
	now := time.Now()
	l := leased{
		Worker: w.who.ID, Instance: w.who.Instance, Token: task.GetTaskToken(), Workflow: input.Job.GroupID,
		Job: input.Job.ID, Attempt: input.Job.Attempt, Fence: input.Job.Fence, Started: now.UnixMilli(),
	}
	l.Workflow = cmp.Or(l.Workflow, task.GetWorkflowExecution().GetWorkflowId())
	limit := input.Timeout.Std()
	if server := task.GetStartToCloseTimeout().AsDuration(); limit <= 0 || server > 0 && server < limit {
		limit = server
	}
	if limit > 0 {
		l.Deadline = now.Add(limit).UnixMilli()
	}
	return l
}

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

// If a refusal fails, the heartbeat timeout places the job elsewhere.
func (w Worker) refuse(ctx context.Context, task *workflowservice.PollActivityTaskQueueResponse, kind contract.FailureKind, message string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refuseTimeout)
	defer cancel()
	state := jobs.Failed(contract.ExecuteState{Worker: w.who.ID, Instance: w.who.Instance}, kind, message, "") // It ran for no time.
	if err := w.g.server.Complete(ctx, task.GetTaskToken(), state, jobs.FailureOf(state)); err != nil && !errors.Is(err, jobtype.ErrLeaseLost) {
		w.g.logger.Warn("a job could not be returned", "worker", w.who.ID, "activity", task.GetActivityId(), "error", err)
	}
}

// Late tasks in the queue would look like those of a lost worker.
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
