package group

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/run"
)

func reasonOf(w run.Wait, job int) *contract.WaitReason {
	if w.Code == "" {
		return nil
	}
	reason := &contract.WaitReason{Code: string(w.Code), Object: w.Object, Since: w.Since, Until: w.Until, Detail: w.Detail}
	if w.Ask > 0 {
		reason.Object = contract.AskID(contract.JobID(job), w.Ask)
	}
	return reason
}

// waitOf returns the reason why a job does not run.
func (g *views) waitOf(j *job, now time.Time) run.Wait {
	item, offered := g.engine.View(j.N)
	waits := item.Phase != run.PhaseRunning && item.Phase != run.PhaseGrace && item.Phase != run.PhaseLost
	switch {
	case !waits:
		return g.engine.WaitOf(j.N, now)
	case g.turn.active():
		return g.turnWait(now)
	case g.phase == PhaseDetecting:
		return run.Wait{Code: contract.CodeDetecting, Since: g.clock.StartedAt, Detail: explain.TextDetecting}
	case g.phase == PhaseClaiming:
		return g.turn.claimsWait(g.clock.TurnAt, explain.TextGroupClaims)
	case g.paused():
		return g.engine.Paused().Wait()
	case g.halt.Leaving:
		return run.Wait{Code: contract.CodeWindowClosed, Object: g.cfg.JobType, Since: g.closes(), Until: g.closing.Next, Detail: g.halt.Why.Detail}
	case j.Late:
		return g.turn.claimsWait(j.CreatedAt, explain.TextLateClaims)
	case j.Claiming, !offered && g.chunks.AwaitsBacklog():
		return g.chunks.Wait()
	case !offered && g.jobs.Backlog.Len() > 0:
		return backlogWait(g.cfg.JobType, g.jobs.Open.Len(), j.CreatedAt)
	case !offered:
		return run.Wait{}
	}
	wait := g.engine.WaitOf(j.N, now)
	switch wait.Code { //nolint:exhaustive // the others say everything
	case contract.CodeWindowFit:
		wait.Object, wait.Detail = contract.JobID(j.N), g.textLate(j)
	case contract.CodeGlobalLimit, contract.CodeStarting:
		wait.Object = g.cfg.JobType
	}
	return wait
}

// Wait is the wait of the group as a whole.
func (g *views) Wait(now time.Time) run.Wait {
	late := g.phase == PhaseRunning && g.jobs.Open.Len() == 0 && g.awaitsLate(now)
	detecting := (g.phase == PhaseDetecting || late) && !g.detect.running() && !g.halt.On()
	switch {
	case g.phase == PhaseEnded:
	case g.paused():
		return g.engine.Paused().Wait()
	case g.turn.active():
		return g.turnWait(now)
	case detecting && g.cfg.DetectEvery:
		return g.everyWait()
	case detecting && g.detect.CannotStart != "" && g.busyDetectors() != "":
		return run.Wait{Code: contract.CodeCannotStart, Object: g.busyDetectors(), Since: g.detect.BusySince, Detail: explain.TextCannotStart + g.detect.CannotStart}
	case detecting && now.Before(g.detect.RetryAt):
		return run.Wait{Code: contract.CodeBackoff, Object: g.detect.Worker, Since: g.clock.StartedAt, Until: g.detect.RetryAt, Detail: g.textDetectsAgain()}
	case detecting && g.busyDetectors() != "":
		return run.Wait{Code: contract.CodeSlots, Object: g.busyDetectors(), Since: g.detect.BusySince, Detail: explain.TextDetectorsBusy}
	case detecting:
		code, detail := explain.Lacking(g.engine.Incomplete(), g.missing())
		return run.Wait{Code: code, Object: g.cfg.wanted(), Since: g.clock.StartedAt, Detail: detail + explain.TextCannotDetect}
	case g.phase == PhaseClaiming:
		return g.turn.claimsWait(g.clock.TurnAt, explain.TextClaims)
	default:
		return g.laneWait()
	}
	return run.Wait{}
}

// turnWait is the wait of the group for its turn.
func (g *views) turnWait(now time.Time) run.Wait {
	t := &g.turn
	switch t.Step {
	case stepStart:
		first := g.firstStart()
		return run.Wait{Code: contract.CodeNotBefore, Since: t.Since, Until: first, Detail: explain.TextFirstStart(first)}
	case stepAfter:
		names := g.after.Unmet()
		switch {
		case len(names) > 0 && g.after.Looks > 0:
			return run.Wait{Code: contract.CodeAfter, Object: names[0], Since: t.Since, Until: g.after.Until, Detail: explain.TextAfter(names, g.after)}
		case len(names) > 0:
			return run.Wait{Code: contract.CodeStarting, Object: g.cfg.JobType, Since: t.Since, Detail: explain.TextLooksUpSuccesses}
		}
	case stepWindow:
		if g.cfg.Windows && g.window.Last == nil {
			return run.Wait{Code: contract.CodeStarting, Object: g.cfg.JobType, Since: t.Since, Detail: explain.TextLooksUpWindow}
		}
		opens, closed := g.window.ClosedUntil(now)
		if now.Before(g.turn.HoldUntil) {
			return run.Wait{Code: contract.CodeWindowClosed, Object: g.cfg.JobType, Since: t.Since, Until: g.turn.HoldUntil, Detail: g.textHold()}
		}
		if !closed {
			return run.Wait{}
		}
		wait := run.Wait{Code: contract.CodeWindowClosed, Object: g.cfg.JobType, Since: t.Since, Until: opens}
		if g.window.Last != nil {
			wait.Detail = g.window.Last.Closed
		}
		return wait
	case stepWorker:
		code, detail := explain.Lacking(g.engine.Incomplete(), g.missing())
		wait := run.Wait{Code: code, Object: g.cfg.wanted(), Since: t.Since, Until: g.workerDeadline(), Detail: detail}
		if g.cfg.Lane != "" {
			wait.Detail += explain.TextLaneNotHeld
		}
		return wait
	case stepLane:
		if !t.Granted && g.cfg.Lane != "" {
			return run.Wait{Code: contract.CodeLaneBusy, Object: g.cfg.Lane, Since: t.AskedAt, Until: g.laneDeadline(), Detail: explain.TextTurn(false, !g.laneDeadline().IsZero())}
		}
	case stepPrepare, stepNone:
	}
	return run.Wait{}
}

func (g *views) waitingText(wait run.Wait) string {
	switch {
	case g.halt.On() && g.phase != PhaseEnded:
		return "stopping: " + g.halt.Why.String()
	case wait.Code == contract.CodeSlots:
		return explain.TextDetectSlot(wait.Object)
	case wait.Code == contract.CodeLaneBusy:
		return explain.TextTurnIn(g.cfg.Lane)
	case wait.Code == contract.CodeNotBefore:
		return explain.TextNotBefore(wait.Until)
	case wait.Code == contract.CodeWindowClosed && !wait.Until.IsZero():
		return explain.TextWindowUntil(wait.Until, wait.Detail)
	}
	return wait.Detail
}

// maxWaits bounds the reasons of a status that have the same code, and the jobs that it names.
const maxWaits = 20

// Waits lists the waits of the jobs that do not run. A wait of the group as a whole is one of all jobs.
func (g *views) Waits(now time.Time) []contract.WaitReason {
	if whole := reasonOf(g.Wait(now), 0); whole != nil {
		whole.Items = g.jobs.Left() - g.engine.InFlight()
		return []contract.WaitReason{*whole}
	}
	var list []contract.WaitReason
	add := func(reason *contract.WaitReason, number, items int) {
		if reason == nil {
			return
		}
		reason.Item, reason.Items = contract.JobID(number), items
		full := len(list) >= maxWaits // Another object of a code then counts with the first one.
		at := slices.IndexFunc(list, func(w contract.WaitReason) bool {
			return w.Code == reason.Code && (w.Object == reason.Object || full)
		})
		if at >= 0 {
			list[at].Items += items
			return
		}
		list = append(list, *reason)
	}
	for _, w := range g.engine.Waits(now) {
		j := g.jobs.Open.Get(w.Item)
		if j == nil {
			continue
		}
		if reason := reasonOf(g.waitOf(j, now), w.Item); reason != nil {
			reason.Since, reason.Until = w.Since, w.Until
			add(reason, w.Item, w.Items)
		}
	}
	unknown := func(list []*job) { // The engine does not have these jobs.
		if len(list) > 0 {
			add(reasonOf(g.waitOf(list[0], now), list[0].N), list[0].N, len(list))
		}
	}
	unknown(g.lateJobs())
	unknown(g.chunks.Asked())
	slices.SortStableFunc(list, func(a, b contract.WaitReason) int { return cmp.Compare(b.Items, a.Items) })
	if first, n := g.jobs.Backlog.List(0, 0, 1); n > 0 && g.begun {
		one := &job{N: first[0].Number, CreatedAt: g.clock.TurnAt}
		add(reasonOf(g.waitOf(one, now), one.N), one.N, n)
	}
	return list
}

// MainWait is the wait of most jobs while none runs, or nil. It is cheap enough for every turn of a workflow.
func (g *views) MainWait(now time.Time) *contract.WaitReason {
	j := g.jobs.Open.Get(g.engine.MainWait())
	if j == nil && (len(g.chunks.Jobs) > 0 || g.chunks.AwaitsBacklog()) {
		return reasonOf(g.chunks.Wait(), 0)
	}
	if j == nil {
		return nil
	}
	return reasonOf(g.waitOf(j, now), j.N)
}
