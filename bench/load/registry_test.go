package load_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/bench/load"
	"github.com/roundsman/roundsman/contract"
)

// TestCostDoesNotGrowWithTheFleet: fifty times the workers may cost four times as
// much an event, for longer searches and colder caches; it was fifty times as much
// when every event went through all of them.
func TestCostDoesNotGrowWithTheFleet(t *testing.T) {
	small, large := load.Registry(100), load.Registry(contract.MaxWorkers)
	for i := range small {
		a, b := perEvent(small[i]), perEvent(large[i])
		t.Logf("%-40s %6s at 100 workers, %6s at %d", small[i].Name, a, b, contract.MaxWorkers)
		assert.Less(t, b, 4*a+20*time.Microsecond, small[i].Name)
	}
}

// perEvent is the fastest of several rounds, which a busy machine disturbs least.
func perEvent(c load.Case) time.Duration {
	const steps = 20
	best := time.Hour
	for range 100 {
		began := time.Now()
		for range steps {
			c.Step()
		}
		best = min(best, time.Since(began)/time.Duration(steps*c.Events))
	}
	return best
}

func BenchmarkRegistry(b *testing.B) {
	for _, n := range []int{100, 1000, contract.MaxWorkers} {
		for _, c := range load.Registry(n) {
			b.Run(fmt.Sprintf("%s/%d", c.Name, n), func(b *testing.B) {
				for b.Loop() {
					c.Step()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.Events), "ns/event")
			})
		}
	}
}
