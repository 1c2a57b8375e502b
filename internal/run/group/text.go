package group

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// The reasons with which groups and jobs end. They are data: the record, the audit
// log and the terminal show them as they are.

const textClaimsRefused = "the claims were refused: "

func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func textClosedUntil(opens time.Time, why string) string {
	if opens.IsZero() {
		return string(contract.CodeWindowClosed) + ": no window opens within 400 days" + why
	}
	return fmt.Sprintf("%s %s%s", contract.CodeWindowClosed, at(opens), why)
}

func textWindowBroken(why string) string { return string(contract.CodeWindowClosed) + ": " + why }

func textUnprepared(why string) string { return "the workers could not be looked up: " + why }

func textNoDetector(handler string) string {
	return "no worker with handler " + handler + " was usable"
}

func textNoWorkerSkip(handler string, waited time.Duration) string {
	return fmt.Sprintf("%s: no usable worker has handler %s (waited %s)", contract.CodeNoWorker, handler, waited.Round(time.Second))
}

func textRefused(v TurnRefused) string {
	if v.Code == "" || v.Code == contract.CodeLaneBusy {
		return string(contract.CodeLaneBusy) + ": " + v.Reason
	}
	if v.Code == contract.HoldRetryBudget {
		return string(v.Code) + ": " + v.Reason
	}
	return fmt.Sprintf("%s: %s: %s", contract.CodeLaneBusy, v.Code, v.Reason)
}

func (g *Group) textLaneTooLate() string {
	switch {
	case g.cfg.Lane == "":
		return fmt.Sprintf("%s: admission did not answer for a whole interval (%s)", contract.CodeLaneBusy, g.maxWait())
	case g.cfg.Submitted:
		return fmt.Sprintf("%s: lane %s was busy until every job had expired (expires_at)", contract.CodeLaneBusy, g.cfg.Lane)
	}
	return fmt.Sprintf("%s: lane %s was busy for a whole interval (%s)", contract.CodeLaneBusy, g.cfg.Lane, g.maxWait())
}

func textPagesLost(sent, arrived int) string {
	return fmt.Sprintf("the detector sent %d pages, %d arrived: this is a bug, please report it", sent, arrived)
}

func textDetectionFailed(worker, message string) string {
	return fmt.Sprintf("detection on %s: %s", worker, message)
}

func textDeduped(a Active) string {
	return fmt.Sprintf("%s: key %q is active in %s", contract.CodeDeduped, a.Key, a.By)
}

func textHeldBack(h HeldBack) string { return fmt.Sprintf("%s: key %q is %s", h.Code, h.Key, h.Detail) }

// textMissed names workers that the group did not reach; "" if there are none.
func (g *Group) textMissed() string {
	missed := g.missedWorkers(1)
	if g.counts.MissedWorkers == 0 || len(missed) == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %d workers missed: %s: %s: %s", g.counts.MissedWorkers, g.counts.Workers, missed[0].Worker, missed[0].Code, missed[0].Detail)
	if more := g.counts.MissedWorkers - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

func joinTexts(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

func (g *Group) textFull() string {
	return fmt.Sprintf("the group is full before its turn: max_jobs_per_detection is %d", g.cfg.Policy.MaxJobsPerDetection)
}

// textAllDeduped says which runs have what was submitted.
func (g *Group) textAllDeduped() string {
	if len(g.deduped) == 0 {
		return string(contract.CodeDeduped) + ": every key is active in another run"
	}
	text := fmt.Sprintf("%s: %q is active in %s", contract.CodeDeduped, g.deduped[0].DedupeKey, g.deduped[0].By)
	if more := g.counts.AlreadyActive - 1; more > 0 {
		text += fmt.Sprintf(", and %d more with others", more)
	}
	return text
}

// textAllHeldBack says why nothing of what was submitted is done.
func (g *Group) textAllHeldBack() string {
	if len(g.heldBack) == 0 {
		return "every key is held back"
	}
	text := textHeldBack(g.heldBack[0])
	if more := g.counts.Disabled + g.counts.AlreadyActive - 1; more > 0 {
		text += fmt.Sprintf(", and %d more are held back or active elsewhere", more)
	}
	return text
}

// textFailing names the keys that the retry budget keeps a group from working on.
func (g *Group) textFailing() string {
	text := fmt.Sprintf("%s: %d held back after failures", contract.HoldRetryBudget, g.counts.HeldBack)
	for _, h := range g.heldBack {
		if h.Code == contract.HoldRetryBudget {
			return text + fmt.Sprintf(", such as %q; see: roundsman jobs disabled %s", h.Key, g.cfg.JobType)
		}
	}
	return text
}

func doNotFit(n int) string {
	if n == 1 {
		return "1 job does not fit"
	}
	return fmt.Sprintf("%d jobs do not fit", n)
}

func (g *Group) textNothingFits(late int) string {
	return fmt.Sprintf("%s: %s before the window closes at %s%s", contract.CodeWindowFit, doNotFit(late), at(g.closes()), g.textNever())
}

func (g *Group) textWindowClosed() string {
	reason := fmt.Sprintf("%s: the window closed at %s", contract.CodeWindowEnd, at(g.closes()))
	if next := g.closing.Next; !next.IsZero() {
		reason += ", the next one opens at " + at(next)
	}
	if late := g.engine.Late(); late > 0 {
		reason += fmt.Sprintf("; %s into what was left of it%s", doNotFit(late), g.textNever())
	}
	return reason
}

// textNever says that jobs are left which no window is long enough for: only a person
// can help them.
func (g *Group) textNever() string {
	longest := g.closing.Longest
	if longest <= 0 {
		return ""
	}
	never := 0
	for _, j := range g.jobs.sorted() {
		if rest, _ := g.engine.Estimate(j.N); rest > longest {
			never++
		}
	}
	switch never {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; 1 of them never fits: no window of the next weeks is longer than %s", jobtype.Duration(longest))
	}
	return fmt.Sprintf("; %d of them never fit: no window of the next weeks is longer than %s", never, jobtype.Duration(longest))
}

// textLate says why a job does not fit.
func (g *Group) textLate(j *job) string {
	w := g.closing
	rest, whole := g.engine.Estimate(j.N)
	closes := "the window closes at " + at(w.Closes)
	if view, known := g.engine.View(j.N); known && !view.ReadyAt.Before(w.Closes) {
		return fmt.Sprintf("it does not start before %s, and %s", at(view.ReadyAt), closes)
	}
	what := "its estimated_runtime of " + jobtype.Duration(whole).String()
	if j.Proposal.EstimatedRuntime == 0 {
		what = fmt.Sprintf("the learned p95 of %d runs, %s,", w.LearnedOf, jobtype.Duration(whole))
	}
	if rest < whole {
		what = fmt.Sprintf("what is left of %s after its checkpoint, %s,", what, jobtype.Duration(rest.Round(time.Second)))
	}
	text := fmt.Sprintf("%s does not fit before %s", what, closes)
	if w.Longest > 0 && rest > w.Longest {
		text += fmt.Sprintf("; it never fits: no window of the next weeks is longer than %s", jobtype.Duration(w.Longest))
	}
	return text
}

// textHold says why a group that is away does not use the window that is open.
func (g *Group) textHold() string {
	return "nothing that is left fits into this window; the next one opens at " + at(g.turn.HoldUntil)
}

// textTooLate is why a group does not wait for a window that opens then.
func (g *Group) textTooLate(opens time.Time) string {
	if g.away && !opens.IsZero() {
		return fmt.Sprintf("%s: it has been coming back for %d days: submit again what is still wanted", contract.CodeWindowEnd, MaxAway/(24*time.Hour))
	}
	return g.window.closedText(opens)
}
