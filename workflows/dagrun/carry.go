package dagrun

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/run"
)

// Name implements [run.Namer].
func (r *dagRun) Name(item int) string { return r.core.Run().ID(dag.Index(item)) }

// Item implements [run.Namer].
func (r *dagRun) Item(name string) (int, bool) {
	i, known := r.core.Run().Lookup(name)
	return int(i), known
}

// Handler implements [run.Namer]: work is a job type, or a command.
func (r *dagRun) Handler(work string) string {
	if spec, ok := r.jobTypes[work]; ok {
		return spec.Handler
	}
	return dagrun.CommandHandler
}

// Do implements [run.Doer].
func (r *dagRun) Do(command source.Command) {
	switch c := command.(type) {
	case dagrun.StartJob:
		r.startJob(c)
	case dagrun.StartNoop:
		r.loop.Noop(c.Decision, r.Name(c.Item))
	case dagrun.StartDAG:
		id := r.Name(c.Item)
		r.loop.ExecuteDAG(c.Decision, id, "task "+id+" of "+r.in.Name, contract.DAGInput{
			Depth: r.in.Depth + 1, By: r.in.By, RollEvents: r.in.RollEvents, Resources: r.in.Resources, Recovery: r.core.Recovery(), ScheduledAt: r.core.About().ScheduledAt,
			Lane: r.laneOf(id, c.Attempt),
		}, c.Graph)
	case dagrun.ReportLane:
		report := contract.LaneReport{JobID: r.in.Lane.JobID, Attempt: r.in.Lane.Attempt, Seq: c.Seq, Wants: c.Wants}
		r.reports = append(r.reports, laneReport{c.Seq, callLaneReport(r.ctx, r.group(), report)})
	case dagrun.Insist:
		r.loop.RepeatCancel(r.Name(c.Item), c.Reason)
	case dagrun.LookUp:
		r.lookups = append(r.lookups, lookup{c.JobType, callLookUpJobType(r.ctx, contract.LookUpJobTypeInput{JobType: c.JobType})})
	case dagrun.ReleaseKey:
		r.loop.Admission.ReleaseKey(contract.AskID(r.Name(c.Item), c.Ask), c.Result)
	case dagrun.ReportEndings:
		r.loop.Admission.ReportTasks(c.Endings)
	case dagrun.End:
		r.end = &c
	}
}

func (r *dagRun) startJob(d dagrun.StartJob) {
	job, id := d.Job, r.Name(d.Item)
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
	r.loop.Execute(d.Decision, in, job.Policy)
}

// about describes the run to the worker of a task, which has its id already.
func (r *dagRun) about() jobtype.RunInfo {
	about := r.core.About()
	about.ID = ""
	return about
}

// Ready implements [run.Waiter].
func (r *dagRun) Ready() bool {
	return r.grants.Len() > 0 ||
		slices.ContainsFunc(r.lookups, func(l lookup) bool { return l.future.IsReady() }) ||
		slices.ContainsFunc(r.reports, func(l laneReport) bool { return l.future.IsReady() })
}

// Idle implements [run.Waiter].
func (r *dagRun) Idle() bool { return len(r.lookups)+len(r.reports)+r.grants.Len() == 0 }

// InTask implements [run.Waiter].
func (*dagRun) InTask() bool { return false }

// Receive implements [run.Doer].
func (r *dagRun) Receive() {
	r.collectGrants()
	r.collectLookups()
	r.collectReports()
}

// Answered implements [run.Doer].
func (r *dagRun) Answered(answer run.Answer) {
	switch {
	case answer.Kind == run.Stopped:
		r.loop.Step(dagrun.TaskStopped{Hold: answer.Stop.AdmissionHold})
	case answer.MoreFences():
		r.loop.Step(engine.FencesGranted{Fence: answer.Grant.Fence, Fences: answer.Grant.Fences})
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
		r.loop.Step(dagrun.JobTypeKnown{Name: l.name, Found: found, Problem: problem})
	}
}

// Describe implements [run.Describer].
func (r *dagRun) Describe() { r.describe(false) }

func (r *dagRun) describe(now bool) {
	if text, changed := r.details(now); changed {
		workflow.SetCurrentDetails(r.ctx, text)
	}
}
