package dagrun

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/run"
)

// observe passes the length of the history to the core, before a step.
func (r *dagRun) observe() {
	events, bytes := r.runner.History()
	r.core.Observe(r.runner.Now(), events, bytes, r.backlog.Bytes())
}

// carryOutAll carries out a step's decisions that fit into this workflow task. The decisions are
// only valid until the next step.
func (r *dagRun) carryOutAll(decisions []dagrun.Decision) {
	for i := range decisions {
		if r.backlog.Admit(r.ctx, decisions[i], decisions[i].Bytes) {
			r.carryOut(&decisions[i])
		}
	}
	for _, note := range r.core.Notes() {
		object := ""
		if note.Item != engine.WholeRun {
			object = r.id(note.Item)
		}
		r.runner.Note(note, object)
	}
	r.runner.Admission.ReportTasks(r.core.Endings())
}

func (r *dagRun) id(item int) string { return r.core.Run().ID(dag.Index(item)) }

func (r *dagRun) item(name string) (int, bool) {
	i, known := r.core.Run().Lookup(name)
	return int(i), known
}

func (r *dagRun) carryOut(d *dagrun.Decision) {
	switch d.Kind { //nolint:exhaustive // the engine's others need nothing of the graph
	case engine.Start:
		r.startJob(d)
	case engine.Adopt:
		r.runner.Adopt(d.Decision, r.id(d.Item), r.handlerOf(d.Work))
	case dagrun.StartNoop:
		r.runner.Noop(d.Decision, r.id(d.Item))
	case dagrun.StartDAG:
		id := r.id(d.Item)
		r.runner.ExecuteDAG(d.Decision, id, "task "+id+" of "+r.in.Name, contract.DAGInput{
			Depth: r.in.Depth + 1, By: r.in.By, RollEvents: r.in.RollEvents, Resources: r.in.Resources, Recovery: r.core.Recovery(), ScheduledAt: r.core.About().ScheduledAt,
			Lane: r.laneOf(id, d.Attempt),
		}, d.Graph)
	case dagrun.ReleaseLane, dagrun.RequestLane:
		report := contract.LaneReport{JobID: r.in.Lane.JobID, Attempt: r.in.Lane.Attempt, Seq: d.Ask, Wants: d.Kind == dagrun.RequestLane}
		r.reports = append(r.reports, laneReport{d.Ask, callLaneReport(r.ctx, r.group(), report)})
	case dagrun.GrantLane:
		r.runner.GrantLane(r.id(d.Item), contract.LaneGrant{Attempt: d.Attempt, Seq: d.Ask})
	case dagrun.Insist:
		r.runner.RepeatCancel(r.id(d.Item), d.Reason)
	case dagrun.LookUp:
		r.lookups = append(r.lookups, lookup{d.Work, callLookUpJobType(r.ctx, contract.LookUpJobTypeInput{JobType: d.Work})})
	case dagrun.End:
		end := *d
		r.end = &end
	case engine.Acquire:
		// Tasks are requested in the order in which they may start, so all have the priority of
		// a normal job.
		r.runner.Admission.SetGrace(jobtype.Duration(d.Grace))
		r.runner.Acquire(d.Decision, r.id(d.Item), jobtype.PriorityNormal, r.in.Resources)
	case engine.Release:
		if d.Keep == nil {
			r.runner.CarryOut(d.Decision, r.id(d.Item))
			break
		}
		r.runner.Admission.ReleaseKey(contract.AskID(r.id(d.Item), d.Ask), *d.Keep)
	case engine.Probe, engine.Watch, engine.ReportTrouble, engine.ClearTrouble, engine.MoreFences:
		r.runner.CarryOut(d.Decision, "")
	default:
		r.runner.CarryOut(d.Decision, r.id(d.Item))
	}
}

// handlerOf returns the handler of a kind of work: a job type, or a command.
func (r *dagRun) handlerOf(work string) string {
	if spec, ok := r.jobTypes[work]; ok {
		return spec.Handler
	}
	return dagrun.CommandHandler
}

func (r *dagRun) startJob(d *dagrun.Decision) {
	job, id := d.Job, r.id(d.Item)
	spec := r.jobTypes[job.JobType]
	in := contract.ExecuteInput{
		Handler: job.Handler,
		Job: jobtype.Job{
			ID: id, JobType: job.JobType, DedupeKey: id, Labels: d.Labels, Summary: "task " + id + " of " + r.in.Name,
			Params: spec.Params, Settings: spec.Execute, Cluster: spec.Cluster, Run: r.about(),
		},
		ProposalParams: job.Params,
	}
	if job.JobType == "" {
		in.Job.JobType, in.Job.Argv, in.Job.Settings = r.in.Name, job.Command, job.Launch
	}
	r.runner.Execute(d.Decision, in, job.Policy)
}

// about describes the run to the worker of a task, which has its id already.
func (r *dagRun) about() jobtype.RunInfo {
	about := r.core.About()
	about.ID = ""
	return about
}

func (r *dagRun) ready() bool {
	if r.runner.Ready() || r.cancels.Len()+r.grants.Len()+r.subs.Len() > 0 {
		return true
	}
	return slices.ContainsFunc(r.lookups, func(l lookup) bool { return l.future.IsReady() }) ||
		slices.ContainsFunc(r.reports, func(l laneReport) bool { return l.future.IsReady() })
}

// collect applies all ready events to the core. Messages come first: a cancellation applies to
// the tasks that results of the same workflow task would start.
func (r *dagRun) collect() {
	tick := r.runner.Collect()
	r.observe()
	for {
		d, ok := r.backlog.Next(r.ctx)
		if !ok {
			break
		}
		r.carryOut(&d)
	}
	now := r.runner.Now()
	if r.runner.NewlyCanceled() {
		r.auditCanceled()
		r.carryOutAll(r.core.CancelRun(now, "the workflow was canceled"))
	}
	r.collectMessages()
	for _, ended := range r.runner.Endings(r.item) {
		r.carryOutAll(r.core.Next(now, ended))
	}
	for _, room := range r.runner.Rooms() {
		r.carryOutAll(r.core.Next(now, room))
	}
	for _, probed := range r.runner.Probed() {
		r.carryOutAll(r.core.Next(now, probed))
	}
	r.collectLookups()
	r.collectReports()
	if tick {
		r.carryOutAll(r.core.Next(now, engine.Tick{}))
	}
	r.describe(false)
}

func (r *dagRun) collectAdmission() {
	now := r.runner.Now()
	if r.runner.WasReset(nil) {
		now = r.runner.Now()
		r.core.RenewFences(now)
	}
	for _, answer := range r.runner.Answers(nil) {
		i, known := r.core.Run().Lookup(answer.Name)
		switch event := answer.Event(int(i)); {
		case answer.Kind == run.Stopped:
			r.carryOutAll(r.core.StopTask(now, answer.Stop.AdmissionHold))
		case answer.MoreFences():
			r.carryOutAll(r.core.Next(now, engine.FencesGranted{Fence: answer.Grant.Fence, Fences: answer.Grant.Fences}))
		case known && event != nil:
			r.carryOutAll(r.core.Next(now, event))
		}
	}
}

func (r *dagRun) collectLookups() {
	for i := 0; i < len(r.lookups); {
		l := r.lookups[i]
		if !l.future.IsReady() {
			i++
			continue
		}
		r.lookups = append(r.lookups[:i], r.lookups[i+1:]...)
		found, problem := r.jobTypeFound(l)
		r.carryOutAll(r.core.SetJobType(r.runner.Now(), l.name, found, problem))
	}
}

func (r *dagRun) describe(now bool) {
	if text, changed := r.details(now); changed {
		workflow.SetCurrentDetails(r.ctx, text)
	}
}
