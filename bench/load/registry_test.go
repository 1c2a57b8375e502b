package load_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/bench/load"
	"github.com/roundsman/roundsman/contract"
)

// An event that touched all workers would allocate fifty times as much. `make bench ONLY=cores` measures the time.
func TestRegistryEventsAllocateTheSameInALargeFleet(t *testing.T) {
	sameAllocations(t, load.Registry(100), load.Registry(contract.MaxWorkers))
}

// sameAllocations allows half as many allocations again in a large core, for longer lists and larger maps.
func sameAllocations(t *testing.T, small, large []load.Case) {
	t.Helper()
	for i := range small {
		few, many := testing.AllocsPerRun(100, small[i].Step), testing.AllocsPerRun(100, large[i].Step)
		t.Logf("%-40s %6.0f and %6.0f allocations in %d events", small[i].Name, few, many, small[i].Events)
		assert.LessOrEqual(t, many, few*1.5+float64(2*small[i].Events), small[i].Name)
	}
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
