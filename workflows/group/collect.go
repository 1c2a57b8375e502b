package group

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group"
	"github.com/roundsman/roundsman/workflows/run"
)

// Ready implements [run.Waiter].
func (r *groupRun) Ready() bool {
	return r.messages.waiting() || slices.ContainsFunc(r.detecting, (*detection).ready) ||
		r.preparing.Ready() || r.windows.Ready() || r.successes.Ready() || r.storing != nil && r.storing.IsReady() || r.reading.ready()
}

// Idle implements [run.Waiter]. The core knows the pending calls.
func (r *groupRun) Idle() bool { return !r.messages.waiting() }

// InTask implements [run.Waiter].
func (r *groupRun) InTask() bool {
	return r.preparing.InTask() || r.windows.InTask() || r.successes.InTask() || r.storing != nil
}

// Receive implements [run.Doer].
func (r *groupRun) Receive() {
	r.collectMessages()
	r.collectAnswers()
}

func (r *groupRun) collectAnswers() {
	if r.windows.Ready() {
		r.collectWindows()
	}
	if r.successes.Ready() {
		r.collectSuccesses()
	}
	if r.preparing.Ready() {
		r.collectPrepared()
	}
	if r.storing != nil && r.storing.IsReady() {
		r.collectStored()
	}
	if done := r.reading; done.ready() {
		r.reading = nil
		r.loop.Step(done.event(r.ctx))
	}
	for {
		i := slices.IndexFunc(r.detecting, (*detection).ready)
		if i < 0 {
			return
		}
		done := r.detecting[i]
		r.detecting = slices.Delete(r.detecting, i, i+1)
		r.collectDetection(done)
	}
}

func (r *groupRun) collectWindows() {
	var result contract.WindowsResult
	done, err := r.windows.Get(&result)
	if !done {
		return
	}
	r.windows = nil
	if err != nil {
		// The activity is retried until it succeeds, so it was refused.
		workflow.GetLogger(r.ctx).Error("The maintenance windows cannot be worked out.", "error", err)
		r.loop.Step(group.WindowsFailed{Reason: run.EndingOfError(err, "").Message})
		return
	}
	r.loop.Step(group.WindowsKnown{Windows: result})
}

func (r *groupRun) collectPrepared() {
	var prepared contract.PrepareResult
	done, err := r.preparing.Get(&prepared)
	if !done {
		return
	}
	r.preparing = nil
	if err != nil {
		r.loop.Step(group.PrepareFailed{Reason: run.EndingOfError(err, "").Message})
		return
	}
	event := group.Prepared{Workers: prepared.Workers, Incomplete: prepared.Incomplete}
	if prepared.Record != nil {
		r.record = *prepared.Record
		event.Carried = carriedOf(r.record)
	}
	r.record = withMissed(r.record, prepared.Missed)
	r.auditMissed(prepared.Missed)
	r.auditTicks(prepared.Ticks)
	r.loop.SetSeen(prepared.WorkersSeq)
	r.loop.Step(event)
	r.loop.Viewed(r.core.Engine().Deserted())
}

func (d *detection) ready() bool { return d.future.IsReady() }

func (r *groupRun) collectDetection(done *detection) {
	var result contract.DetectActivityResult
	err := done.future.Get(r.ctx, &result)
	event := group.DetectionEnded{
		Attempt: done.attempt, Pages: result.Pages, Emitted: result.Emitted,
		Surplus: result.Surplus, Duplicates: result.Duplicates, More: result.More, Invalid: result.Invalid, InvalidErrors: result.InvalidErrors,
		Proposals: result.Proposals, BatchKeys: result.BatchKeys, Explanations: result.Explanations,
	}
	if err != nil {
		ending := run.EndingOfError(err, done.worker)
		event.Failure, event.Message = ending.Failure, ending.Message
		limit := r.core.Policy().DetectionTimeout // The rest of the run's time may have been less.
		if ending.Unreported && ending.Failure == contract.FailureTimeout && done.timeout >= limit.Std() {
			event.Message = explain.TextDetectionTimeout(limit)
		}
	}
	r.loop.Step(event)
}

// Answered implements [run.Doer].
func (r *groupRun) Answered(answer run.Answer) {
	if answer.Kind == run.Stopped {
		r.takeStop(answer.Stop)
		return
	}
	if r.takeChunk(answer) {
		return
	}
	claims := strings.HasPrefix(answer.ID, run.ClaimsPrefix)
	grant := answer.Grant
	switch {
	case answer.Kind == run.Lost:
		r.loop.Step(group.TurnLost{Reason: answer.ID + " was lost: " + answer.Reason})
	case answer.Kind == run.Refused && claims:
		r.loop.Step(group.ClaimsRefused{Code: contract.Code(answer.Code), Reason: answer.Reason})
	case answer.Kind == run.Refused:
		r.loop.Step(group.TurnRefused{Code: contract.Code(answer.Code), Reason: answer.Reason})
	case answer.Kind == run.Renewed || answer.MoreFences():
		r.loop.Step(engine.FencesGranted{Fence: grant.Fence, Fences: grant.Fences})
	case claims:
		r.loop.Step(r.claimed(grant))
	default:
		r.loop.Step(group.TurnGranted{Fence: grant.Fence, Fences: grant.Fences})
	}
}

func (r *groupRun) claimed(grant contract.AdmissionGrant) group.KeysClaimed {
	event := group.KeysClaimed{Fence: grant.Fence, Fences: grant.Fences}
	for _, taken := range grant.Taken {
		for _, index := range taken.Indexes {
			if index >= 0 && index < len(r.claims) {
				event.Active = append(event.Active, group.Active{Job: r.claims[index].Job, Key: r.claims[index].Key, By: taken.By})
			}
		}
	}
	slices.SortStableFunc(event.Active, func(a, b group.Active) int { return cmp.Compare(a.Job, b.Job) })
	for _, one := range grant.HeldBack {
		if one.Index >= 0 && one.Index < len(r.claims) {
			event.HeldBack = append(event.HeldBack, group.HeldBack{
				Job: r.claims[one.Index].Job, Key: r.claims[one.Index].Key, Code: one.Code, Since: one.Since, Until: one.Until, Detail: one.String(),
			})
		}
	}
	return event
}

func (r *groupRun) takeStop(stop contract.AdmissionStop) {
	switch {
	case stop.JobType != r.in.Spec.Name:
	case stop.DedupeKey == "":
		r.loop.Step(group.TypeStopped{Code: contract.Code(stop.Code), Reason: fmt.Sprintf("job type %s is %s", stop.JobType, stop.String())})
	default:
		r.loop.Step(group.KeyStopped{
			DedupeKey: stop.DedupeKey, Done: stop.Code == contract.HoldMarkedDone,
			Reason: fmt.Sprintf("%s: key %s of job type %s is %s", stop.Code, stop.DedupeKey, stop.JobType, stop.String()),
		})
	}
}
