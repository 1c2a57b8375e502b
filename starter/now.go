package starter

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Started is the run that [JobTypes.RunNow] answers with.
type Started struct {
	RunRef

	// Adopted: it was running already, nothing new was started.
	Adopted bool `json:"adopted"`
	// Paused: the job type is paused, so that this run is an exception.
	Paused bool `json:"paused"`
}

// adoptAttempts bounds how often RunNow tries when groups come and go under its
// hands.
const adoptAttempts = 5

// RunNow starts a group of the job type, also of a paused one, and tells which
// run that is. While a group of the type is running, that one is the answer and
// nothing is started, whatever policy.overlap says.
func (j JobTypes) RunNow(ctx context.Context, name string) (Started, error) {
	for range adoptAttempts {
		known, err := j.Get(ctx, name)
		if err != nil {
			return Started{}, err
		}
		if ref, open := j.openOf(ctx, known.Running); open {
			return Started{RunRef: ref, Adopted: true, Paused: known.Paused}, nil
		}
		triggered, err := j.Trigger(ctx, name)
		var running *AlreadyRunningError
		switch {
		case err == nil && triggered.Buffered:
			// A tick got in between. What was asked for runs after it.
			return Started{RunRef: triggered.RunRef, Paused: known.Paused}, j.awaitExists(ctx, triggered.RunRef)
		case err == nil:
			return Started{RunRef: RunRef{WorkflowID: triggered.WorkflowID}, Paused: known.Paused}, nil
		case errors.As(err, &running):
			if ref, open := j.openOf(ctx, running.Running); open {
				return Started{RunRef: ref, Adopted: true, Paused: known.Paused}, nil
			}
			// It ended in this moment.
		default:
			return Started{}, err
		}
	}
	return Started{}, fmt.Errorf("start job type %s: other groups of it come and go too fast; try again, or see `roundsman runs list --job-type %s`", name, name)
}

// openOf is the first of refs that is really open: a Schedule notices the end
// of its group a moment late.
func (j JobTypes) openOf(ctx context.Context, refs []RunRef) (RunRef, bool) {
	for _, ref := range refs {
		newest := RunRef{WorkflowID: ref.WorkflowID}
		if described, err := j.client.Runs().describe(ctx, newest); err == nil && described.Open() {
			return newest, true
		}
	}
	return RunRef{}, false
}

// awaitExists waits for a buffered group to be started.
func (j JobTypes) awaitExists(ctx context.Context, ref RunRef) error {
	for {
		_, err := j.client.Runs().describe(ctx, ref)
		if err == nil || !errors.Is(err, ErrNotFound) {
			return err
		}
		if err := pause(ctx, DefaultWatchInterval); err != nil {
			return fmt.Errorf("wait for run %s: %w", ref.WorkflowID, err)
		}
	}
}

// Ticks is what a Schedule has started and will start.
type Ticks struct {
	// Running is the open group, if there is one.
	Running *RunRef
	// Last is the newest run that was started.
	Last *RunRef
	// Runs counts the runs that were ever started.
	Runs int64
	// Next is when the next one is due; zero if none is.
	Next   time.Time
	Paused bool
}

// Ticks asks a job type's Schedule. It costs the server one query and
// visibility nothing.
func (j JobTypes) Ticks(ctx context.Context, name string) (Ticks, error) {
	known, err := j.Get(ctx, name)
	if err != nil {
		return Ticks{}, err
	}
	ticks := Ticks{Runs: known.Counts.Started, Paused: known.Paused}
	if ref, open := j.openOf(ctx, known.Running); open {
		ticks.Running = &ref
	}
	if len(known.Recent) > 0 {
		ticks.Last = &RunRef{WorkflowID: known.Recent[0].WorkflowID}
	}
	if len(known.Next) > 0 {
		ticks.Next = known.Next[0]
	}
	return ticks, nil
}
