package run

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// attempt is a running activity or child workflow of an item.
type attempt struct {
	item, n int
	// activity is the id of its activity, child that of its child workflow; the other is empty.
	activity, child string
	noop            bool
	recovery        jobtype.Recovery
	worker          string
	future          workflow.Future
	adoption        *adoption
	cancel          workflow.CancelFunc // nil for an attempt that ends by itself at once
}

// Execute starts an attempt on the engine's chosen worker, or on the shared queue. in.Job.ID is the item's name.
func (r *Runner) Execute(d engine.Decision, in contract.ExecuteInput, policy jobtype.Policy) {
	ctx, cancel := workflow.WithCancel(r.ctx)
	in.Job.Attempt, in.Job.Fence, in.Job.Checkpoint = d.Attempt, d.Fence, d.Checkpoint
	in.Timeout, in.Liveness, in.Interactive = jobtype.Duration(d.Timeout), policy.Liveness, policy.Interactive
	in.StallTimeout, in.ProgressTimeout = policy.StallTimeout, policy.ProgressTimeout
	in.OrphanGrace = contract.DefaultOrphanGrace
	if policy.OnDisconnect == jobtype.DisconnectStop {
		in.StopAfter = policy.StopAfter
	}
	call := executeCall{
		activity: contract.AttemptID(in.Job.ID, d.Attempt), queue: contract.WorkerQueue(d.Worker, d.Instance), takeTimeout: engine.TakeTimeout, heartbeatTimeout: d.HeartbeatTimeout, input: in,
	}
	if d.Shared {
		call.queue, call.takeTimeout = contract.SharedQueue(in.Job.JobType), d.Timeout
	}
	r.execute(ctx, d, call, cancel)
}

// Given reports whether the engine's chosen process was sent a job before, and records that it is now. All processes
// of a shared queue count as one.
func (r *Runner) Given(d engine.Decision) bool {
	process := d.Worker + "/" + d.Instance
	if d.Shared {
		process = ""
	}
	given := r.given[process]
	if r.given == nil {
		r.given = map[string]bool{}
	}
	r.given[process] = true
	return given
}

func (r *Runner) execute(ctx workflow.Context, d engine.Decision, call executeCall, cancel workflow.CancelFunc) {
	call.worker = d.Worker
	r.attempts = append(r.attempts, attempt{
		item: d.Item, n: d.Attempt, activity: call.activity, worker: d.Worker, future: callExecute(ctx, call), cancel: cancel,
	})
}

// Adopt starts another activity for an attempt that timed out on the server. The worker may still run it.
func (r *Runner) Adopt(d engine.Decision, name, handler string) {
	ctx, cancel := workflow.WithCancel(r.ctx)
	call := executeCall{
		activity: contract.AdoptionID(name, d.Attempt, d.Adoption), queue: contract.WorkerQueue(d.Worker, d.Instance), worker: d.Worker,
		takeTimeout: adoptTimeout, heartbeatTimeout: d.HeartbeatTimeout,
		input: contract.ExecuteInput{
			Handler: handler, Adopt: true, Timeout: jobtype.Duration(d.Timeout), OrphanGrace: contract.DefaultOrphanGrace,
			Job: jobtype.Job{ID: name, Attempt: d.Attempt, Fence: d.Fence},
		},
	}
	away := contract.ServerAwayInput{
		Incarnation: contract.Incarnation{ID: d.Worker, Instance: d.Instance},
		Within:      jobtype.Duration(d.HeartbeatTimeout + outageMargin), Silent: jobtype.Duration(d.HeartbeatTimeout),
	}
	never, _ := workflow.NewFuture(ctx)
	r.attempts = append(r.attempts, attempt{
		item: d.Item, n: d.Attempt, activity: call.activity, worker: d.Worker, future: never, cancel: cancel,
		adoption: &adoption{ctx: ctx, call: call, away: callServerAway(r.ctx, away)},
	})
}

func (r *Runner) collectAdoptions() {
	for i := range r.attempts {
		a := &r.attempts[i]
		if !a.adoption.answered() {
			continue
		}
		away, call := true, a.adoption.call // Also if the answer is lost.
		if err := a.adoption.away.Get(r.ctx, &away); err == nil && !away {
			call.takeTimeout = adoptGone
		}
		a.future, a.adoption = callExecute(a.adoption.ctx, call), nil
	}
}

// adoption is an adoption before its activity: the control plane first returns the wait for the process.
type adoption struct {
	ctx  workflow.Context
	call executeCall
	away workflow.Future
}

func (a *adoption) answered() bool { return a != nil && a.away.IsReady() }

// Noop starts an attempt that only joins others.
func (r *Runner) Noop(d engine.Decision, name string) {
	r.attempts = append(r.attempts, attempt{item: d.Item, n: d.Attempt, noop: true, future: callNoop(r.noop, name, d.Attempt)})
}

// ExecuteDAG starts a DAG as a child workflow. All attempts of the item have the same workflow id.
func (r *Runner) ExecuteDAG(d engine.Decision, name, summary string, in contract.DAGInput, graph []byte) {
	ctx, cancel := workflow.WithCancel(r.ctx)
	in.DeclaredAt = r.Admission.base.DeclaredAt
	id := r.ChildID(name)
	r.attempts = append(r.attempts, attempt{item: d.Item, n: d.Attempt, child: id, recovery: in.Recovery, future: callDAG(ctx, id, summary, in, graph), cancel: cancel})
}

// ChildID returns the workflow id of an item's DAG.
func (r *Runner) ChildID(name string) string {
	return contract.SubDAGWorkflowID(workflow.GetInfo(r.ctx).WorkflowExecution.ID, name)
}

// RepeatCancel cancels by a signal: a cancel request works only once.
func (r *Runner) RepeatCancel(name, reason string) {
	callCancelDAG(r.ctx, r.ChildID(name), contract.CancelRunInput{Reason: reason})
}

// GrantLane answers the report of an item's DAG about its lane. A run that has ended needs no lane.
func (r *Runner) GrantLane(name string, in contract.LaneGrant) {
	callGrantLane(r.ctx, r.ChildID(name), in)
}

func (r *Runner) find(d engine.Decision) int {
	for i := range r.attempts {
		if r.attempts[i].item == d.Item && r.attempts[i].n == d.Attempt {
			return i
		}
	}
	return -1
}

// cancelAttempt cancels an attempt. Its end is still expected.
func (r *Runner) cancelAttempt(d engine.Decision) {
	if i := r.find(d); i >= 0 && r.attempts[i].cancel != nil {
		r.attempts[i].cancel()
	}
}

func (r *Runner) forgetAttempt(d engine.Decision) {
	if i := r.find(d); i >= 0 {
		r.attempts = append(r.attempts[:i], r.attempts[i+1:]...)
	}
}

// abandonAttempt ends an attempt in its worker's place. If this fails, the heartbeat timeout does the same later.
func (r *Runner) abandonAttempt(d engine.Decision) {
	i := r.find(d)
	if i < 0 {
		return
	}
	info := workflow.GetInfo(r.ctx).WorkflowExecution
	callGiveUp(r.ctx, contract.GiveUpInput{
		WorkflowID: info.ID, RunID: info.RunID, ActivityID: r.attempts[i].activity, Worker: d.Worker, Reason: d.Reason,
	})
}

// Endings returns the ends of attempts: first the workers' reports, then outcomes that they delivered themselves,
// then the server's endings. A delivered outcome counts before a failed adoption of the same attempt.
func (r *Runner) Endings(item func(name string) (int, bool)) []engine.Event {
	var reported, unreported []engine.Event
	running := r.attempts[:0]
	for i := range r.attempts {
		a := &r.attempts[i]
		if !a.future.IsReady() {
			running = append(running, *a)
			continue
		}
		if a.cancel != nil { // Otherwise its context stays with its parent, until this workflow run ends.
			a.cancel()
		}
		if ended := (engine.Ended{Item: a.item, Attempt: a.n, Ending: r.endingOf(a)}); ended.Ending.Reported() {
			reported = append(reported, ended)
		} else {
			unreported = append(unreported, ended)
		}
	}
	clear(r.attempts[len(running):])
	r.attempts = running
	return slices.Concat(reported, r.delivered(item), unreported)
}

func (r *Runner) endingOf(a *attempt) engine.Ending {
	if a.noop || a.child != "" {
		switch err := a.future.Get(r.ctx, nil); {
		case err == nil && a.noop:
			return engine.Ending{}
		case err == nil:
			var result contract.DAGResult
			_ = a.future.Get(r.ctx, &result) // Without a result there are no counts.
			return engine.Ending{Warning: explain.TextWarnings(result.Counts[contract.JobWarning])}
		case a.noop:
			return EndingOfError(err, "")
		default:
			return endingOfDAG(err, a.child, a.recovery)
		}
	}
	var state contract.ExecuteState
	if err := a.future.Get(r.ctx, &state); err != nil {
		return EndingOfError(err, a.worker)
	}
	return EndingOf(state, r.options.Results)
}

func (r *Runner) delivered(item func(name string) (int, bool)) []engine.Event {
	var list []engine.Event
	for {
		var in contract.JobOutcomeInput
		if !r.inbox.outcome.ReceiveAsync(&in) {
			return list
		}
		if n, known := item(contract.JobOfAttempt(in.JobID)); known {
			list = append(list, engine.Delivered{Item: n, Attempt: in.Attempt, Fence: in.Fence, Ending: EndingOf(in.Outcome, r.options.Results)})
		}
	}
}
