package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/joblog"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
)

// Execute runs one attempt, reports the outcome itself and then returns [activity.ErrResultPending]. It returns only
// when the handler has ended and the outcome is accepted. With in.Adopt it returns at once, see adopt.
func (a *Activities) Execute(ctx context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
	if in.Adopt {
		return a.adopt(ctx, in)
	}
	in.Job.GroupID = workflowOf(ctx, in)
	what := Running{JobID: in.Job.ID, GroupID: in.Job.GroupID, JobType: in.Job.JobType, Handler: in.Handler, Attempt: in.Job.Attempt}
	r := a.newAttempt(ctx, what, in.Timeout.Std())
	r.key = keyOf(in.Job.GroupID, in.Job)
	r.limits = limits{progress: in.ProgressTimeout.Std(), quiet: quietLimit(in.Liveness, in.StallTimeout)}
	r.progress = newProgress(a.options.WorkerID, checkpointOf(ctx, in), r.what.StartedAt)
	logKey := joblog.Key{Group: r.key.group, Job: r.key.job, Attempt: r.key.attempt}
	log := a.logs.Begin(logKey, r.what.StartedAt)
	r.progress.log = log
	defer a.track(r)()

	stopBeating := r.beat(ctx, in)
	state, report := r.execute(ctx, in)
	a.logs.End(logKey, log)
	a.logEnd(r, in, state)
	if report {
		r.reporting.Store(true)
		bySignal := a.deliver(delivery{Token: r.hold.seal(state).token, WorkflowID: r.key.group, Outcome: contract.JobOutcomeInput{
			JobID: in.Job.ID, Attempt: in.Job.Attempt, Fence: in.Job.Fence, Outcome: state,
		}})
		if bySignal {
			a.keepSent(r.key, state)
		}
		r.reporting.Store(false)
	}
	stopBeating()
	r.await()
	return contract.ExecuteState{}, activity.ErrResultPending
}

func (r *attempt) execute(ctx context.Context, in contract.ExecuteInput) (contract.ExecuteState, bool) {
	handler, refusal := r.activities.executor(in.Handler)
	if refusal == nil {
		refusal = r.activities.refusesWork()
	}
	var job jobtype.Job
	in, complete := r.activities.commons.Take(in)
	if refusal == nil && complete {
		job, refusal = r.job(in)
	}
	if refusal != nil {
		close(r.ended)
		state := r.state()
		state.DurationMS = 0 // It did not run.
		state.Failure, state.Message = refusal.kind, head(refusal.message, maxFailureMessage)
		return state, true
	}
	var result jobtype.Result
	r.start(func(ctx context.Context) (err error) {
		if !complete {
			if job, err = r.completed(ctx, in); err != nil {
				return err
			}
		}
		result, err = handler.Execute(ctx, job, r.progress)
		return err
	})
	if !r.supervise(ctx) {
		// The handler still owns result.
		return r.conclude(jobtype.Result{}, false)
	}
	return r.conclude(result, true)
}

// Canceled or draining, the job did not begin. Over its time it counts, or it would be tried forever.
func (r *attempt) completed(ctx context.Context, in contract.ExecuteInput) (jobtype.Job, error) {
	in, err := r.activities.commons.Fetch(ctx, r.key.group, in, r.progress.Alive)
	if errors.Is(err, pages.ErrLost) {
		return jobtype.Job{}, jobtype.Permanent(contract.CodePageLost.Wrap(err))
	}
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, jobtype.ErrDeadline) {
		err = fmt.Errorf("%w: not started: %w", jobtype.ErrAtCapacity, err)
	}
	if err != nil {
		return jobtype.Job{}, err
	}
	job, refusal := r.job(in)
	if refusal != nil {
		return job, jobtype.Permanent(errors.New(refusal.message))
	}
	return job, nil
}

func (r *attempt) beat(ctx context.Context, in contract.ExecuteInput) (stop func()) {
	b := &beater{
		server: r.activities.options.Server, hold: r.hold, progress: r.progress, interactive: in.Interactive,
		ended: r.ended, stop: r.cancel, grace: in.OrphanGrace.Std(), stopAfter: in.StopAfter.Std(),
	}
	if in.Liveness != jobtype.LivenessProcess && in.Liveness != jobtype.LivenessActivity {
		b.stall = in.StallTimeout.Std()
		if b.stall <= 0 {
			first, _ := r.hold.current()
			b.stall = first.timeout
		}
	}
	b.stalled = func() {
		r.activities.options.Logger.Warn("a handler reports nothing: unless it does, its job is placed elsewhere; one that works on calls Progress.Report or Alive, or has liveness: process",
			"job", in.Job.ID, "group", in.Job.GroupID, "handler", in.Handler, "silent", b.stall)
	}
	return b.start(ctx)
}

func quietLimit(liveness jobtype.Liveness, stall jobtype.Duration) time.Duration {
	switch {
	case liveness != jobtype.LivenessActivity:
		return 0
	case stall <= 0:
		return jobtype.DefaultActivityStall.Std()
	}
	return stall.Std()
}

type refusal struct {
	kind    contract.FailureKind
	message string
}

func (a *Activities) executor(name string) (jobtype.Handler, *refusal) {
	handler, known := a.options.Handlers[name]
	switch {
	case !known:
		return nil, &refusal{contract.FailureUnsupported, fmt.Sprintf("worker %s has no handler %q: start a worker whose binary has it", a.options.WorkerID, name)}
	case a.descriptors[name].DetectOnly:
		return nil, &refusal{contract.FailureUnsupported, fmt.Sprintf("handler %q only detects", name)}
	}
	return handler, nil
}

func (a *Activities) refusesWork() *refusal {
	if cause := context.Cause(a.intake); cause != nil {
		return &refusal{contract.FailureDraining, "not started: " + cause.Error()}
	}
	return nil
}

func (r *attempt) job(in contract.ExecuteInput) (jobtype.Job, *refusal) {
	job, err := Merged(in)
	if err != nil {
		return job, &refusal{contract.FailurePermanent, err.Error()}
	}
	if len(job.Batch) > 0 && !r.activities.descriptors[in.Handler].Batches {
		return job, &refusal{contract.FailurePermanent, fmt.Sprintf("handler %q does one proposal at a time: remove batch from job type %s and apply", in.Handler, job.JobType)}
	}
	if len(job.Argv) == 0 { // A command of a DAG without params has an empty input.
		job.Params, job.Settings = orEmpty(job.Params), orEmpty(job.Settings)
	}
	beat, _, _ := r.progress.snapshot()
	job.Checkpoint = beat.Checkpoint
	job.WorkerID, job.WorkerLabels, job.Deadline = r.activities.options.WorkerID, r.activities.options.WorkerLabels, r.deadline
	job.Run.ID = job.GroupID
	return job, nil
}

// A previous attempt of this activity exists after a retry by the server.
func checkpointOf(ctx context.Context, in contract.ExecuteInput) json.RawMessage {
	var last contract.Heartbeat
	if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &last) == nil && len(last.Checkpoint) > 0 {
		return last.Checkpoint
	}
	return in.Job.Checkpoint
}

func workflowOf(ctx context.Context, in contract.ExecuteInput) string {
	return cmp.Or(in.Job.GroupID, activity.GetInfo(ctx).WorkflowExecution.ID)
}
