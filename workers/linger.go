package workers

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// Runs learn of a deregistration a moment after the registry, and what they have sent
// until then is on its way. A worker that stopped polling at once would leave it in
// a queue that no process reads, for the five seconds in which it must be taken; and what
// a poll brings in the moment in which it ends is lost with its attempt. So a worker
// that had work lately lingers: it answers that it takes nothing any more.

// lingerAfter is for how long after its last task a worker is taken to be one
// that more is on its way to.
const lingerAfter = 5 * time.Second

// lately is when a task for this worker alone came last.
type lately struct{ at atomic.Int64 }

func (l *lately) note(now time.Time) { l.at.Store(now.UnixNano()) }

func (l *lately) within(d time.Duration, now time.Time) bool {
	at := l.at.Load()
	return at != 0 && now.Sub(time.Unix(0, at)) < d
}

// linger answers what still comes, for options.Linger or until ctx ends, if something
// came lately. Shared queues are not pulled any more: others can do what lies there.
func (n *Node) linger(ctx context.Context) {
	n.executeSlots.Hold(contract.SharedQueuePrefix)
	if n.options.Linger <= 0 || !n.gates.lately.within(lingerAfter, time.Now()) {
		return
	}
	_ = rpc.Wait(ctx, n.options.Linger) // ended early or not, it is over
}
