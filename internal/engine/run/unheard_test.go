package run

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TestNoJobStaysOnADeadWorker: a run gets no more views of the fleet, because a terminated
// registry loses its subscriptions. The server's heartbeat timeout bounds every attempt and
// every adoption under any policy, and the item is placed elsewhere without the registry.
func TestNoJobStaysOnADeadWorker(t *testing.T) {
	t.Parallel()
	for _, liveness := range []jobtype.Liveness{jobtype.LivenessProgress, jobtype.LivenessProcess, jobtype.LivenessActivity} {
		for _, routing := range []jobtype.Routing{jobtype.RoutingWorker, jobtype.RoutingShared} {
			name := fmt.Sprint(liveness, " ", routing)
			a, b := node("a", 1), node("b", 1)
			a.Shared, b.Shared = []string{"jt"}, []string{"jt"}
			s := play(t, Config{Adopt: true}, jobtype.Policy{Liveness: liveness, Routing: routing, ExecutionTimeout: seconds(8 * 3600)}, a, b)
			bounded := func(decisions []Decision) {
				for _, d := range decisions {
					if d.Kind == Start || d.Kind == Adopt {
						assert.Positive(t, d.HeartbeatTimeout, name)
					}
				}
			}
			begun := s.plain(1)
			require.NotEmpty(t, starts(begun), name)
			bounded(begun)
			s.wait(time.Hour)
			adopted := s.step(Ended{Item: 1, Attempt: 1, Ending: silence()})
			bounded(adopted)
			again := adopted
			if len(adoptions(adopted)) > 0 {
				again = s.step(Ended{Item: 1, Attempt: 1, Ending: Ending{Failure: contract.FailureNotTaken, Message: "a did not take it in time"}})
			}
			again = append(again, s.wait(time.Minute)...)
			bounded(again)
			assert.NotEmpty(t, starts(again), name)
			assert.NotContains(t, starts(again), "@a", name)
		}
	}
}
