package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
)

// collect tells the core everything that is ready. Messages go first: a policy
// or a cancellation that came with the results must hold for what they set off.
// An outcome that a worker delivered by itself comes after the results, because
// it only counts once the group knows that the attempt timed out.
func (r *groupRun) collect() {
	r.touched = false
	r.catchUp()
	if r.canceled() && !r.told {
		r.told = true
		r.trail.Canceled(contract.AuditEntry{Action: "run.cancel", Before: string(r.core.Phase())})
		r.step(dispatch.GroupCanceled{Reason: "the workflow was canceled"})
	}
	r.collectMessages()
	r.collectWindow()
	r.collectAdmission()
	r.trail.Collect()
	r.collectDetection()
	r.collectAttempts()
	r.collectOutcomes()
	r.collectRoom()
	r.collectProbes()
	r.collectTimers()
	workflow.SetCurrentDetails(r.ctx, r.details())
}

func (r *groupRun) collectDetection() {
	if r.detect == nil || !r.detect.future.IsReady() {
		return
	}
	done := r.detect
	r.detect = nil
	var result contract.DetectActivityResult
	err := done.future.Get(r.ctx, &result)
	event := dispatch.DetectionEnded{
		Attempt: done.n, Pages: result.Pages, Emitted: result.Emitted,
		Surplus: result.Surplus, Duplicates: result.Duplicates, More: result.More, Invalid: result.Invalid, InvalidErrors: result.InvalidErrors,
	}
	if err != nil {
		ending := endingOf(err, done.worker)
		event.Failure, event.Message = ending.Failure, ending.Message
	}
	r.step(event)
}

// collectAttempts works on a list of its own, because a result starts attempts.
func (r *groupRun) collectAttempts() {
	var done []attempt
	running := r.attempts[:0]
	for _, a := range r.attempts {
		if a.future.IsReady() {
			done = append(done, a)
		} else {
			running = append(running, a)
		}
	}
	clear(r.attempts[len(running):])
	r.attempts = running
	for _, a := range done {
		r.step(dispatch.JobEnded{Job: a.job, Attempt: a.n, Ending: r.ending(a)})
	}
}

func (r *groupRun) ending(a attempt) dispatch.Ending {
	var state contract.ExecuteState
	if err := a.future.Get(r.ctx, &state); err != nil {
		return endingOf(err, a.worker)
	}
	return endingOfState(state)
}

func (r *groupRun) collectProbes() {
	pending := r.probes[:0]
	var done []probe
	for _, p := range r.probes {
		if p.future.IsReady() {
			done = append(done, p)
		} else {
			pending = append(pending, p)
		}
	}
	r.probes = pending
	for _, p := range done {
		var result contract.ProbeWorkerResult
		if err := p.future.Get(r.ctx, &result); err != nil {
			workflow.GetLogger(r.ctx).Warn("A worker could not be probed; it stays suspect until the fleet sees it.", "worker", p.in.ID, "error", err)
		}
		r.step(dispatch.WorkerProbed{ID: p.in.ID, Instance: p.in.Instance, Alive: result.Alive, BeatAt: result.BeatAt, Used: result.Used})
	}
	if r.watching != nil && r.watching.IsReady() {
		if err := r.watching.Get(r.ctx, nil); err != nil {
			workflow.GetLogger(r.ctx).Warn("The group is not told of changes of the fleet.", "error", err)
		}
		r.watching = nil
	}
}

func (r *groupRun) collectTimers() {
	fired := r.timers.ClearFired()
	if !r.renewAt.IsZero() && r.watching == nil && !r.renewAt.After(workflow.Now(r.ctx)) {
		r.watch()
	}
	if fired {
		r.step(dispatch.Tick{})
	}
}
