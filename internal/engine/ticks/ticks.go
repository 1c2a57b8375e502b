package ticks

import (
	"slices"
	"sort"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	// Late is ample: the server starts due runs within seconds.
	Late = time.Minute
	// Noticed is how late a Schedule may notice that its run has ended.
	Noticed = 10 * time.Second
	// inID is the precision of the instant in a run's id.
	inID = time.Second
)

// JobType is the ledger's input for one job type.
type JobType struct {
	Name string
	// Ticks are the instants at which its present schedule was due, in order.
	Ticks []time.Time
	// Runs are its runs, in any order.
	Runs []Run
	// Jitter is how much later than in the id of its run an instant may be.
	Jitter time.Duration
	// Policy for an instant with an open run, and the number of runs that the Schedule keeps back.
	Overlap  jobtype.Overlap
	Buffered int
	// Pauses are when it was paused; a zero To: it still is.
	Pauses []window.Span
	// Start of the present schedule: earlier instants need a run. Start of the server's retention. Zero: the beginning.
	AppliedAt, KeptSince time.Time
}

// Run is one run of a job type.
type Run struct {
	WorkflowID string
	// Due is the instant in its id, without jitter; zero: none started it.
	Due            time.Time
	Started, Ended time.Time
	Outcome        contract.Outcome
	// Code is why it was skipped.
	Code contract.Code
	// Backfilled means that a person started it for its instant, so it stands for no later one.
	Backfilled bool
}

// Tick is the explanation of one instant.
type Tick struct {
	JobType string             `json:"job_type"`
	At      time.Time          `json:"at"`
	State   contract.TickState `json:"state"`
	Code    contract.Code      `json:"code,omitempty"`
	// Text is the code in words.
	Text string `json:"text,omitempty"`
	// Run is its run; of a dropped tick the run that was in its way or stands for it.
	Run     string           `json:"run,omitempty"`
	Outcome contract.Outcome `json:"outcome,omitempty"`
	Started time.Time        `json:"started_at,omitzero"`
	Ended   time.Time        `json:"ended_at,omitzero"`
}

// Of explains the instants of a job type up to now.
func Of(now time.Time, t JobType) []Tick {
	t.Runs = slices.Clone(t.Runs)
	slices.SortFunc(t.Runs, func(a, b Run) int { return a.Started.Compare(b.Started) })
	owner := t.owners()
	keptBack, open := t.keptBack(owner, now)
	ticks := t.before()
	for i, at := range t.Ticks {
		if at.After(now) {
			break
		}
		if at.Before(t.AppliedAt) {
			continue
		}
		tick := Tick{JobType: t.Name, At: at}
		if run, ok := owner[i]; ok {
			tick.ran(t.Runs[run])
		} else if slices.Contains(keptBack, i) {
			tick.State, tick.Run = contract.TickWaiting, open
		} else if !t.dropped(&tick, now) {
			continue
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

func (t JobType) before() []Tick {
	ticks := make([]Tick, 0, len(t.Ticks))
	for _, run := range t.Runs {
		if !run.Due.IsZero() && run.Due.Before(t.AppliedAt.Truncate(inID)) {
			tick := Tick{JobType: t.Name, At: run.Due}
			tick.ran(run)
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// owners finds the run of each instant: by its id, or the latest instant before the run within the jitter.
func (t JobType) owners() map[int]int {
	owner := map[int]int{}
	for i, run := range t.Runs {
		if run.Due.IsZero() {
			continue
		}
		at := sort.Search(len(t.Ticks), func(k int) bool { return !t.Ticks[k].Truncate(inID).Before(run.Due) })
		if at == len(t.Ticks) || t.Ticks[at].Sub(run.Due) >= t.Jitter+inID {
			continue
		}
		if other, taken := owner[at]; !taken || t.Runs[other].Due.Before(run.Due) {
			owner[at] = i
		}
	}
	return owner
}

func (tick *Tick) ran(run Run) {
	tick.Run, tick.Outcome, tick.Started, tick.Ended = run.WorkflowID, run.Outcome, run.Started, run.Ended
	switch {
	case run.Ended.IsZero():
		tick.State = contract.TickOpen
	case run.Outcome == contract.OutcomeSkipped:
		tick.State, tick.Code = contract.TickSkipped, run.Code
	default:
		tick.State = contract.TickRan
	}
}

// dropped is false while the run of the instant may still be starting.
func (t JobType) dropped(tick *Tick, now time.Time) bool {
	tick.State = contract.TickSkipped
	switch paused, open, later := t.pausedAt(tick.At), t.openAt(tick.At), t.startedLate(tick.At); {
	case paused:
		tick.Code = contract.CodePaused
	case open != nil:
		tick.Code, tick.Run = contract.CodeOverlap, open.WorkflowID
	case later != nil:
		tick.Code, tick.Run = contract.CodeCaughtUp, later.WorkflowID
	case tick.At.Before(t.KeptSince):
		tick.State, tick.Code = contract.TickMissed, contract.CodeForgotten
	case now.Sub(tick.At) < Late:
		return false
	default:
		tick.State, tick.Code = contract.TickMissed, contract.CodeServerAway
	}
	return true
}

// buffer_one keeps the first instant after the buffer became free. Other policies keep the newest ones; the buffered
// runs of skip come from a backfill.
func (t JobType) keptBack(owner map[int]int, now time.Time) (kept []int, open string) {
	var since, started time.Time
	for _, run := range t.Runs {
		if run.Ended.IsZero() && !run.Due.IsZero() {
			since, started, open = run.Due, run.Started, run.WorkflowID
		}
	}
	if t.Buffered == 0 || open == "" || t.Overlap == jobtype.OverlapSkip || t.Overlap == "" {
		return nil, ""
	}
	if t.Overlap == jobtype.OverlapBufferOne && t.waited(since) {
		since = started
	}
	for i, at := range t.Ticks {
		if _, ran := owner[i]; !ran && at.After(since) && !at.After(now) && !t.pausedAt(at) {
			kept = append(kept, i)
		}
	}
	if t.Overlap == jobtype.OverlapBufferOne {
		return kept[:min(len(kept), 1)], open
	}
	return kept[max(0, len(kept)-t.Buffered):], open
}

// waited reports whether the run of an instant was kept back. Otherwise the buffer was free from its instant, even if it started
// later: a Schedule that is late takes several instants before it starts the first.
// A run without an end was listed before the Schedule started this one after it.
func (t JobType) waited(due time.Time) bool {
	return slices.ContainsFunc(t.Runs, func(run Run) bool {
		return !run.Due.IsZero() && run.Due.Before(due) && (run.Ended.IsZero() || run.Ended.After(due))
	})
}

func (t JobType) pausedAt(at time.Time) bool {
	return slices.ContainsFunc(t.Pauses, func(pause window.Span) bool {
		return !at.Before(pause.From) && (pause.To.IsZero() || at.Before(pause.To))
	})
}

// openAt also returns a run that had ended in the moment before.
func (t JobType) openAt(at time.Time) *Run {
	for i := range t.Runs {
		run := &t.Runs[i]
		if run.Started.After(at) {
			return nil
		}
		if !run.Due.IsZero() && (run.Ended.IsZero() || run.Ended.Add(Noticed).After(at)) {
			return run
		}
	}
	return nil
}

// startedLate: the server was away between the instant and the late run of an earlier one.
func (t JobType) startedLate(at time.Time) *Run {
	for i := range t.Runs {
		run := &t.Runs[i]
		if !run.Due.IsZero() && !run.Backfilled && run.Due.Before(at) && run.Started.After(at) {
			return run
		}
	}
	return nil
}
