package main

import (
	"context"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/admission/load"
)

// coreEvents is how many events of each kind one counted run takes.
const coreEvents = 2_000

// coreSizes are the sizes at which the cost of one event is measured. It must not
// grow with them.
func coreSizes() []int { return []int{100, 1_000, 10_000} }

// coresBench measures what one event of the pure cores costs, without Temporal. A size
// of admission is waiters and objects, and ten times as many dedupe keys.
func coresBench(ctx context.Context, b *bench) error {
	for _, n := range coreSizes() {
		for _, c := range load.Cases(n) {
			var perEvent []float64
			for range b.reps {
				perEvent = append(perEvent, timeEvents(c.Step, c.Events))
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
			if err := b.values("core_admission_"+strings.ReplaceAll(c.Name, " ", "_"), n, "ns/event", perEvent, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// timeEvents returns ns per event of a step that takes several.
func timeEvents(step func(), events int) float64 {
	steps := coreEvents / events
	began := time.Now()
	for range steps {
		step()
	}
	return float64(time.Since(began).Nanoseconds()) / float64(steps*events)
}
