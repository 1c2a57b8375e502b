package load_test

import (
	"fmt"
	"testing"

	"github.com/roundsman/roundsman/bench/load"
)

// BenchmarkAdmission measures the cost of one event at three sizes.
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

// An event that touched all waiters would allocate a hundred times as much. `make bench ONLY=cores` measures the time.
func TestAdmissionEventsAllocateTheSameAmongMany(t *testing.T) {
	sameAllocations(t, load.Admission(100), load.Admission(10_000))
}
