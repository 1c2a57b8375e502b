package group

import (
	"strconv"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/reasons"
)

type reason = reasons.Reason

// textDetectsAgain is the wait of a failed detection.
func (g *search) textDetectsAgain() string {
	d := &g.detect
	return explain.TextDetectsAgain(d.Retries, g.cfg.Policy.DetectionRetries+1, d.RetryAt, d.Failing)
}

// lostWith names the worker and the job with which a group ends under recovery: fail.
func lostWith(job int, r *run.Report) reason {
	return reason{Code: contract.CodeWorkerLost, Detail: explain.TextLost("job "+strconv.Itoa(job), r.Worker, r.Message)}
}

// tooLarge refuses a group that has no room for its possible findings.
func (c Config) tooLarge(most int) reason {
	return reason{Code: contract.CodeInvalid, Detail: explain.TextTooLarge(c.JobType, most)}
}

// wanted names the handler and the labels that the group needs.
func (c Config) wanted() string {
	return explain.HandlerWith(c.Handler, c.Labels)
}

// missing names the handler, label or state without which no worker can serve the group.
func (g *base) missing() string {
	if g.halt.Unplaced {
		return g.engine.Lacks()
	}
	missing := g.engine.Shortage(explain.Wanted{JobType: g.cfg.JobType, Handler: g.cfg.Handler, Labels: g.cfg.Labels})
	if missing == "" { // Those that match do not detect.
		return explain.TextUnserved(g.cfg.Handler, g.cfg.Labels)
	}
	return missing
}

func noWorker(missing string, waited time.Duration) reason {
	return reason{Code: contract.CodeNoWorker, Detail: explain.TextNoWorkerIn(missing, waited)}
}

func refused(v TurnRefused) reason {
	if v.Code == contract.HoldRetryBudget || v.Code == contract.CodeLaneBusy {
		return reason{Code: v.Code, Detail: v.Reason}
	}
	return reason{Code: contract.CodeLaneBusy, Detail: reasons.Joined(": ", string(v.Code), v.Reason)}
}

func (c Config) laneTooLate() reason {
	return reason{Code: contract.CodeLaneBusy, Detail: explain.TextNoTurn(c.Lane, c.maxWait())}
}

func activeIn(a Active) reason {
	if a.Key == "" {
		return keyActive(a.By)
	}
	return reason{Code: contract.CodeDeduped, Detail: explain.TextActiveKey(a.Key, a.By)}
}

func keyActive(by string) reason {
	return reason{Code: contract.CodeDeduped, Detail: explain.TextKeyActive(by)}
}

// backlogTaken names the group that works on the backlog of the job type.
func backlogTaken(by, jobType string) reason {
	return reason{Code: contract.CodeBacklog, Detail: explain.TextBacklogTaken(by, jobType)}
}

// textMissed names workers that the group did not reach; "" if there are none.
func (g *search) textMissed() string {
	missed := g.missedWorkers(1)
	if g.tally.Counts.MissedWorkers == 0 || len(missed) == 0 {
		return ""
	}
	return explain.TextMissed(g.tally.Counts.MissedWorkers, g.tally.Counts.Workers, missed[0])
}

func (g *work) nothingFits(late int) reason {
	return reason{Code: contract.CodeWindowFit, Detail: explain.TextNothingFits(late, g.closes(), g.textNever())}
}

func (g *work) windowClosed() reason {
	return reason{Code: contract.CodeWindowEnd, Detail: explain.TextWindowShut(g.closes(), g.closing.Next, g.misfits(), g.textNever())}
}

// textNever is the wait of jobs for which no window is long enough: only a person can help them.
func (g *work) textNever() string {
	longest := g.closing.Longest
	if longest <= 0 {
		return ""
	}
	never := 0
	for _, j := range g.jobs.Sorted() {
		if rest, _ := g.engine.Estimate(j.N); rest > longest {
			never++
		}
	}
	return explain.TextNever(never, longest)
}

// unfitText is the error of a job that ends because it does not fit.
func (g *times) unfitText(j *job) string {
	return reason{Code: contract.CodeWindowFit, Detail: g.textLate(j)}.String()
}

// textLate is the reason why a job does not fit.
func (g *times) textLate(j *job) string {
	view, _ := g.engine.View(j.N) // One that is not known is ready.
	rest, whole := g.engine.Estimate(j.N)
	return g.closing.Unfit(view.ReadyAt, rest, whole, j.Proposal.EstimatedRuntime > 0).Text()
}

// textHold is the reason why a group that is away does not use the open window.
func (g *times) textHold() string {
	return explain.TextHold(g.turn.HoldUntil)
}

// tooLate is why a group does not wait for a window that opens then.
func (g *times) tooLate(opens time.Time) reason {
	if g.halt.Away && !opens.IsZero() {
		return reason{Code: contract.CodeWindowEnd, Detail: explain.TextAwayTooLong(MaxAway)}
	}
	closed := ""
	if known := g.window.Last; known != nil {
		closed = known.Closed
	}
	if !opens.IsZero() {
		return reason{Code: contract.CodeWindowClosed, Until: opens, Detail: closed}
	}
	return reason{Code: contract.CodeWindowClosed, Detail: reasons.Joined(": ", explain.TextNoWindow, closed)}
}
