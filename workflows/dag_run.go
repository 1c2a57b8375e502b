package workflows

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/flow"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/entity"
	"github.com/roundsman/roundsman/workflows/recorder"
)

// dagRun carries out what a flow decides, in one coroutine, as groupRun does for
// a job group.
type dagRun struct {
	// root is the workflow's own context, ctx one that its cancellation does not
	// reach, so that a canceled run can end its tasks properly.
	root workflow.Context
	ctx  workflow.Context
	noop workflow.Context

	in       contract.DAGInput
	graph    []byte
	flow     *flow.Flow
	jobTypes map[string]contract.JobTypeSpec
	runs     int
	backlog  backlog[flow.Decision]
	end      *flow.Decision

	messages  dagMessages
	link      *admissionLink
	trail     *recorder.Recorder
	attempts  []dagAttempt
	done      []dagAttempt // scratch of collectAttempts
	lookups   []lookup
	probes    []probe
	watching  workflow.Future
	renewAt   time.Time // when the subscription to the fleet is repeated; zero without one
	timers    entity.Timers
	seen      int64 // the newest view of the fleet
	touched   bool  // an update handler changed the flow
	told      bool  // the flow knows that the workflow was canceled
	described int   // tasks that had ended when the details were written
}

// dagAttempt is a running activity or child workflow of a task.
type dagAttempt struct {
	task   dag.Index
	n      int
	kind   flow.Kind
	worker string
	future workflow.Future
	cancel workflow.CancelFunc // nil for what ends by itself at once
}

type lookup struct {
	name   string
	future workflow.Future
}

func newDAGRun(ctx workflow.Context, in contract.DAGInput) (*dagRun, error) {
	detached, _ := workflow.NewDisconnectedContext(ctx)
	r := &dagRun{root: ctx, ctx: detached, noop: noopContext(detached), in: in, jobTypes: map[string]contract.JobTypeSpec{}}
	r.link = newAdmissionLink(detached, contract.AdmissionRequest{
		Grace: jobtype.Policy{}.WithDefaults().HeartbeatTimeout, DeclaredAt: declaredAt(ctx, in),
	})
	r.trail = dagTrail(detached, in.Name)
	if c := in.Carry; c != nil {
		r.link.restore(c.Admission)
		r.trail.Restore(c.Audit)
		r.runs, r.seen = c.Runs, c.FleetSeq
		if c.JobTypes != nil {
			r.jobTypes = c.JobTypes
		}
	}
	return r, r.listen()
}

// declaredAt is when the sizes of pools were read that the run declares. One that
// has no configuration leaves them as they are: its declaration is from the
// beginning of time.
func declaredAt(ctx workflow.Context, in contract.DAGInput) time.Time {
	switch {
	case len(in.Resources) == 0:
		return time.Time{}
	case in.DeclaredAt.IsZero():
		return workflow.GetInfo(ctx).WorkflowStartTime
	}
	return in.DeclaredAt
}

// name fills in what a sub-DAG or a job's DAG learns from its graph.
func (r *dagRun) name() {
	if r.in.Name == "" {
		if header, err := spec.HeaderOf(r.flow.Run().Graph()); err == nil {
			r.in.Name = header.Name
		}
	}
	r.link.base.JobType = r.in.Name
	r.trail.SetJobType(r.in.Name)
}

// canceled reports whether somebody canceled the workflow.
func (r *dagRun) canceled() bool { return errors.Is(r.root.Err(), workflow.ErrCanceled) }

// observe tells the flow how long the history is, before a step.
func (r *dagRun) observe() {
	info := workflow.GetInfo(r.ctx)
	r.flow.Observe(info.GetCurrentHistoryLength(), info.GetCurrentHistorySize(), r.backlog.bytes)
}

// carryOutAll does what a step decided, as far as it fits into this workflow task.
// The decisions are read before the next step makes others.
func (r *dagRun) carryOutAll(decisions []flow.Decision) {
	for i := range decisions {
		if r.backlog.admits(r.ctx, decisions[i], decisions[i].Bytes) {
			r.carryOut(&decisions[i])
		}
	}
	r.auditNotes()
}

// catchUp does what did not fit into the workflow tasks before.
func (r *dagRun) catchUp() {
	for {
		d, ok := r.backlog.next(r.ctx, func(d flow.Decision) int { return d.Bytes })
		if !ok {
			return
		}
		r.carryOut(&d)
	}
}

func (r *dagRun) carryOut(d *flow.Decision) {
	switch d.Kind {
	case flow.StartNoop:
		r.attempts = append(r.attempts, dagAttempt{
			task: d.Task, n: d.Attempt, kind: d.Kind, future: callNoop(r.noop, r.flow.Run().ID(d.Task), d.Attempt),
		})
	case flow.StartJob:
		r.startJob(d)
	case flow.StartDAG:
		r.startSubDAG(d)
	case flow.Cancel:
		for _, a := range r.attempts {
			if a.task == d.Task && a.n == d.Attempt && a.cancel != nil {
				a.cancel()
			}
		}
	case flow.Insist:
		r.insist(d)
	case flow.Forget:
		for i := range r.attempts {
			if r.attempts[i].task == d.Task && r.attempts[i].n == d.Attempt {
				r.attempts = append(r.attempts[:i], r.attempts[i+1:]...)
				break
			}
		}
	case flow.Lose:
		r.loseTask(d)
	case flow.Probe:
		in := contract.ProbeWorkerInput{ID: d.ID, Instance: d.Instance}
		r.probes = append(r.probes, probe{in, callProbeWorker(r.ctx, in)})
	case flow.Watch:
		r.watch()
	case flow.LookUp:
		in := contract.LookUpJobTypeInput{JobType: d.ID}
		r.lookups = append(r.lookups, lookup{d.ID, callLookUpJobType(r.ctx, in)})
	case flow.AskResources:
		r.askResources(d)
	case flow.ReleaseResources:
		r.link.giveUp(taskAskID(r.flow.Run().ID(d.Task), d.Ask.Number))
	case flow.End:
		end := *d
		r.end = &end
	}
}

// watch asks the fleet to tell this run of its changes, and at once what it is.
func (r *dagRun) watch() {
	r.renewAt = workflow.Now(r.ctx).Add(renewal)
	r.watching = callEnsureFleet(r.ctx, contract.EnsureFleetInput{Watch: &contract.WatchFleetInput{
		WorkflowID: workflow.GetInfo(r.ctx).WorkflowExecution.ID, Seq: r.seen,
	}})
}

func (r *dagRun) startJob(d *flow.Decision) {
	ctx, cancel := workflow.WithCancel(r.ctx)
	info, run, job := workflow.GetInfo(r.ctx), r.flow.Run(), d.Job
	id := run.ID(d.Task)
	spec := r.jobTypes[job.JobType]
	call := executeCall{
		queue: contract.WorkerQueue(job.Worker, job.Instance), takeTimeout: takeTimeout,
		heartbeatTimeout: job.Policy.HeartbeatTimeout.Std(),
		input: contract.ExecuteInput{
			Handler: job.Handler,
			Job: jobtype.Job{
				ID: id, GroupID: info.WorkflowExecution.ID, JobType: job.JobType, DedupeKey: id, Labels: job.Labels,
				Summary: "task " + id + " of " + r.in.Name,
				Params:  spec.Params, Settings: spec.Execute, Cluster: spec.Cluster,
				Attempt: d.Attempt, Fence: job.Fence, Checkpoint: job.Checkpoint,
			},
			ProposalParams: job.Params, RunID: info.WorkflowExecution.RunID,
			Timeout: jobtype.Duration(job.Timeout), Liveness: job.Policy.Liveness,
			StallTimeout: job.Policy.StallTimeout, ProgressTimeout: job.Policy.ProgressTimeout, Interactive: job.Policy.Interactive, StopAfter: job.Policy.StopAfter,
		},
	}
	if job.JobType == "" {
		call.input.Job.JobType = r.in.Name
		call.input.Job.Settings = commandSettings(job.Command)
	}
	if job.Worker == "" {
		call.queue, call.takeTimeout = contract.SharedQueue(job.JobType), job.Timeout
	}
	r.attempts = append(r.attempts, dagAttempt{
		task: d.Task, n: d.Attempt, kind: d.Kind, worker: job.Worker, future: callExecute(ctx, call), cancel: cancel,
	})
}

// commandSettings is an `execute:` block that runs exactly these words: the
// templates of a task were filled in by the run, and what came out is no
// template, whatever it looks like.
func commandSettings(command []string) json.RawMessage {
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = word
		if strings.Contains(word, "{{") {
			words[i] = "{{" + strconv.Quote(word) + "}}"
		}
	}
	// Strings always encode.
	block, err := json.Marshal(map[string]any{"command": words})
	if err != nil {
		return nil
	}
	return block
}

// ready reports whether there is anything to collect.
func (r *dagRun) ready() bool {
	for i := range r.attempts {
		if r.attempts[i].future.IsReady() {
			return true
		}
	}
	if r.touched || (r.canceled() && !r.told) || r.messages.waiting() || r.link.ready() || r.trail.Ready() || r.timers.Fired() {
		return true
	}
	for i := range r.probes {
		if r.probes[i].future.IsReady() {
			return true
		}
	}
	for i := range r.lookups {
		if r.lookups[i].future.IsReady() {
			return true
		}
	}
	return r.watching != nil && r.watching.IsReady()
}
