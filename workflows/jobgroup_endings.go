package workflows

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
)

// report adds endings to what is said next.
func (l *admissionLink) report(endings contract.AdmissionEndings) {
	l.next.Endings, l.dirty = append(l.next.Endings, endings), true
	l.remember(endings)
}

// repeats reports whether something has to be said again.
func (l *admissionLink) repeats() bool { return len(l.waiting)+len(l.lost)+len(l.next.Release) > 0 }

// worthSaying leaves out of the last endings what follows from giving everything
// back.
func (l *admissionLink) worthSaying(last []contract.AdmissionEndings) []contract.AdmissionEndings {
	if l.base.Budget == nil {
		return nil
	}
	var short []contract.AdmissionEndings
	for _, endings := range last {
		endings.Settled = nil
		if len(endings.Done)+len(endings.Failed) > 0 || !endings.SuccessAt.IsZero() {
			short = append(short, endings)
		}
	}
	return short
}

func hasFailures(request contract.AdmissionRequest) bool {
	return slices.ContainsFunc(request.Endings, func(e contract.AdmissionEndings) bool { return len(e.Failed) > 0 })
}

// endings says for admission how jobs ended.
func (r *groupRun) endings(report dispatch.Report) contract.AdmissionEndings {
	endings := contract.AdmissionEndings{
		At: workflow.Now(r.ctx), SuccessAt: report.SuccessAt,
		Done: r.hashes(r.keysOf(report.Done)), Settled: r.hashes(r.keysOf(report.Settled)),
	}
	for _, f := range report.Failed {
		failure := contract.AdmissionFailure{Attempt: fmt.Sprintf("%s.%d", contract.JobID(f.Job), f.Attempt), At: f.At, Error: f.Message}
		keys := r.core.KeysOf(f.Job)
		if len(keys) == 0 {
			endings.Failed = append(endings.Failed, failure)
		}
		// One attempt: it counts for each key, and once for the job type.
		for _, key := range keys {
			failure.DedupeKey = key
			endings.Failed = append(endings.Failed, failure)
		}
	}
	return endings
}

func (r *groupRun) keysOf(jobs []int) []string {
	keys := make([]string, 0, len(jobs))
	for _, n := range jobs {
		keys = append(keys, r.core.KeysOf(n)...)
	}
	return keys
}

// lastEndings is what the group did not say before its end.
func (r *groupRun) lastEndings() []contract.AdmissionEndings {
	if r.core == nil || r.in.DryRun {
		return nil
	}
	return []contract.AdmissionEndings{r.endings(r.core.TakeReport(workflow.Now(r.ctx)))}
}

// takeStops tells the core what must not start any more.
func (r *groupRun) takeStops(stops []contract.AdmissionStop) {
	for _, stop := range stops {
		reason := fmt.Sprintf("%s: key %s of job type %s is %s", stop.Code, stop.DedupeKey, stop.JobType, stop.String())
		switch {
		case stop.JobType != r.in.Spec.Name:
		case stop.DedupeKey == "":
			r.stopType(fmt.Sprintf("%s: job type %s is %s", stop.Code, stop.JobType, stop.String()))
		case r.core == nil:
		default:
			r.step(dispatch.KeyStopped{DedupeKey: stop.DedupeKey, Done: stop.Code == contract.HoldMarkedDone, Reason: reason})
		}
	}
}

// stopType keeps the group from starting anything, also if it has not begun yet.
func (r *groupRun) stopType(reason string) {
	if r.core == nil {
		r.lane.stopped = reason
		return
	}
	r.step(dispatch.TypeStopped{Reason: reason})
}

// heldBackOf reads which jobs must be left out.
func heldBackOf(held []contract.AdmissionHeldKey, asked claimedBy) []dispatch.HeldBack {
	var list []dispatch.HeldBack
	for _, one := range held {
		if one.Index >= 0 && one.Index < len(asked.jobs) {
			list = append(list, dispatch.HeldBack{Job: asked.jobs[one.Index], Key: asked.keys[one.Index], Code: one.Code, Since: one.Since, Until: one.Until, Detail: one.String()})
		}
	}
	return list
}

// heldBack lists the first proposals that were left out.
func (r *groupRun) heldBack() []contract.AdmissionHold {
	var list []contract.AdmissionHold
	for _, held := range r.core.HeldBack() {
		list = append(list, contract.AdmissionHold{
			JobType: r.in.Spec.Name, DedupeKey: held.Key, Code: held.Code, Since: held.Since, Until: held.Until, Detail: held.Detail,
		})
	}
	return list
}
