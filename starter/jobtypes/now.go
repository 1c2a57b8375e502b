package jobtypes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// Started is the result of [Client.RunNow].
type Started struct {
	starter.RunRef

	// Adopted is true if the run was open already and none was started.
	Adopted bool `json:"adopted"`
	// Paused is true if the job type is paused, so the run is an exception.
	Paused bool `json:"paused"`
}

// adoptAttempts bounds the attempts of RunNow while other groups start and end.
const adoptAttempts = 5

// RunNow starts a group of the job type, also of a paused one. It returns an open group instead, regardless of policy.overlap.
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
			// A tick came between. The requested run follows it.
			return Started{RunRef: triggered.RunRef, Paused: known.Paused}, c.awaitExists(ctx, triggered.RunRef)
		case err == nil:
			return Started{RunRef: starter.RunRef{WorkflowID: triggered.WorkflowID}, Paused: known.Paused}, nil
		case errors.As(err, &running):
			if ref, open := c.client.Runs().FirstOpen(ctx, running.Running); open {
				return Started{RunRef: ref, Adopted: true, Paused: known.Paused}, nil
			}
			// It has just ended.
		default:
			return Started{}, err
		}
	}
	return Started{}, fmt.Errorf("start job type %s: its open run kept changing; try again, or see `roundsman runs %s`", name, name)
}

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

// Ticks holds the past and next starts of a Schedule.
type Ticks struct {
	// Open group, if any.
	Running *starter.RunRef
	Last    *starter.RunRef
	Runs    int64
	// Next tick; zero if there is none.
	Next time.Time
}

// Ticks reads a job type's Schedule. It costs the server one query, and visibility nothing.
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
