package dag_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/roundsman/roundsman/dag"
)

// layered declares n tasks in ten layers; every task needs two of the layer
// above: neighbours, or any two when random is set.
func layered(n int, random bool) dag.Input {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	width := max(n/10, 1)
	in := dag.Input{Tasks: make([]dag.Task, n)}
	for i := range in.Tasks {
		layer, place := i/width, i%width
		t := dag.Task{ID: fmt.Sprintf("l%d-%06d", layer, place), Payload: []byte(`{"noop":true}`)}
		if layer > 0 {
			for k := range 2 {
				p := (place + k) % width
				if random {
					p = rng.IntN(width)
				}
				t.Needs = append(t.Needs, fmt.Sprintf("l%d-%06d", layer-1, p))
			}
		}
		in.Tasks[i] = t
	}
	return in
}

func chain(n int) dag.Input {
	in := dag.Input{Tasks: make([]dag.Task, n)}
	for i := range in.Tasks {
		in.Tasks[i].ID = fmt.Sprintf("c%06d", i)
		if i > 0 {
			in.Tasks[i].Needs = []string{in.Tasks[i-1].ID}
		}
	}
	return in
}

func mustBuild(tb testing.TB, in dag.Input) *dag.Graph {
	tb.Helper()
	g, err := dag.Build(in)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// drive runs g to its end with every task succeeding in start order. It returns the number of events.
func drive(tb testing.TB, r *dag.Run) int {
	tb.Helper()
	buf, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	queue := make([]dag.Index, 0, r.Len())
	events := 1
	for head := 0; ; head++ {
		for _, d := range buf {
			if d.Kind == dag.DecisionStart {
				queue = append(queue, d.Task)
			}
		}
		if head == len(queue) {
			return events
		}
		buf, err = r.Next(dag.Event{Kind: dag.EventCompleted, Task: queue[head]}, buf[:0])
		if err != nil {
			tb.Fatal(err)
		}
		events++
	}
}

// BenchmarkNext measures one report with its decisions, over whole runs of ten layers with two
// dependencies per task, 100 in flight. ns/event must stay flat from a thousand tasks to a million.
func BenchmarkNext(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int
	}{{"1k", 1_000}, {"10k", 10_000}, {"100k", 100_000}, {"1M", 1_000_000}} {
		for _, random := range []bool{false, true} {
			name := size.name + "/neighbours"
			if random {
				name = size.name + "/random"
			}
			b.Run(name, func(b *testing.B) {
				benchmarkNext(b, mustBuild(b, layered(size.n, random)))
			})
		}
	}
}

func benchmarkNext(b *testing.B, g *dag.Graph) {
	b.Helper()
	buf := make([]dag.Decision, 0, 128)
	queue := make([]dag.Index, 0, g.Len())
	events := 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		r := dag.NewRun(g, dag.Options{Concurrency: 100})
		queue = queue[:0]
		buf, _ = r.Next(dag.Event{Kind: dag.EventStart}, buf[:0])
		b.StartTimer()
		for head := 0; ; head++ {
			for _, d := range buf {
				if d.Kind == dag.DecisionStart {
					queue = append(queue, d.Task)
				}
			}
			if head == len(queue) {
				break
			}
			buf, _ = r.Next(dag.Event{Kind: dag.EventCompleted, Task: queue[head]}, buf[:0])
			events++
		}
		if r.Outcome() != dag.OutcomeCompleted {
			b.Fatal("the run did not complete")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkDecode measures the cost of a run's first workflow task.
func BenchmarkDecode(b *testing.B) {
	for _, random := range []bool{false, true} {
		b.Run(fmt.Sprintf("100k/random=%t", random), func(b *testing.B) {
			data := mustBuild(b, layered(100_000, random)).Encode()
			b.SetBytes(int64(len(data)))
			b.ReportMetric(float64(len(data)), "bytes")
			for b.Loop() {
				if _, err := dag.Decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncode measures building and encoding, which a starter does once.
func BenchmarkEncode(b *testing.B) {
	in := layered(100_000, true)
	for b.Loop() {
		mustBuild(b, in).Encode()
	}
}

// BenchmarkSnapshot measures the state of a half-done run of 100,000 tasks.
func BenchmarkSnapshot(b *testing.B) {
	g := mustBuild(b, layered(100_000, true))
	r := halfway(b, g)
	var data []byte
	b.Run("snapshot", func(b *testing.B) {
		for b.Loop() {
			data = r.Snapshot()
		}
		b.ReportMetric(float64(len(data)), "bytes")
	})
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			if _, err := dag.Restore(g, data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// halfway runs half of g's tasks, failing one in a thousand.
func halfway(tb testing.TB, g *dag.Graph) *dag.Run {
	tb.Helper()
	r := dag.NewRun(g, dag.Options{Concurrency: 100})
	buf, _ := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	var queue []dag.Index
	for head := range g.Len() / 2 {
		for _, d := range buf {
			queue = append(queue, d.Task)
		}
		kind := dag.EventCompleted
		if head%1000 == 999 {
			kind = dag.EventFailed
		}
		var err error
		if buf, err = r.Next(dag.Event{Kind: kind, Task: queue[head]}, buf[:0]); err != nil {
			tb.Fatal(err)
		}
	}
	return r
}

// BenchmarkGrowth adds a chain whose last task is declared first, and redefines a task that waits for all added ones.
// The time per task must stay flat.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		g := mustBuild(b, dag.Input{Tasks: []dag.Task{{ID: "a"}, {ID: "b"}, {ID: "join", Needs: []string{"a", "b"}}}})
		chain, wide := &dag.Growth{}, &dag.Growth{}
		for k := range n {
			need := "b"
			if k < n-1 {
				need = fmt.Sprintf("c%06d", k+1)
			}
			chain.Tasks = append(chain.Tasks, dag.Addition{Task: dag.Task{ID: fmt.Sprintf("c%06d", k), Needs: []string{need}}})
			wide.Tasks = append(wide.Tasks, dag.Addition{Task: dag.Task{ID: fmt.Sprintf("w%06d", k)}, Before: []string{"join"}})
		}
		again := &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "join", Needs: []string{"a"}, Payload: []byte("x")}}}}
		for name, growths := range map[string][]*dag.Growth{"chain": {chain}, "redefined": {wide, again}} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for range b.N {
					r := dag.NewRun(g, dag.Options{})
					_, _ = r.Next(dag.Event{Kind: dag.EventStart}, nil)
					for _, growth := range growths {
						if _, err := r.Next(dag.Event{Kind: dag.EventAddTasks, Growth: growth}, nil); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/task")
			})
		}
	}
}
