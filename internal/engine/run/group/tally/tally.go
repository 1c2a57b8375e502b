package tally

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
	"github.com/roundsman/roundsman/internal/engine/run/group/reasons"
	"github.com/roundsman/roundsman/internal/engine/values"
	"github.com/roundsman/roundsman/internal/engine/window"
)

// maxNamed bounds the lists of proposals with the holder of their key, or with its hold.
const maxNamed = 50

// Tally has the figures of a group.
type Tally struct {
	Counts contract.GroupCounts `json:"counts"`
	// ByWorker counts completed jobs.
	ByWorker map[string]int             `json:"by_worker,omitempty"`
	Deduped  []contract.DedupedProposal `json:"deduped,omitempty"`
	HeldBack []HeldBack                 `json:"held_back,omitempty"`
	// Elsewhere counts jobs with keys that other groups took while this one was away.
	Elsewhere int `json:"elsewhere,omitempty"`
	// Took are the run times of the last completed attempts, oldest first.
	Took []time.Duration `json:"took,omitempty"`
	// Values are the numbers that jobs returned.
	Values values.Run `json:"values,omitzero"`
}

// New returns no figures.
func New() Tally { return Tally{ByWorker: map[string]int{}} }

// HeldBack is a proposal that was left out because its key is disabled.
type HeldBack struct {
	// Job is its number when the keys were claimed.
	Job  int    `json:"-"`
	Key  string `json:"key"`
	Code string `json:"code"`
	// Since and Until bound the time of the hold.
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until"`
	Detail string    `json:"detail"`
}

// Found has the counts of one attempt of a detection.
type Found struct {
	Accepted, Duplicates, Surplus, Invalid int
}

// Find adds to the counts of an attempt.
func (t *Tally) Find(attempt *Found, more Found) {
	attempt.Accepted += more.Accepted
	attempt.Duplicates += more.Duplicates
	attempt.Surplus += more.Surplus
	attempt.Invalid += more.Invalid
	t.add(more, 1)
}

// Drop subtracts the counts of an attempt.
func (t *Tally) Drop(attempt Found) { t.add(attempt, -1) }

func (t *Tally) add(found Found, times int) {
	c := &t.Counts
	c.Accepted += times * found.Accepted
	c.Duplicates += times * found.Duplicates
	c.Surplus += times * found.Surplus
	c.Invalid += times * found.Invalid
}

// Batch counts a job of several proposals: so many fewer jobs.
func (t *Tally) Batch(fewer int) {
	t.Counts.Batched += fewer
	t.Counts.Accepted -= fewer
}

// Ended counts jobs that ended in a state.
func (t *Tally) Ended(state openjobs.State, n int) {
	if count := state.In(&t.Counts); count != nil {
		*count += n
	}
}

// Worked counts a completed job of a worker. A job of a DAG has none.
func (t *Tally) Worked(worker string) {
	if worker != "" {
		t.ByWorker[worker]++
	}
}

// Learn keeps the run time of a completed attempt.
func (t *Tally) Learn(took time.Duration) { t.Took = window.Learn(t.Took, took) }

// Active names the holder of a key.
func (t *Tally) Active(key, by string) {
	if len(t.Deduped) < maxNamed {
		t.Deduped = append(t.Deduped, contract.DedupedProposal{DedupeKey: key, By: by})
	}
}

// Hold records a disabled proposal. n is the number of jobs held by the retry budget.
func (t *Tally) Hold(h HeldBack, n int) {
	if len(t.HeldBack) < maxNamed {
		t.HeldBack = append(t.HeldBack, h)
	}
	if h.Code == contract.HoldRetryBudget {
		t.Counts.HeldBack += n
	}
}

// AllDeduped names the runs with the keys of all submitted jobs.
func (t *Tally) AllDeduped() reasons.Reason {
	if len(t.Deduped) == 0 {
		return reasons.Reason{Code: contract.CodeDeduped, Detail: explain.TextEveryActive}
	}
	text := explain.TextActiveIn(t.Deduped[0].DedupeKey, t.Deduped[0].By, t.Counts.AlreadyActive-1)
	return reasons.Reason{Code: contract.CodeDeduped, Detail: text}
}

// AllHeldBack returns the reason if all submitted jobs are held.
func (t *Tally) AllHeldBack() reasons.Reason {
	if len(t.HeldBack) == 0 {
		return reasons.Reason{Detail: explain.TextEveryHeld}
	}
	return t.HeldBack[0].Reason(t.Counts.Disabled + t.Counts.AlreadyActive - 1)
}

// Failing names the first key that the retry budget holds.
func (t *Tally) Failing(jobType string) reasons.Reason {
	key := ""
	for _, h := range t.HeldBack {
		if h.Code == contract.HoldRetryBudget {
			key = h.Key
			break
		}
	}
	return reasons.Reason{Code: contract.HoldRetryBudget, Detail: explain.TextFailing(t.Counts.HeldBack, key, jobType)}
}

// Reason names the key, and the number of others.
func (h HeldBack) Reason(more int) reasons.Reason {
	return reasons.Reason{Code: contract.Code(h.Code), Detail: explain.TextHeldKey(h.Key, h.Detail, more)}
}

// Holds lists the disabled proposals, for a status.
func (t *Tally) Holds(jobType string) (list []contract.AdmissionHold) {
	for _, h := range t.HeldBack {
		list = append(list, contract.AdmissionHold{JobType: jobType, DedupeKey: h.Key, Code: h.Code, Since: h.Since, Until: h.Until, Detail: h.Detail})
	}
	return list
}
