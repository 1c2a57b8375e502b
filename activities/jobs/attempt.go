package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/jobtype"
)

// lateError counts as [jobtype.ErrDeadline]. Its text names the exceeded limit.
type lateError struct{ text string }

// Error implements error.
func (e *lateError) Error() string { return e.text }

// Is makes the cause a [jobtype.ErrDeadline].
func (e *lateError) Is(target error) bool { return target == jobtype.ErrDeadline }

var (
	// errStale ends a job whose progress did not change for progress_timeout.
	errStale error = &lateError{"no change of progress for progress_timeout"}
	// errQuiet ends an attempt without a sign of life for stall_timeout under liveness activity.
	errQuiet     error = &lateError{"no sign of life for stall_timeout"}
	errDetection error = &lateError{"the detection is over its detection_timeout"}

	errExited = errors.New("the handler ended its goroutine without a result: it must return, not call runtime.Goexit")
)

// Bounds of a reported panic: a failure's message would otherwise lose its middle.
const (
	maxPanicBytes = 300
	maxStackBytes = 650
)

type attempt struct {
	activities *Activities
	what       Running
	key        attemptKey
	hold       *hold
	limits     limits
	deadline   time.Time

	ctx      context.Context //nolint:containedctx // the handler's context is what the attempt is about
	cancel   context.CancelCauseFunc
	release  context.CancelFunc
	progress *progress

	ended             chan struct{}
	err, cause        error
	zombie, reporting atomic.Bool
}

// newAttempt prepares an attempt of at most timeout (0 means the activity's). The handler's context does not derive
// from the SDK's, which is canceled for reasons that must not end a job; see the package comment.
func (a *Activities) newAttempt(ctx context.Context, what Running, timeout time.Duration) *attempt {
	info := activity.GetInfo(ctx)
	what.StartedAt = time.Now()
	deadline, limited := ctx.Deadline()
	if own := what.StartedAt.Add(timeout); timeout > 0 && (!limited || own.Before(deadline)) {
		deadline, limited = own, true
	}
	r := &attempt{
		activities: a, what: what, ended: make(chan struct{}),
		hold: newHold(lease{token: info.TaskToken, timeout: info.HeartbeatTimeout, since: what.StartedAt}),
	}
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r.ctx, r.cancel, r.release = base, cancel, func() { cancel(nil) }
	if limited {
		r.deadline = deadline
		bounded, release := context.WithDeadlineCause(base, deadline, what.overTime())
		r.ctx, r.release = bounded, func() { release(); cancel(nil) }
	}
	return r
}

// start runs work. A panic ends the attempt, not the process.
func (r *attempt) start(work func(ctx context.Context) error) {
	go func() {
		defer close(r.ended)
		defer func() {
			if fault := recover(); fault != nil {
				r.err = fmt.Errorf("the handler panicked: %s\n%s", jobtype.Clip(fmt.Sprint(fault), maxPanicBytes), head(string(debug.Stack()), maxStackBytes))
			}
			r.cause = context.Cause(r.ctx)
		}()
		r.err = errExited // runtime.Goexit leaves it.
		r.err = work(r.ctx)
	}()
}

// supervise returns true if the handler has ended; false if the worker's life has ended, or the grace after a cancel is
// over and there is something to report: the timeout, or a settled outcome, for which a stopping worker has little time.
func (r *attempt) supervise(sdk context.Context) (ended bool) {
	first, _ := r.limits.exceeded(r.progress, time.Now())
	stale := newStopped(first)
	defer stale.Stop()
	grace := newStopped(0)
	defer grace.Stop()
	sdkDone, intake, canceled := sdk.Done(), r.activities.intake.Done(), r.ctx.Done()
	for {
		select {
		case <-r.ended:
			return true
		case <-r.activities.life.Done():
			return false
		case <-sdkDone:
			sdkDone = nil
			r.cancel(r.what.causeOf(sdk))
		case <-intake:
			intake = nil
			r.cancel(context.Cause(r.activities.intake))
		case <-canceled:
			canceled = nil
			grace.Reset(r.activities.options.CancelGrace)
		case <-grace.C:
			r.zombie.Store(true)
			r.activities.options.Logger.Warn("a handler ignores its canceled context and keeps its slot",
				"job", r.what.JobID, "group", r.what.GroupID, "handler", r.what.Handler, "cause", context.Cause(r.ctx))
			if r.progress.outcome() != nil || errors.Is(context.Cause(r.ctx), jobtype.ErrDeadline) {
				return false
			}
		case <-stale.C:
			left, cause := r.limits.exceeded(r.progress, time.Now())
			if cause != nil {
				r.cancel(cause)
			} else if left > 0 {
				stale.Reset(left)
			}
		}
	}
}

type limits struct {
	progress, quiet time.Duration
}

// exceeded returns the exceeded limit as a cause, or the time until one may be exceeded; 0 means never.
func (l limits) exceeded(p *progress, now time.Time) (left time.Duration, cause error) {
	_, reported, changed := p.snapshot()
	if p.outcome() != nil {
		l.progress = 0 // The work has ended, and what closes reports no progress.
	}
	for _, limit := range []struct {
		after time.Duration
		since time.Time
		cause error
	}{{l.quiet, reported, errQuiet}, {l.progress, changed, errStale}} {
		if limit.after <= 0 {
			continue
		}
		rest := limit.after - now.Sub(limit.since)
		if rest <= 0 {
			return 0, limit.cause
		}
		if left == 0 || rest < left {
			left = rest
		}
	}
	return left, nil
}

func newStopped(d time.Duration) *time.Timer {
	if d > 0 {
		return time.NewTimer(d)
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return timer
}

// await holds the slot until the handler has really ended, or the worker's life has.
func (r *attempt) await() {
	select {
	case <-r.ended:
	case <-r.activities.life.Done():
	}
	r.release()
}

func (r *attempt) describe() Running {
	what := r.what
	what.Zombie, what.Reporting, what.Ending = r.zombie.Load(), r.reporting.Load(), r.ctx.Err() != nil
	what.Orphaned, _ = r.hold.describe()
	beat, reported, _ := r.progress.snapshot()
	what.Percent, what.Stage, what.Message, what.ReportedAt = beat.Percent, beat.Stage, beat.Message, reported
	return what
}

func (r Running) overTime() error {
	if r.Detection {
		return errDetection
	}
	return jobtype.ErrDeadline
}

func (r Running) causeOf(sdk context.Context) error {
	cause := context.Cause(sdk)
	var canceled *temporal.CanceledError
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		return r.overTime()
	case errors.As(cause, &canceled):
		return jobtype.ErrCanceled
	default:
		// The only other reason of the SDK is the end of the worker.
		return jobtype.ErrDraining
	}
}
