package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// leased is what a lease says. Its names are short: it is part of URLs.
type leased struct {
	Worker   string `json:"w"`
	Instance string `json:"n"`
	Token    []byte `json:"t"`
	Workflow string `json:"g"`
	Job      string `json:"j"`
	Attempt  int    `json:"a"`
	Fence    int64  `json:"f,omitempty"`
	// Started and Deadline are in Unix milliseconds; no Deadline: none.
	Started   int64 `json:"s"`
	Deadline  int64 `json:"x,omitempty"`
	Detection bool  `json:"d,omitempty"`
}

func (l leased) deadline() time.Time {
	if l.Deadline == 0 {
		return time.Time{}
	}
	return time.UnixMilli(l.Deadline).UTC()
}

func (l leased) overdue() bool { return l.Deadline != 0 && time.Now().UnixMilli() >= l.Deadline }

// same reports whether both are leases of one attempt.
func (l leased) same(other leased) bool {
	return l.Workflow == other.Workflow && l.Job == other.Job && l.Attempt == other.Attempt && l.Fence == other.Fence
}

// Lease is one attempt that a worker was given.
type Lease struct {
	worker Worker
	leased leased
}

// Lease opens a lease of this worker. A process that succeeds the one that got it may
// still report its end.
func (w Worker) Lease(sealed string) (Lease, error) {
	l := Lease{worker: w}
	if w.g.sealer.open(sealedLease, sealed, &l.leased) != nil {
		return Lease{}, badToken("lease")
	}
	if l.leased.Worker != w.who.ID {
		return Lease{}, notYours("lease")
	}
	return l, nil
}

// Detection reports whether it is that of a detection.
func (l Lease) Detection() bool { return l.leased.Detection }

// Progress is what a worker reports about an attempt. Each report replaces the one
// before, its checkpoint included.
type Progress struct {
	// Percent is 0 to 100; nil or negative: unknown.
	Percent *float64 `json:"percent,omitempty"`
	Stage   string   `json:"stage,omitempty"`
	Message string   `json:"message,omitempty"`
	// Checkpoint is any JSON of at most 16 KiB. The next attempt gets it.
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
}

// Cancel is why an attempt is to end.
type Cancel string

// The reasons. The worker stops the job and reports how it ended.
const (
	// CancelRequested: somebody canceled the job, or its run ends.
	CancelRequested Cancel = "canceled"
	// CancelTimeout: it is over its time.
	CancelTimeout Cancel = "timeout"
	// CancelReturn: it is to be returned, with its checkpoint.
	CancelReturn Cancel = "return"
)

// Heartbeat shows that the attempt runs. cancel is empty if it continues. A lost
// lease is a [*Error] with CodeLeaseLost.
func (l Lease) Heartbeat(ctx context.Context, in Progress) (cancel Cancel, err error) {
	percent := -1.0
	if in.Percent != nil {
		percent = *in.Percent
	}
	beat, err := jobs.BeatOf(l.leased.Worker, percent, in.Stage, in.Message, in.Checkpoint)
	if err != nil {
		return "", invalid(err)
	}
	err = l.worker.g.server.Beat(ctx, l.leased.Token, beat)
	switch {
	case errors.Is(err, jobtype.ErrCanceled):
		return CancelRequested, nil
	case errors.Is(err, jobtype.ErrDraining):
		return CancelReturn, nil
	case err == nil && l.leased.overdue():
		return CancelTimeout, nil
	}
	return "", answered("the server did not take the heartbeat", err)
}

// Complete reports success. A repeat gets CodeLeaseLost and changes nothing. A result that
// is too large is CodeInvalid and keeps the lease.
func (l Lease) Complete(ctx context.Context, result jobtype.Result) error {
	if err := jobs.CheckResult(result); err != nil {
		return invalid(err)
	}
	return l.deliver(ctx, jobs.Succeeded(l.state(nil), result))
}

// Failure is how an attempt failed.
type Failure struct {
	Message string `json:"message"`
	// Permanent: a retry is useless.
	Permanent bool `json:"permanent,omitempty"`
	// NotStarted: the program did not start on this worker, see [NotStarted].
	NotStarted NotStarted `json:"not_started,omitempty" enum:"cannot_start,not_installed"`
	// Defer is the time until the next attempt of a job that means "not now", 1s to 24h. That is no
	// failure and costs no retry. Guard adds that a condition is not met and the work has not begun.
	Defer jobtype.Duration `json:"defer,omitempty"`
	Guard bool             `json:"guard,omitempty"`
	// Output is the end of what it printed.
	Output string `json:"output,omitempty"`
	// Checkpoint is for the next attempt; empty: that of the attempt before, if any.
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
}

// NotStarted is why a program did not start. The job is placed elsewhere, at no cost of a
// retry.
type NotStarted string

// The reasons: the worker lacks the resources for it, or it lacks the program. A job that
// no worker has the program of fails.
const (
	CannotStart  = NotStarted(contract.FailureCannotStart)
	NotInstalled = NotStarted(contract.FailureNotInstalled)
)

// Fail reports a failure, which is retried under the job type's policy.
func (l Lease) Fail(ctx context.Context, in Failure) error {
	kind := contract.FailureFailed
	switch {
	case in.Defer < 0 || in.Defer > jobtype.MaxDeferral || in.Defer == 0 && in.Guard || in.Defer > 0 && (in.Permanent || l.leased.Detection):
		return invalid(fmt.Errorf("defer: use 1s to %s, without permanent, for a job", jobtype.MaxDeferral))
	case in.Defer > 0 && in.Guard:
		kind = contract.FailureGuard
	case in.Defer > 0:
		kind = contract.FailureDeferred
	case in.NotStarted == CannotStart || in.NotStarted == NotInstalled:
		kind = contract.FailureKind(in.NotStarted)
	case in.Permanent:
		kind = contract.FailurePermanent
	case l.leased.overdue():
		kind = contract.FailureTimeout
	}
	return l.end(ctx, kind, in)
}

// Canceled reports that the job was canceled and nothing of it runs any more.
func (l Lease) Canceled(ctx context.Context, in Failure) error {
	return l.end(ctx, contract.FailureCanceled, in)
}

// Return hands the job back with its checkpoint, because the worker stops: it is
// placed elsewhere, at no cost of a retry.
func (l Lease) Return(ctx context.Context, in Failure) error {
	return l.end(ctx, contract.FailureDraining, in)
}

func (l Lease) end(ctx context.Context, kind contract.FailureKind, in Failure) error {
	if err := jobs.CheckCheckpoint(in.Checkpoint); err != nil {
		return invalid(err)
	}
	if in.Message == "" {
		in.Message = string(kind)
	}
	if l.leased.Detection {
		err := l.worker.g.server.Complete(ctx, l.leased.Token, contract.DetectActivityResult{Worker: l.leased.Worker}, jobs.DetectionFailure(kind, in.Message))
		return answered("the server did not take the outcome", err)
	}
	state := jobs.Failed(l.state(in.Checkpoint), kind, in.Message, in.Output)
	state.Delay = in.Defer
	return l.deliver(ctx, state)
}

func (l Lease) state(checkpoint json.RawMessage) contract.ExecuteState {
	state := l.worker.state(l.leased.Instance, time.Since(time.UnixMilli(l.leased.Started)))
	state.Checkpoint = checkpoint
	return state
}

// deliver reports an outcome, and tells the run if the server does not know the
// attempt any more.
func (l Lease) deliver(ctx context.Context, state contract.ExecuteState) error {
	if l.leased.Detection {
		return invalid(errors.New("this is the lease of a detection: it ends with its cursor"))
	}
	late, err := jobs.Deliver(ctx, l.worker.g.server, l.worker.g.logger, l.leased.Token, l.leased.Workflow, contract.JobOutcomeInput{
		JobID: l.leased.Job, Attempt: l.leased.Attempt, Fence: l.leased.Fence, Outcome: state,
	})
	switch {
	case err != nil:
		return answered("the server did not take the outcome", err)
	case late:
		return leaseLost(true)
	}
	return nil
}
