package after

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// A lookup finds a success whose message was lost. The distance doubles, so a long wait costs little.
const (
	firstPause = time.Minute
	mostPause  = time.Hour
	// A run that still waits ends before its next tick, so that the tick finds no open run. Of short intervals it is a tenth.
	margin = 10 * time.Second
)

// Wait is the wait of a run for successes before it takes its turn. The zero value has none.
type Wait struct {
	// Needs are the job types that must have succeeded, by name.
	Needs map[string]contract.AfterRule `json:"needs,omitempty"`
	// Since is when the run was started. A success counts from Since minus its rule on.
	Since time.Time `json:"since,omitzero"`
	// Until is when the run is skipped.
	Until time.Time `json:"until,omitzero"`
	// Succeeded are the known last successes.
	Succeeded map[string]time.Time `json:"succeeded,omitempty"`
	// Looks counts the lookups, LookedAt is the time of the last answer.
	Looks    int       `json:"looks,omitempty"`
	LookedAt time.Time `json:"looked_at,omitzero"`
	// Looking: a lookup is under way.
	Looking bool `json:"-"`
}

// New returns the wait of a run that starts now. A zero due, and one that is an interval ago, counts as now.
func New(needs map[string]contract.AfterRule, now, due time.Time, interval time.Duration) Wait {
	if len(needs) == 0 {
		return Wait{}
	}
	most := interval - min(margin, interval/10)
	until := now.Add(most)
	if byTick := due.Add(most); !due.IsZero() && byTick.After(now) && byTick.Before(until) {
		until = byTick
	}
	return Wait{Needs: needs, Since: now, Until: until}
}

// Names lists the job types that the run needs.
func (w *Wait) Names() []string {
	return slices.Sorted(maps.Keys(w.Needs))
}

// Unmet lists the job types without a success that counts.
func (w *Wait) Unmet() []string {
	return slices.DeleteFunc(w.Names(), func(name string) bool {
		last, known := w.Succeeded[name]
		return known && !last.Before(w.Since.Add(-w.Needs[name].SucceededWithin.Std()))
	})
}

// Known takes the answer of a lookup. A job type that is not in it has no known success.
func (w *Wait) Known(successes map[string]time.Time, now time.Time) {
	w.Looking, w.LookedAt = false, now
	w.Looks++
	for _, name := range slices.Sorted(maps.Keys(successes)) {
		w.Success(name, successes[name])
	}
}

// Success notes a success of a job type; an older one changes nothing.
func (w *Wait) Success(name string, at time.Time) {
	if _, needed := w.Needs[name]; !needed || at.IsZero() || !at.After(w.Succeeded[name]) {
		return
	}
	if w.Succeeded == nil {
		w.Succeeded = map[string]time.Time{}
	}
	w.Succeeded[name] = at
}

// Over reports whether the run has waited for as long as it may.
func (w *Wait) Over(now time.Time) bool { return !now.Before(w.Until) }

// LookAt is when the next lookup begins; a wait that has none yet looks at once.
func (w *Wait) LookAt() time.Time {
	if w.Looks == 0 {
		return w.Since
	}
	return w.LookedAt.Add(min(firstPause<<min(w.Looks-1, 6), mostPause))
}

// Wake is when the wait must be looked at again.
func (w *Wait) Wake() time.Time {
	if at := w.LookAt(); !w.Looking && at.Before(w.Until) {
		return at
	}
	return w.Until
}

// NotDueUntil is when a run is due again after its last success; zero: now.
func NotDueUntil(last time.Time, rest time.Duration, now time.Time) time.Time {
	if due := last.Add(rest); rest > 0 && !last.IsZero() && now.Before(due) {
		return due
	}
	return time.Time{}
}

// Cycle returns a cycle of job types that wait for each other, from its first name to the same name again.
func Cycle(needs map[string][]string) []string {
	const visiting, done = 1, 2
	state, path := map[string]int{}, []string{}
	var visit func(name string) []string
	visit = func(name string) []string {
		switch state[name] {
		case done:
			return nil
		case visiting:
			return append(slices.Clone(path[slices.Index(path, name):]), name)
		}
		state[name], path = visiting, append(path, name)
		for _, next := range slices.Sorted(slices.Values(needs[name])) {
			if found := visit(next); found != nil {
				return found
			}
		}
		state[name], path = done, path[:len(path)-1]
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		if found := visit(name); found != nil {
			return found
		}
	}
	return nil
}

// Text is a cycle in one line.
func Text(cycle []string) string { return strings.Join(cycle, " -> ") }
