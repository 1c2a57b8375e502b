package main

import (
	"context"
	"time"

	"github.com/roundsman/roundsman/dag"
)

// dagNextBench measures the pure engine, without Temporal.
func dagNextBench(ctx context.Context, b *bench) error {
	for _, random := range []bool{false, true} {
		for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
			graph, err := layeredGraph(n, random)
			if err != nil {
				return err
			}
			var perEvent []float64
			for range b.reps {
				perEvent = append(perEvent, timeNext(graph, max(1, 300_000/n)))
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
			name := "dag_next"
			if random {
				name = "dag_next_random"
			}
			if err := b.values(name, n, "ns/event", perEvent, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// timeNext runs a graph to its end several times and returns ns per report.
func timeNext(graph *dag.Graph, times int) float64 {
	var buf []dag.Decision
	queue := make([]dag.Index, 0, graph.Len())
	var took time.Duration
	for range times {
		run := dag.NewRun(graph, dag.Options{Concurrency: dagParallel})
		queue = queue[:0]
		started := time.Now()
		buf, _ = run.Next(dag.Event{Kind: dag.EventStart}, buf[:0])
		for head := 0; ; head++ {
			for _, d := range buf {
				if d.Kind == dag.DecisionStart {
					queue = append(queue, d.Task)
				}
			}
			if head == len(queue) {
				break
			}
			buf, _ = run.Next(dag.Event{Kind: dag.EventCompleted, Task: queue[head]}, buf[:0])
		}
		took += time.Since(started)
	}
	return float64(took.Nanoseconds()) / float64(times*graph.Len())
}
