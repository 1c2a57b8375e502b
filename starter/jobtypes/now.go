package jobtypes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// Started is the run that [JobTypes.RunNow] answers with.
type Started struct {
	starter.RunRef

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
func (c Client) RunNow(ctx context.Context, name string) (Started, error) {
	for range adoptAttempts {
		known, err := c.Get(ctx, name)
		if err != nil {
			return Started{}, err
		}
		if ref, open := c.client.Runs().FirstOpen(ctx, known.Running); open {
			return Started{RunRef: ref, Adopted: true, Paused: known.Paused}, nil
		}
		triggered, err := c.Trigger(ctx, name)
		var running *AlreadyRunningError
		switch {
		case err == nil && triggered.Buffered:
			// A tick got in between. The requested run comes after it.
			return Started{RunRef: triggered.RunRef, Paused: known.Paused}, c.awaitExists(ctx, triggered.RunRef)
		case err == nil:
			return Started{RunRef: starter.RunRef{WorkflowID: triggered.WorkflowID}, Paused: known.Paused}, nil
		case errors.As(err, &running):
			if ref, open := c.client.Runs().FirstOpen(ctx, running.Running); open {
				return Started{RunRef: ref, Adopted: true, Paused: known.Paused}, nil
			}
			// It ended in this moment.
		default:
			return Started{}, err
		}
	}
	return Started{}, fmt.Errorf("start job type %s: other groups of it come and go too fast; try again, or see `roundsman runs %s`", name, name)
}

// awaitExists waits for a buffered group to be started.
func (c Client) awaitExists(ctx context.Context, ref starter.RunRef) error {
	for {
		_, err := c.client.Runs().Describe(ctx, ref)
		if err == nil || !errors.Is(err, starter.ErrNotFound) {
			return err
		}
		if err := rpc.Wait(ctx, starter.DefaultWatchInterval); err != nil {
			return fmt.Errorf("wait for run %s: %w", ref.WorkflowID, err)
		}
	}
}

// Ticks is what a Schedule has started and will start.
type Ticks struct {
	// Running is the open group, if there is one.
	Running *starter.RunRef
	// Last is the newest run that was started.
	Last *starter.RunRef
	// Runs counts the runs that were ever started.
	Runs int64
	// Next is when the next one is due; zero if none is.
	Next time.Time
}

// Ticks asks a job type's Schedule. It costs the server one query and
// visibility nothing.
func (c Client) Ticks(ctx context.Context, name string) (Ticks, error) {
	known, err := c.Get(ctx, name)
	if err != nil {
		return Ticks{}, err
	}
	ticks := Ticks{Runs: known.Counts.Started}
	if ref, open := c.client.Runs().FirstOpen(ctx, known.Running); open {
		ticks.Running = &ref
	}
	if len(known.Recent) > 0 {
		ticks.Last = &starter.RunRef{WorkflowID: known.Recent[0].WorkflowID}
	}
	if len(known.Next) > 0 {
		ticks.Next = known.Next[0]
	}
	return ticks, nil
}
