package workers

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// Tasks are still in transit when a worker deregisters. A worker that stopped polling at once would leave them in a
// queue without a reader, for their start timeout of five seconds. So a worker with recent work lingers: it refuses
// tasks for a while.

// lingerAfter is the time after the last task in which more are expected.
const lingerAfter = 5 * time.Second

// lately is the time of the last task from the worker's own queue.
type lately struct{ at atomic.Int64 }

func (l *lately) note(now time.Time) { l.at.Store(now.UnixNano()) }

func (l *lately) within(d time.Duration, now time.Time) bool {
	at := l.at.Load()
	return at != 0 && now.Sub(time.Unix(0, at)) < d
}

// linger applies to the worker's own queues. Shared queues are not polled any more: other workers can serve them.
func (n *Node) linger(ctx context.Context) {
	n.executeSlots.Hold(contract.SharedQueuePrefix)
	if n.options.Linger <= 0 || !n.gates.lately.within(lingerAfter, time.Now()) {
		return
	}
	_ = rpc.Wait(ctx, n.options.Linger) // ended early or not, it is over
}
