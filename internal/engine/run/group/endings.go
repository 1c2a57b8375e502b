package group

import (
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/run"
)

const (
	// settleEvery is how long endings are collected before admission learns that
	// their keys are free. A group that takes less reports when it ends.
	settleEvery = 10 * time.Second
	// failEvery is the least time between two reports of failures, which must be
	// quick: a retry may have to be stopped.
	failEvery = time.Second
	// maxReported bounds the keys of the failures of one report; the oldest go first.
	maxReported = 2000
	// maxReportedError bounds the message of each: it is for people who look at what
	// is disabled.
	maxReportedError = 160
)

// FailedAttempt is a failed attempt that counts against the retry budget.
type FailedAttempt struct {
	Job     int       `json:"j"`
	Attempt int       `json:"a"`
	Keys    []string  `json:"k,omitempty"`
	At      time.Time `json:"t"`
	Message string    `json:"m,omitempty"`
}

// Endings is how jobs ended since the last report.
type Endings struct {
	// Done and Settled are the dedupe keys of jobs that completed, and that ended in
	// another way.
	Done    []string `json:"d,omitempty"`
	Settled []string `json:"s,omitempty"`
	// SuccessAt is when a job completed last.
	SuccessAt time.Time `json:"o,omitzero"`
	// Failed are attempts that failed, in the order of time.
	Failed []FailedAttempt `json:"f,omitempty"`
}

// reporter collects endings and decides when they are reported.
type reporter struct {
	Endings Endings `json:"endings,omitzero"`
	// SentAt is when the last report was made, DueAt when the next one is; zero:
	// there is nothing to report.
	SentAt time.Time `json:"sent_at,omitzero"`
	DueAt  time.Time `json:"due_at,omitzero"`
}

func (r *reporter) due(at time.Time) { r.DueAt = instant.Earlier(r.DueAt, at) }

// noteFailure writes down an attempt that its handler failed.
func (g *Group) noteFailure(j *job, report *run.Report, now time.Time) {
	if !g.cfg.Budget {
		return
	}
	r := &g.endings
	message := strings.ToValidUTF8(report.Message[:min(len(report.Message), maxReportedError)], "")
	r.Endings.Failed = append(r.Endings.Failed, FailedAttempt{Job: j.N, Attempt: report.Attempt, Keys: j.Keys(), At: now, Message: message})
	r.trim()
	r.due(instant.Later(r.SentAt.Add(failEvery), now))
}

// noteEnding writes down that a job has ended for good.
func (g *Group) noteEnding(j *job, now time.Time) {
	if !g.cfg.Claims {
		return
	}
	r, keys := &g.endings, j.Keys()
	if j.State.Done() {
		r.Endings.SuccessAt = now
	}
	switch {
	case len(keys) == 0:
		return
	case j.State.Done():
		r.Endings.Done = append(r.Endings.Done, keys...)
	default:
		r.Endings.Settled = append(r.Endings.Settled, keys...)
	}
	r.due(now.Add(settleEvery))
}

// noteDropped writes down that a key's item left its batch: its claim is free, even
// if the job has begun.
func (g *Group) noteDropped(key string, now time.Time) {
	if g.cfg.Claims {
		g.endings.Endings.Settled = append(g.endings.Endings.Settled, key)
		g.endings.due(now.Add(settleEvery))
	}
}

// report tells what is due. Outcomes that are left when the group ends go with its end, see
// [Group.TakeEndings].
func (g *Group) report(now time.Time) {
	if g.phase != PhaseEnded && !g.endings.DueAt.IsZero() && !g.endings.DueAt.After(now) {
		g.do(ReportEndings{g.TakeEndings(now)})
	}
}

// TakeEndings returns what was not reported yet.
func (g *Group) TakeEndings(now time.Time) Endings {
	taken := g.endings.Endings
	g.endings = reporter{SentAt: now}
	return taken
}

// trim drops the oldest failures until those that are left, each of which is
// reported once for every key of its job, fit into one report.
func (r *reporter) trim() {
	failed, keys := r.Endings.Failed, 0
	for i, f := range slices.Backward(failed) {
		if keys += max(len(f.Keys), 1); keys > maxReported {
			r.Endings.Failed = failed[i+1:]
			return
		}
	}
}
