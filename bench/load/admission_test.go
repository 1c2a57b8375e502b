package load_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/roundsman/roundsman/bench/load"
)

// BenchmarkEvent prints what one event costs, at three sizes.
func BenchmarkAdmission(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		for _, c := range load.Admission(n) {
			b.Run(fmt.Sprintf("%s/%d", c.Name, n), func(b *testing.B) {
				for b.Loop() {
					c.Step()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.Events), "ns/event")
			})
		}
	}
}

// maxEvent is generous: a measured event takes less than a fifth, also with the race
// detector and on a busy machine less than this. What goes through all waiters takes
// milliseconds.
const maxEvent = time.Millisecond

// TestNoEventGoesThroughAll: the cost does not depend on the size.
func TestNoEventGoesThroughAll(t *testing.T) {
	t.Parallel()
	const n, steps = 10_000, 300
	for _, c := range load.Admission(n) {
		began := time.Now()
		for range steps {
			c.Step()
		}
		if per := time.Since(began) / time.Duration(steps*c.Events); per > maxEvent {
			t.Errorf("%s: %s an event", c.Name, per)
		}
	}
}
