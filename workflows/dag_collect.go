package workflows

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/flow"
	"github.com/roundsman/roundsman/internal/dispatch"
)

// collect tells the flow everything that is ready. Messages go first: a
// cancellation that came with results must hold for what they set off. An
// outcome that a worker delivered by itself comes after the results, because it
// only counts once the run knows that the attempt timed out.
func (r *dagRun) collect() {
	r.touched = false
	r.observe()
	r.catchUp()
	now := workflow.Now(r.ctx)
	if r.canceled() && !r.told {
		r.told = true
		r.auditCanceled()
		r.carryOutAll(r.flow.CancelRun(now, "the workflow was canceled"))
	}
	r.collectMessages()
	r.trail.Collect()
	r.collectAttempts(now)
	r.collectOutcomes(now)
	r.collectRoom(now)
	r.collectAnswers(now)
	r.collectTimers(now)
	r.describe(false)
}

// collectAttempts works on a list of its own, because a result starts attempts.
func (r *dagRun) collectAttempts(now time.Time) {
	done := r.done[:0]
	running := r.attempts[:0]
	for _, a := range r.attempts {
		if a.future.IsReady() {
			done = append(done, a)
		} else {
			running = append(running, a)
		}
	}
	clear(r.attempts[len(running):])
	r.attempts, r.done = running, done
	for i := range done {
		r.carryOutAll(r.flow.Ended(now, done[i].task, done[i].n, r.ending(&done[i])))
	}
	clear(done)
}

func (r *dagRun) ending(a *dagAttempt) flow.Ending {
	if a.kind != flow.StartJob {
		switch err := a.future.Get(r.ctx, nil); {
		case err == nil:
			return flow.Ending{}
		case a.kind == flow.StartDAG:
			return convertEnding(endingOfSubDAG(err, r.subDAGID(r.flow.Run().ID(a.task))))
		default:
			return convertEnding(endingOf(err, a.worker))
		}
	}
	var state contract.ExecuteState
	if err := a.future.Get(r.ctx, &state); err != nil {
		return convertEnding(endingOf(err, a.worker))
	}
	return flowEnding(state)
}

func convertEnding(e dispatch.Ending) flow.Ending {
	return flow.Ending{Failure: e.Failure, Message: e.Message, Checkpoint: e.Checkpoint, Worker: e.Worker, Instance: e.Instance, Load: e.Load, Duration: e.Duration}
}

// flowEnding reads what a worker says about an attempt.
func flowEnding(state contract.ExecuteState) flow.Ending {
	end := convertEnding(endingOfState(state))
	if state.Failure == "" {
		end.Result = taskResult(state)
	}
	return end
}

// taskResult is what other tasks see of a task: the handler's data; the fields of
// the last line that was printed, if that is a JSON object; and the handler's
// summary, as summary.
func taskResult(state contract.ExecuteState) json.RawMessage {
	fields := map[string]any{}
	if state.Result.Summary != "" {
		fields["summary"] = state.Result.Summary
	}
	maps.Copy(fields, state.Result.Data)
	output := strings.TrimSpace(state.Result.Output)
	if last := output[strings.LastIndexByte(output, '\n')+1:]; strings.HasPrefix(last, "{") {
		var own map[string]json.RawMessage
		if json.Unmarshal([]byte(last), &own) == nil {
			delete(fields, "summary") // It is that line.
			//workflowcheck:ignore each goes to a place of its own
			for key, value := range own {
				fields[key] = value
			}
		}
	}
	// It came out of JSON, so it goes into JSON; keys are sorted.
	data, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return data
}

func (r *dagRun) collectOutcomes(now time.Time) {
	for {
		var in contract.JobOutcomeInput
		if !r.messages.outcome.ReceiveAsync(&in) {
			return
		}
		r.carryOutAll(r.flow.Delivered(now, in.JobID, in.Fence, flowEnding(in.Outcome)))
	}
}

// collectAnswers takes what the control plane found out.
func (r *dagRun) collectAnswers(now time.Time) {
	for i := 0; i < len(r.probes); {
		p := r.probes[i]
		if !p.future.IsReady() {
			i++
			continue
		}
		r.probes = append(r.probes[:i], r.probes[i+1:]...)
		var result contract.ProbeWorkerResult
		if err := p.future.Get(r.ctx, &result); err != nil {
			workflow.GetLogger(r.ctx).Warn("A worker could not be probed; it stays suspect until the fleet sees it.", "worker", p.in.ID, "error", err)
		}
		r.carryOutAll(r.flow.Probed(now, p.in.ID, p.in.Instance, result.Alive, flow.Beat{At: result.BeatAt, Used: result.Used}))
	}
	for i := 0; i < len(r.lookups); {
		l := r.lookups[i]
		if !l.future.IsReady() {
			i++
			continue
		}
		r.lookups = append(r.lookups[:i], r.lookups[i+1:]...)
		r.foundJobType(l, now)
	}
	if r.watching != nil && r.watching.IsReady() {
		if err := r.watching.Get(r.ctx, nil); err != nil {
			workflow.GetLogger(r.ctx).Warn("The run is not told of changes of the fleet.", "error", err)
		}
		r.watching = nil
	}
}

func (r *dagRun) foundJobType(l lookup, now time.Time) {
	var result contract.LookUpJobTypeResult
	err := l.future.Get(r.ctx, &result)
	switch {
	case err != nil:
		r.carryOutAll(r.flow.SetJobType(now, l.name, flow.JobType{}, "job type "+l.name+" cannot be looked up: "+endingOf(err, "").Message))
	case result.Spec == nil:
		r.carryOutAll(r.flow.SetJobType(now, l.name, flow.JobType{},
			"job type "+l.name+" is not applied: add it to the configuration and run `roundsman apply`, then retry"))
	default:
		r.jobTypes[l.name] = *result.Spec
		r.carryOutAll(r.flow.SetJobType(now, l.name, flow.JobType{Handler: result.Spec.Handler, Policy: result.Spec.Policy, Bytes: startBytes(*result.Spec)}, ""))
	}
}

func (r *dagRun) collectTimers(now time.Time) {
	fired := r.timers.ClearFired()
	if !r.renewAt.IsZero() && r.watching == nil && !r.renewAt.After(now) {
		r.watch()
	}
	if fired {
		r.carryOutAll(r.flow.Tick(now))
	}
}
