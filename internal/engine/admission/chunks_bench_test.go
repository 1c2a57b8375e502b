package admission

import (
	"fmt"
	"testing"

	"github.com/roundsman/roundsman/jobtype"
)

// BenchmarkChunks measures one chunk of 1,024 keys while 118,000 others are held: its claim, the ends of its jobs in 8 reports, and
// its release.
func BenchmarkChunks(b *testing.B) {
	const size, held = 1024, 115
	p := ready()
	next := uint64(0)
	keys := func(n int) []uint64 {
		list := make([]uint64, n)
		for i := range list {
			next++
			list[i] = next * 0x9E3779B97F4A7C15
		}
		return list
	}
	for i := range held {
		p.ask("a", Request{ID: fmt.Sprint("chunk-", i), Keys: PackKeys(keys(size)), Fences: size})
	}
	for n := 0; b.Loop(); n++ {
		id, mine := fmt.Sprint("next-", n), keys(size)
		p.ask("a", Request{ID: id, Keys: PackKeys(mine), Fences: size})
		for i := 0; i < size; i += size / 8 {
			p.step(Requested{Holder: group("a"), JobType: "a", Grace: jobtype.Duration(grace), Endings: []Endings{{At: p.now, Done: PackKeys(mine[i : i+size/8])}}})
		}
		p.step(Requested{Holder: group("a"), JobType: "a", Grace: jobtype.Duration(grace), Release: []string{id}})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/key")
}
