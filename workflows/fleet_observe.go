package workflows

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/fleet"
)

// observeInput is what the observer has to know.
func observeInput(watch fleet.Watch) contract.ObserveWorkersInput {
	in := contract.ObserveWorkersInput{WakeAt: watch.WakeAt, SightSince: watch.Since, SightUntil: watch.Until}
	for _, p := range watch.Pulses {
		in.Known = append(in.Known, contract.WorkerPulse{
			ID: p.ID, Instance: p.Instance, LastChange: p.LastChange, Fresh: p.Fresh, Seen: p.Seen, Beat: p.Beat,
			SkewMS: p.Skew.Milliseconds(), ShuttingDown: p.ShuttingDown,
		})
	}
	return in
}

// observed is what the observer says.
func observed(result contract.ObserveWorkersResult) fleet.Observed {
	event := fleet.Observed{At: result.SightUntil, Since: result.SightSince}
	for _, p := range result.Changes {
		event.Changes = append(event.Changes, fleet.Pulse{
			Identity: fleet.Identity{ID: p.ID, Instance: p.Instance}, LastChange: p.LastChange, Fresh: p.Fresh, Seen: p.Seen, Beat: p.Beat,
			Skew: time.Duration(p.SkewMS) * time.Millisecond, ShuttingDown: p.ShuttingDown,
		})
	}
	return event
}
