package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// While server and observer are up, a living worker is never lost, and a dead worker is lost within
// 15 s of its last beat, plus two polls if its clock is off. This holds for any clocks, phases, short
// observations and clock changes.
func TestTheLivingAreKeptAndTheDeadAreFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		nodes := rapid.IntRange(1, 8).Draw(t, "nodes")
		skew := rapid.SampledFrom([]time.Duration{0, 0, 0, 700 * time.Millisecond, -2 * time.Second, 3 * time.Second, -6 * time.Second, 3 * time.Minute, -4 * time.Minute})
		for i := range nodes {
			phase := time.Duration(rapid.IntRange(0, 49).Draw(t, "phase")) * 100 * time.Millisecond
			w.add(fmt.Sprintf("n%d", i), skew.Draw(t, "skew"), phase)
		}
		w.run(20 * time.Second)
		for id := range w.nodes {
			require.True(t, w.pulse(id).Fresh, "%s was found", id)
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			n := w.nodes[fmt.Sprintf("n%d", rapid.IntRange(0, nodes-1).Draw(t, "node"))]
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				n.dead = true
			case 1:
				n.dead = false
			case 2, 3:
				if w.track != nil {
					// Something else ends the observation.
					result, _ := w.track.report()
					w.tell(result)
				}
			default:
			}
			for range rapid.IntRange(1, 80).Draw(t, "time") {
				w.run(100 * time.Millisecond)
				requireTruth(t, w)
			}
		}
	})
}

func requireTruth(t *rapid.T, w *world) {
	for id, n := range w.nodes {
		age := w.now.Sub(n.last)
		switch {
		case !n.dead && age >= 3*time.Second && age < 12*time.Second:
			// A younger one may have returned just now.
			require.True(t, w.pulse(id).Fresh, "%s is alive, last beat %s ago", id, age)
		case age > 15*time.Second+2*1500*time.Millisecond:
			require.False(t, w.pulse(id).Fresh, "%s is dead, last beat %s ago", id, age)
		}
	}
}
