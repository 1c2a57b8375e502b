package workers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// ErrIdle is the result of [Node.Wait] after [NodeOptions.ExitWhenIdle]. It is no failure.
var ErrIdle = errors.New("nothing to do")

// pruneEvery is the pause between prunings of outputs on disk; growth also triggers one.
const pruneEvery = 15 * time.Minute

func (n *Node) pruneLogs(ctx context.Context) {
	for {
		n.jobs.PruneLogs(time.Now())
		if rpc.Wait(ctx, pruneEvery) != nil {
			return
		}
	}
}

func (n *Node) watchIdle(ctx context.Context, limit time.Duration, begun time.Time) {
	for {
		wait := limit
		if last, idle := n.jobs.IdleSince(); idle && n.jobs.Undelivered() == 0 {
			if last.Before(begun) {
				last = begun
			}
			if wait = limit - time.Since(last); wait <= 0 {
				n.fail(fmt.Errorf("worker %s has run nothing for %s: %w", n.options.ID, limit, ErrIdle))
				return
			}
		}
		if rpc.Wait(ctx, wait) != nil {
			return
		}
	}
}
