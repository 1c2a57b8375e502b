package main

import (
	"context"
	"strings"
	"time"

	"github.com/roundsman/roundsman/bench/load"
	"github.com/roundsman/roundsman/contract"
)

// coreEvents is the number of events of each kind in one measured run.
const coreEvents = 2_000

// coreSizes are the sizes at which the cost of one event is measured. The cost must not grow with them.
func coreSizes() []int { return []int{100, 1_000, 10_000} }

// coresBench measures the cost of one event in the pure cores, without Temporal. The size of admission counts waiters and
// objects, with ten times as many dedupe keys. The size of the registry counts workers, at most 5,000.
func coresBench(ctx context.Context, b *bench) error {
	for _, n := range coreSizes() {
		for _, c := range load.Admission(n) {
			if err := coreCase(ctx, b, "core_admission_"+c.Name, n, c.Events, c.Step); err != nil {
				return err
			}
		}
		workers := min(n, contract.MaxWorkers)
		for _, c := range load.Registry(workers) {
			if err := coreCase(ctx, b, "core_registry_"+c.Name, workers, c.Events, c.Step); err != nil {
				return err
			}
		}
	}
	return nil
}

// coreCase measures one kind of event.
func coreCase(ctx context.Context, b *bench, name string, n, events int, step func()) error {
	var perEvent []float64
	for range b.reps {
		perEvent = append(perEvent, timeEvents(step, events))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return b.values(strings.NewReplacer(" ", "_", ",", "").Replace(name), n, "ns/event", perEvent, nil)
}

// timeEvents returns ns per event of a step with several events.
func timeEvents(step func(), events int) float64 {
	steps := coreEvents / events
	began := time.Now()
	for range steps {
		step()
	}
	return float64(time.Since(began).Nanoseconds()) / float64(steps*events)
}
