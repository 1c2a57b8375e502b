package workers

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Groups hear of a goodbye a moment after the registry, and what they have sent
// until then is on its way. A worker that stopped polling at once would leave it in
// a queue that nobody reads, for the five seconds in which it must be taken; and what
// a poll brings in the moment in which it ends is lost with its attempt. So a worker
// that had work lately goes on answering for a while: that it takes nothing any more.

// farewellAfter is for how long after its last task a worker is taken to be one
// that more is on its way to.
const farewellAfter = 5 * time.Second

// lately is when a task for this worker alone came last.
type lately struct{ at atomic.Int64 }

func (l *lately) note(now time.Time) { l.at.Store(now.UnixNano()) }

func (l *lately) within(d time.Duration, now time.Time) bool {
	at := l.at.Load()
	return at != 0 && now.Sub(time.Unix(0, at)) < d
}

// bid answers what still comes, for options.Farewell or until ctx ends, if something
// came lately. Shared queues are not pulled any more: others can do what lies there.
func (n *Node) bid(ctx context.Context) {
	n.executeSlots.Hold(contract.SharedQueuePrefix)
	if n.options.Farewell <= 0 || !n.gates.lately.within(farewellAfter, time.Now()) {
		return
	}
	_ = sleep(ctx, n.options.Farewell) // ended early or not, it is over
}
