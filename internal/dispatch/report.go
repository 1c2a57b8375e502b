package dispatch

import (
	"slices"
	"strings"
	"time"
)

const (
	// settleEvery is how long endings are collected before admission is told
	// that their keys are free. A group that takes less tells it when it ends.
	settleEvery = 10 * time.Second
	// failEvery is the least time between two reports of failures, which must be
	// quick: a retry may have to be stopped.
	failEvery = time.Second
	// maxReported bounds the failures of one report; the oldest go first.
	maxReported = 2000
	// maxReportedError bounds the message of each: it is for people who look at
	// what is disabled.
	maxReportedError = 160
	// maxHeldBack bounds how many proposals are remembered with what holds them
	// back.
	maxHeldBack = 50
)

// Failed is a failed attempt that counts against the retry budget.
type Failed struct {
	Job     int       `json:"j"`
	Attempt int       `json:"a"`
	At      time.Time `json:"t"`
	Message string    `json:"m,omitempty"`
}

// Report is how jobs ended since the last one.
type Report struct {
	// Done and Settled are jobs with a dedupe key, by number: completed, and
	// ended in another way.
	Done    []int `json:"d,omitempty"`
	Settled []int `json:"s,omitempty"`
	// SuccessAt is when a job completed last.
	SuccessAt time.Time `json:"o,omitzero"`
	// Failed are attempts that failed, in the order of time.
	Failed []Failed `json:"f,omitempty"`
}

func (r Report) empty() bool { return len(r.Done)+len(r.Settled)+len(r.Failed) == 0 }

// ReportEndings tells admission how jobs ended.
type ReportEndings struct{ Report }

func (ReportEndings) decision() {}

// reporter collects endings and decides when they are told.
type reporter struct {
	Report Report `json:"report,omitzero"`
	// SentAt is when the last report was made, DueAt when the next one is; zero:
	// there is nothing to tell.
	SentAt time.Time `json:"sent_at,omitzero"`
	DueAt  time.Time `json:"due_at,omitzero"`
}

// noteFailure writes an attempt down that its handler failed. One that somebody
// canceled says nothing about the work.
func (g *Group) noteFailure(j *job, end Ending, now time.Time) {
	if !g.cfg.Budget || j.Canceling != "" {
		return
	}
	r := &g.reporter
	r.Report.Failed = append(r.Report.Failed, Failed{Job: j.N, Attempt: j.Attempt, At: now, Message: strings.ToValidUTF8(end.Message[:min(len(end.Message), maxReportedError)], "")})
	g.trimFailures()
	due := r.SentAt.Add(failEvery)
	if due.Before(now) {
		due = now
	}
	g.reportAt(due)
}

// noteEnding writes down that a job has ended for good.
func (g *Group) noteEnding(j *job, now time.Time) {
	if !g.cfg.Claims {
		return
	}
	r := &g.reporter
	if j.State == StateCompleted {
		r.Report.SuccessAt = now
	}
	switch {
	case len(j.keys()) == 0:
		return
	case j.State == StateCompleted:
		r.Report.Done = append(r.Report.Done, j.N)
	default:
		r.Report.Settled = append(r.Report.Settled, j.N)
	}
	g.reportAt(now.Add(settleEvery))
}

func (g *Group) reportAt(due time.Time) {
	r := &g.reporter
	if r.DueAt.IsZero() || due.Before(r.DueAt) {
		r.DueAt = due
		g.timers.push(timer{at: due, kind: timerReport})
	}
}

// report tells what is due. What is left when the group ends goes with its end,
// see [Group.TakeReport].
func (g *Group) report(now time.Time) {
	if g.phase != PhaseEnded && !g.reporter.DueAt.IsZero() && !g.reporter.DueAt.After(now) {
		g.decide(ReportEndings{g.TakeReport(now)})
	}
}

// TakeReport returns what was not told yet.
func (g *Group) TakeReport(now time.Time) Report {
	taken := g.reporter.Report
	g.reporter = reporter{SentAt: now}
	return taken
}

// KeysOf are the dedupe keys of a job, one for each proposal that it stands for.
func (g *Group) KeysOf(n int) []string {
	if j := g.job(n); j != nil {
		return j.keys()
	}
	return nil
}

// trimFailures drops the oldest failures until those that are left, each of
// which is told once for every key of its job, fit into one report.
func (g *Group) trimFailures() {
	failed, told := g.reporter.Report.Failed, 0
	for i, f := range slices.Backward(failed) {
		if told += max(len(g.KeysOf(f.Job)), 1); told > maxReported {
			g.reporter.Report.Failed = failed[i+1:]
			return
		}
	}
}
