package fleet_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/fleet"
	"github.com/roundsman/roundsman/jobtype"
)

// chronicle is the reference: the transitions of one worker.
type chronicle struct {
	// turned is the last transition to another state, kept the operator's that is in force.
	turned, kept contract.WorkerTransition
	mode         string
}

func (c *chronicle) write(t contract.WorkerTransition) {
	if t.From != t.To {
		c.turned = t
	}
}

// cause returns the transition that explains the worker's state.
func (c *chronicle) cause(state contract.WorkerState) contract.WorkerTransition {
	if state == contract.WorkerDraining || state == contract.WorkerCordoned {
		return c.kept
	}
	return c.turned
}

var modes = map[string]string{contract.DrainWorker: contract.ModeDraining, contract.CordonWorker: contract.ModeCordoned, contract.UncordonWorker: ""}

// anything draws any event: of operators, processes, and observers that have settled or not,
// late reports, other thresholds.
func anything(t *rapid.T, now time.Time) fleet.Event {
	ids, instances := []string{"a", "b", "c"}, []string{"1", "2", "3"}
	subject := func() contract.Incarnation {
		return who(rapid.SampledFrom(ids).Draw(t, "id"), rapid.SampledFrom(instances).Draw(t, "instance"))
	}
	back := func(name string, most int) time.Time {
		return now.Add(-time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Millisecond)
	}
	switch rapid.IntRange(0, 12).Draw(t, "kind") {
	case 0, 1, 2:
		e := registration(subject(), "h", 1)
		e.Unanswered = rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "unanswered")
		e.TakeOver, e.Version = rapid.Bool().Draw(t, "over"), rapid.SampledFrom([]string{"1", "2"}).Draw(t, "version")
		if mode := rapid.SampledFrom([]string{"", "", contract.ModeCordoned, "bad"}).Draw(t, "said"); mode != "" {
			e.Kept = &contract.WorkerTransition{At: t0, To: contract.WorkerCordoned, Code: contract.WorkerModeSet, Mode: mode, Note: "said before"}
		}
		return e
	case 3:
		return fleet.Unregister(subject())
	case 4, 5:
		actions := []string{contract.DrainWorker, contract.CordonWorker, contract.UncordonWorker, contract.RemoveWorker, "bad"}
		return fleet.Operate{ID: subject().ID, Action: rapid.SampledFrom(actions).Draw(t, "action"), By: "ann"}
	case 6:
		return fleet.Cleanup{AllOffline: rapid.Bool().Draw(t, "all"), By: "ann"}
	case 7:
		config := thresholds(0)
		config.HeartbeatInterval = rapid.SampledFrom([]jobtype.Duration{1, 2}).Draw(t, "interval") * jobtype.Duration(time.Second)
		config.DeleteAfter = jobtype.Duration(rapid.SampledFrom([]time.Duration{90 * time.Second, 40 * time.Second}).Draw(t, "delete"))
		return fleet.Configure(config)
	case 8:
		return fleet.Resize{ID: subject().ID, MaxExecute: rapid.IntRange(1, 3).Draw(t, "cap"), By: "ann"}
	case 9:
		return rapid.SampledFrom([]fleet.Event{fleet.Tick{}, fleet.Watching{}}).Draw(t, "watch")
	default:
		e := fleet.Observed{SightUntil: back("late", 3000)}
		e.SightSince = e.SightUntil.Add(-time.Duration(rapid.IntRange(0, 12_000).Draw(t, "sight")) * time.Millisecond)
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			p := contract.WorkerPulse{Incarnation: subject(), LastChange: back("age", 60_000), Fresh: rapid.Bool().Draw(t, "fresh"), Seen: true}
			p.ShuttingDown = rapid.IntRange(0, 4).Draw(t, "ending") == 0
			e.Changes = append(e.Changes, p)
		}
		return e
	}
}

// Under any events in any order: the transitions of a worker explain its state, its time and its
// cause. An operator's setting lasts until the next one. A rejected request and a repeat change
// nothing. An accepted incarnation holds the id. A silent worker ends up DELETED.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		config := thresholds(90 * time.Second)
		r, now := fleet.New(&config, t0), t0
		told := map[string]*chronicle{}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 15_000).Draw(t, "ms")) * time.Millisecond)
			event := anything(t, now)
			before := r.Snapshot(0)
			decisions := r.Next(now, event)
			record(told, event, decisions)
			requireAnswer(t, r, event, decisions, before)
			if repeats(event) {
				require.Empty(t, transitions(r.Next(now, event)), "%#v again", event)
			}
			requireTold(t, r, told)
		}
		fadeOut(t, r, now.Add(time.Second))
	})
}

// repeats reports whether a repeat of the event changes nothing: an observer's reports are
// always new.
func repeats(event fleet.Event) bool {
	_, observed := event.(fleet.Observed)
	return !observed
}

func record(told map[string]*chronicle, event fleet.Event, decisions []fleet.Decision) {
	operated, _ := event.(fleet.Operate)
	registered, _ := event.(fleet.Register)
	for _, d := range transitions(decisions) {
		if told[d.ID] == nil {
			// Only the settings of a new worker count.
			told[d.ID] = &chronicle{}
			if registered.Kept != nil && registered.Kept.Mode == contract.ModeCordoned {
				told[d.ID].mode, told[d.ID].kept = registered.Kept.Mode, *registered.Kept
			}
		}
		c := told[d.ID]
		c.write(d.WorkerTransition)
		if mode, sets := modes[operated.Action]; sets {
			c.mode, c.kept = mode, d.WorkerTransition
		}
		if c.mode == "" {
			c.kept = contract.WorkerTransition{}
		}
	}
}

func transitions(decisions []fleet.Decision) (list []fleet.Transitioned) {
	for _, d := range decisions {
		if d, ok := d.(fleet.Transitioned); ok {
			list = append(list, d)
		}
	}
	return list
}

func requireAnswer(t *rapid.T, r *fleet.Registry, event fleet.Event, decisions []fleet.Decision, before fleet.Snapshot) {
	answers := 0
	for _, d := range decisions {
		switch d := d.(type) {
		case fleet.Accepted:
			answers++
			require.True(t, r.Known(d.Incarnation))
			require.NotEqual(t, d.Instance, d.Fenced)
		case fleet.Refused:
			answers++
			registered, _ := event.(fleet.Register)
			require.True(t, r.Known(who(registered.ID, d.Holder.Instance)))
			holder, _ := r.Worker(registered.ID)
			require.Equal(t, holder.Fresh, !d.Stale)
			require.Equal(t, before, r.Snapshot(0), "a refusal changes nothing")
		case fleet.Rejected:
			answers++
			require.Equal(t, before, r.Snapshot(0), "a rejection changes nothing")
		}
	}
	if _, asked := event.(fleet.Register); asked {
		require.Equal(t, 1, answers, "one answer")
	}
}

func requireTold(t *rapid.T, r *fleet.Registry, told map[string]*chronicle) {
	watched := r.Observation()
	for id, c := range told {
		w, known := r.Worker(id)
		require.True(t, known)
		require.Equal(t, c.mode, w.Mode, id)
		require.Equal(t, c.kept, w.Kept, id)
		require.Equal(t, c.turned.To, w.State, id)
		require.Equal(t, c.turned.At, w.Since, id)
		require.Equal(t, c.cause(w.State), w.Cause, id)
		require.NotContains(t, fenced(r, id), w.Registration.Instance)
		if w.State != contract.WorkerDeleted {
			require.True(t, slices.ContainsFunc(watched.Known, func(p contract.WorkerPulse) bool { return p.Incarnation == incarnation(w) }), "%s is looked at", id)
			require.True(t, w.Fresh || w.Leaving || !watched.WakeAt.IsZero(), "%s is silent, and nobody will wake", id)
		}
	}
}

func fadeOut(t *rapid.T, r *fleet.Registry, now time.Time) {
	last := fleet.Observed{SightUntil: now, SightSince: t0.Add(-time.Minute)}
	for _, p := range r.Observation().Known {
		p.Fresh, p.Seen, p.LastChange = false, true, now
		last.Changes = append(last.Changes, p)
	}
	r.Next(now, last)
	for step := 0; len(view(r)) > 0; step++ {
		at := r.Observation().WakeAt
		require.False(t, at.IsZero(), "%v", view(r))
		require.Less(t, step, 10, fmt.Sprint(view(r)))
		if at.Before(now) {
			at = now
		}
		r.Next(at, fleet.Observed{SightUntil: at, SightSince: t0.Add(-time.Minute)})
	}
}
