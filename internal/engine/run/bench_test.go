package run

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// scale is the size of a run: waiting items, and workers. Half of the items are pinned, so that
// there is a class for each worker.
type scale struct{ items, workers int }

var scales = []scale{{1_000, 20}, {10_000, 200}, {100_000, 2_000}}

func (s scale) String() string { return fmt.Sprintf("items=%d/workers=%d", s.items, s.workers) }

func online(n int) contract.WorkerView {
	return contract.WorkerView{
		ID: fmt.Sprintf("w%04d", n), Instance: "i1", State: contract.WorkerOnline, Fresh: true, MaxExecute: 1,
		Labels:       map[string]string{"rack": fmt.Sprint(n % 10)},
		Capabilities: []contract.Capability{{Handler: "h", Execute: true}},
	}
}

// bench is a run under load: every worker is busy, and every item waits.
type bench struct {
	e       *Engine
	now     time.Time
	view    []contract.WorkerView
	running []Decision
	next    int
}

func (s scale) item(id int) Item {
	in := Item{ID: id, Work: "w", Order: int64(id % 5), Estimate: time.Minute, Bytes: 200}
	if id%2 == 0 {
		in.Want.Node = fmt.Sprintf("w%04d", id/2%s.workers)
	}
	return in
}

func (s scale) begin() *bench {
	b := &bench{now: epoch, next: s.items}
	policy := jobtype.Policy{RetryLimit: 3}.WithDefaults()
	b.e = New(Config{Limit: 10 * s.workers, Work: map[string]Work{"w": {Handler: "h", Policy: policy}}}, b.now)
	for n := range s.workers {
		b.view = append(b.view, online(n))
	}
	b.do(WorkersChanged{Workers: b.view})
	for id := range s.items {
		b.e.Offer(b.now, s.item(id))
	}
	b.do(Tick{})
	return b
}

func (b *bench) do(event Event) {
	b.now = b.now.Add(time.Millisecond)
	b.e.Apply(b.now, event)
	b.take()
}

func (b *bench) take() {
	decisions, _ := b.e.Take(b.now)
	for _, d := range decisions {
		if d.Kind == Start {
			b.running = append(b.running, d)
		}
	}
	b.e.Notes()
	b.e.NextWake()
}

func (b *bench) end(failure Failure) {
	d := b.running[0]
	b.running = b.running[1:]
	b.do(Ended{Item: d.Item, Attempt: d.Attempt, Ending: Ending{Failure: failure, Duration: 10 * time.Second}})
}

func each(b *testing.B, run func(*testing.B, scale, *bench)) {
	b.Helper()
	for _, s := range scales {
		b.Run(s.String(), func(b *testing.B) {
			played := s.begin()
			b.ReportAllocs()
			b.ResetTimer()
			run(b, s, played)
		})
	}
}

// BenchmarkOutcome ends an attempt, starts the next item and offers another.
func BenchmarkOutcome(b *testing.B) {
	each(b, func(b *testing.B, s scale, p *bench) {
		b.Helper()
		for b.Loop() {
			p.end(contract.FailureNone)
			p.next++
			p.e.Offer(p.now, s.item(p.next))
		}
	})
}

// BenchmarkReturned ends an attempt whose worker was full: it is placed again.
func BenchmarkReturned(b *testing.B) {
	each(b, func(b *testing.B, _ scale, p *bench) {
		b.Helper()
		for b.Loop() {
			if len(p.running) == 0 {
				p.now = p.now.Add(time.Hour)
				p.do(Tick{})
			}
			p.end(contract.FailureAtCapacity)
		}
	})
}

// BenchmarkBurst ends one attempt per worker, at most 450, in one step each, as after a pause of
// the server. The figure is for one attempt.
func BenchmarkBurst(b *testing.B) {
	each(b, func(b *testing.B, s scale, p *bench) {
		b.Helper()
		size := min(450, s.workers)
		n := 0
		for b.Loop() {
			if n%size == 0 {
				for range size {
					p.next++
					p.e.Offer(p.now, s.item(2*p.next))
				}
			}
			n++
			p.end(contract.FailureNone)
		}
	})
}

// BenchmarkWorkerChange reports one worker of the fleet as stale or fresh.
func BenchmarkWorkerChange(b *testing.B) {
	each(b, func(b *testing.B, s scale, p *bench) {
		b.Helper()
		for n := 0; b.Loop(); n++ {
			p.flip(n % s.workers)
			p.do(WorkersChanged{Partial: true, Workers: p.view[n%s.workers : n%s.workers+1]})
		}
	})
}

func (b *bench) flip(n int) { b.view[n].Fresh = !b.view[n].Fresh }

// TestOneWorkerAllocatesTheSameInALargeFleet: a change of one worker that copied the whole view
// would allocate a hundred times as much. BenchmarkWorkerChange measures the time.
func TestOneWorkerAllocatesTheSameInALargeFleet(t *testing.T) {
	few, many := changeAllocations(scale{1_000, 20}), changeAllocations(scale{10_000, 2_000})
	t.Logf("%.0f allocations among 20 workers, %.0f among 2,000", few, many)
	assert.LessOrEqual(t, many, 1.5*few+10)
}

func changeAllocations(s scale) float64 {
	p, n := s.begin(), 0
	return testing.AllocsPerRun(200, func() {
		at := n % s.workers
		n++
		p.flip(at)
		p.do(WorkersChanged{Partial: true, Workers: p.view[at : at+1]})
	})
}

// BenchmarkWholeView reports the same change in a whole view.
func BenchmarkWholeView(b *testing.B) {
	each(b, func(b *testing.B, s scale, p *bench) {
		b.Helper()
		for n := 0; b.Loop(); n++ {
			p.flip(n % s.workers)
			p.do(WorkersChanged{Workers: p.view})
		}
	})
}

func BenchmarkProbe(b *testing.B) {
	each(b, func(b *testing.B, s scale, p *bench) {
		b.Helper()
		n := 0
		for b.Loop() {
			n++
			p.do(WorkerProbed{ID: p.view[n%s.workers].ID, Instance: "i1", Alive: true, BeatAt: p.now, Used: 1 + n%2})
		}
	})
}

func BenchmarkTick(b *testing.B) {
	each(b, func(b *testing.B, _ scale, p *bench) {
		b.Helper()
		for b.Loop() {
			p.do(Tick{})
		}
	})
}

func BenchmarkOffer(b *testing.B) {
	each(b, func(b *testing.B, s scale, p *bench) {
		b.Helper()
		for b.Loop() {
			p.next++
			p.e.Offer(p.now, s.item(p.next))
			p.take()
			p.e.Withdraw(p.next)
		}
	})
}

func BenchmarkWait(b *testing.B) {
	each(b, func(b *testing.B, s scale, p *bench) {
		b.Helper()
		n := 0
		for b.Loop() {
			n++
			p.e.WaitOf(s.items-1-n%(s.items/2), p.now)
		}
	})
}

func BenchmarkSnapshot(b *testing.B) {
	each(b, func(b *testing.B, _ scale, p *bench) {
		b.Helper()
		var data []byte
		for b.Loop() {
			data, _ = json.Marshal(p.e.Snapshot())
		}
		b.ReportMetric(float64(len(data)), "bytes")
	})
}

func BenchmarkRestore(b *testing.B) {
	each(b, func(b *testing.B, _ scale, p *bench) {
		b.Helper()
		data, err := json.Marshal(p.e.Snapshot())
		require.NoError(b, err)
		cfg := Config{Work: p.e.work, Limit: p.e.limit}
		for b.Loop() {
			var s Snapshot
			require.NoError(b, json.Unmarshal(data, &s))
			_, err := Restore(cfg, s, p.now)
			require.NoError(b, err)
		}
	})
}

func BenchmarkMemory(b *testing.B) {
	for _, s := range scales {
		b.Run(s.String(), func(b *testing.B) {
			var before, after runtime.MemStats
			for b.Loop() {
				few := scale{1, s.workers}.begin()
				runtime.GC()
				runtime.ReadMemStats(&before)
				for id := 1; id < s.items; id++ {
					few.e.Offer(few.now, s.item(id))
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				runtime.KeepAlive(few)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(s.items), "bytes/item")
		})
	}
}
