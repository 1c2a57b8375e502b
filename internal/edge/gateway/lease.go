package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// leased is the content of a lease. Its names are short, since it is part of URLs.
type leased struct {
	Worker   string `json:"w"`
	Instance string `json:"n"`
	Token    []byte `json:"t"`
	Workflow string `json:"g"`
	Job      string `json:"j"`
	Attempt  int    `json:"a"`
	Fence    int64  `json:"f,omitempty"`
	// Started and Deadline are in Unix milliseconds; Deadline 0 means none.
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

func (l leased) same(other leased) bool {
	return l.Workflow == other.Workflow && l.Job == other.Job && l.Attempt == other.Attempt && l.Fence == other.Fence
}

// Lease is a lease of one attempt, opened for its worker.
type Lease struct {
	worker Worker
	leased leased
}

// Lease opens a lease of this worker, also of its process before.
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

// Detection reports whether the lease is of a detection.
func (l Lease) Detection() bool { return l.leased.Detection }

// Progress is a worker's report about an attempt. Each one replaces the previous with its checkpoint.
type Progress struct {
	// Percent is 0 to 100; nil or negative means unknown.
	Percent *float64 `json:"percent,omitempty"`
	Stage   string   `json:"stage,omitempty"`
	Message string   `json:"message,omitempty"`
	// Checkpoint is any JSON of at most 16 KiB. The next attempt gets it.
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
}

// Cancel is the reason to stop; empty while the attempt may continue.
type Cancel string

// Reasons to stop. The worker stops the job and reports its end.
const (
	// CancelRequested: the job was canceled, or its run ends.
	CancelRequested Cancel = "canceled"
	// CancelTimeout: its time is over.
	CancelTimeout Cancel = "timeout"
	// CancelReturn: the worker must return it with its checkpoint.
	CancelReturn Cancel = "return"
)

// Heartbeat reports progress. A lost lease gives an [*Error] with CodeLeaseLost.
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

// Complete reports success. A repetition gets CodeLeaseLost. A result that is too large gets CodeInvalid, and the
// lease stays valid.
func (l Lease) Complete(ctx context.Context, result jobtype.Result) error {
	if err := jobs.CheckResult(result); err != nil {
		return invalid(err)
	}
	return l.deliver(ctx, jobs.Succeeded(l.state(nil), result))
}

// Failure describes a failed attempt.
type Failure struct {
	Message string `json:"message"`
	// Permanent means that a retry is useless.
	Permanent bool `json:"permanent,omitempty"`
	// NotStarted means that the program did not start on this worker, see [NotStarted].
	NotStarted NotStarted `json:"not_started,omitempty" enum:"cannot_start,not_installed"`
	// Time until the next attempt of a job that cannot run now, 1s to 24h, without a retry. Guard: a condition is not
	// met and the work has not begun.
	Defer  jobtype.Duration `json:"defer,omitempty"`
	Guard  bool             `json:"guard,omitempty"`
	Output string           `json:"output,omitempty"`
	// Checkpoint for the next attempt. Default: that of the previous attempt, if any.
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
}

// NotStarted is the reason why a program did not start. The job is placed elsewhere without a retry.
type NotStarted string

// NotInstalled: a job fails if no worker has the program.
const (
	CannotStart  = NotStarted(contract.FailureCannotStart)
	NotInstalled = NotStarted(contract.FailureNotInstalled)
)

// Fail reports a failure, which is retried under the job type's policy.
func (l Lease) Fail(ctx context.Context, in Failure) error {
	kind := contract.FailureFailed
	switch {
	case in.Defer != 0 && (in.Defer < jobtype.MinDeferral || in.Defer > jobtype.MaxDeferral || in.Permanent || l.leased.Detection), in.Defer == 0 && in.Guard:
		return invalid(fmt.Errorf("defer: use %s to %s, without permanent, for a job", jobtype.MinDeferral, jobtype.MaxDeferral))
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

// Canceled reports that the job was canceled and all its processes have ended.
func (l Lease) Canceled(ctx context.Context, in Failure) error {
	return l.end(ctx, contract.FailureCanceled, in)
}

// Return hands a job back with its checkpoint, because the worker stops, without a retry.
func (l Lease) Return(ctx context.Context, in Failure) error {
	return l.end(ctx, contract.FailureDraining, in)
}

func (l Lease) end(ctx context.Context, kind contract.FailureKind, in Failure) error {
	if err := jobs.CheckCheckpoint(in.Checkpoint); err != nil {
		return invalid(err)
	}
	in.Message = cmp.Or(in.Message, string(kind))
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
