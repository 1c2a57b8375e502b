package group

import (
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/group"
	"github.com/roundsman/roundsman/internal/engine/run/group/endings"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/run"
)

// The ids of requests for the whole group. Claims are [run.ClaimsPrefix].
const (
	itemLane  = "lane"
	itemStart = "start"
)

// turnID differs for each turn, so that a late answer does not count.
func turnID(item string, turn int) string {
	if turn == 0 {
		return item
	}
	return fmt.Sprintf("%s-%d", item, turn+1)
}

func laneID(item string, turn, round int) string {
	if round == 0 {
		return turnID(item, turn)
	}
	return fmt.Sprintf("%s-again-%d", turnID(item, turn), round)
}

// claimsID returns the id of the claims of a turn. Each claim of late detections has its own.
func claimsID(turn, late int) string {
	if late == 0 {
		return turnID(run.ClaimsPrefix, turn)
	}
	return fmt.Sprintf("%s-late-%d", turnID(run.ClaimsPrefix, turn), late)
}

// Name implements [run.Namer].
func (*groupRun) Name(item int) string { return contract.JobID(item) }

// Item implements [run.Namer].
func (*groupRun) Item(name string) (int, bool) { return contract.JobNumber(name) }

// Handler implements [run.Namer].
func (r *groupRun) Handler(string) string { return r.in.Spec.Handler }

// Do implements [run.Doer].
func (r *groupRun) Do(command source.Command) {
	switch c := command.(type) {
	case group.StartJob:
		r.startJob(c)
	case group.StartDetection:
		r.startDetection(c)
	case group.CancelDetection:
		for _, d := range r.detecting {
			if d.attempt == c.Attempt {
				d.cancel()
			}
		}
	case group.AskWindows:
		spec := r.in.Spec
		r.windows = callWindows(r.ctx, contract.WindowsInput{
			At: r.loop.Now(), JobType: spec.Name, Lane: spec.Lane, Calendar: spec.Calendar, LaneCalendar: spec.LaneCalendar,
		})
	case group.LookSuccesses:
		r.successes = callSuccesses(r.ctx, c.JobTypes)
	case group.Prepare:
		r.prepare()
	case group.TakeTurn:
		r.takeTurn(c)
	case group.LeaveTurn:
		r.leaveTurn(c)
	case group.LeaveLane:
		r.loop.Admission.Release(laneID(itemLane, c.Turn, c.Round))
	case group.ClaimKeys:
		r.claims = r.core.Claims(c.Late > 0)
		r.loop.Admission.RequestKeys(claimsID(c.Turn, c.Late), claimHashes(r.claims))
	case group.ReportEndings:
		r.loop.Admission.Report(r.endings(c.Endings))
	case group.StoreRecord:
		r.storing = r.loop.PutPage(c.Segment)
	case group.Unwatch:
		r.loop.Unwatch()
	case group.End:
		r.end = &c
	default:
		r.carryOutClaim(command)
	}
}

// takeTurn requests the group's turn. Without a lane it requests only the permission of its job type to start.
func (r *groupRun) takeTurn(c group.TakeTurn) {
	item := contract.AdmissionItem{ID: laneID(r.turnItem(), c.Turn, c.Round), Start: true, Fences: run.FencesOfRun}
	if r.hasLane() {
		item.Start, item.Lane, item.Distinct = false, r.in.Spec.Lane, r.apart() || c.Round > 0
	}
	r.loop.Admission.RequestTurn(item)
}

func (r *groupRun) leaveTurn(c group.LeaveTurn) {
	if c.Unasked {
		r.loop.Admission.ReleaseUnasked(turnID(r.turnItem(), c.Turn))
		return
	}
	items := []string{laneID(itemLane, c.Turn, c.Rounds), turnID(itemStart, c.Turn)}
	for late := range c.Late + 1 {
		items = append(items, claimsID(c.Turn, late))
	}
	for _, seq := range c.Chunks {
		items = append(items, chunkID(c.Turn, seq))
	}
	for _, id := range append(items, backlogID(c.Turn, c.Backlog)) {
		r.loop.Admission.ReleaseKnown(id)
	}
}

func (r *order) turnItem() string {
	if r.hasLane() {
		return itemLane
	}
	return itemStart
}

func (r *groupRun) prepare() {
	info, record := workflow.GetInfo(r.ctx), r.record
	record.TookMS, record.Checkpoints, record.Values = nil, nil, nil // These are only for later runs.
	r.preparing = callPrepare(r.ctx, contract.PrepareInput{
		JobType: r.in.Spec.Name, Handler: r.in.Spec.Handler,
		WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID,
		Record: record, Scheduled: !r.in.DryRun && !r.apart(),
	})
}

func (r *groupRun) startDetection(d group.StartDetection) {
	ctx, cancel := workflow.WithCancel(r.ctx)
	policy, info, spec := r.core.Policy(), workflow.GetInfo(r.ctx), r.in.Spec
	call := detectCall{
		queue: contract.WorkerDetectQueue(d.ID, d.Instance), timeout: d.Timeout, heartbeatTimeout: policy.HeartbeatTimeout.Std(),
		input: contract.DetectActivityInput{
			Handler: spec.Handler, Liveness: policy.Liveness, StallTimeout: policy.StallTimeout, WorkflowID: info.WorkflowExecution.ID, RunID: info.WorkflowExecution.RunID, Attempt: d.Attempt, Inline: d.Inline, KeyedInGroup: d.KeyedInGroup,
			Input: jobtype.DetectInput{
				JobType: spec.Name, Cluster: spec.Cluster, Params: spec.Params, Settings: spec.Detect,
				LastSuccess: r.record.LastSuccess, LastWithJobs: r.record.LastWithJobs, Sequence: r.record.Sequence + 1, MaxResults: policy.MaxJobsPerDetection,
				DryRun: r.in.DryRun, WorkerID: d.ID, Run: r.about(),
			},
		},
	}
	if spec.Batch != nil {
		call.input.BatchBy = spec.Batch.By
	}
	r.detecting = append(r.detecting, &detection{attempt: d.Attempt, worker: d.ID, timeout: d.Timeout, future: callDetect(ctx, call), cancel: cancel})
}

// A job with a DAG is a child workflow without a worker. Its tasks use the proposal's node or labels as defaults.
func (r *groupRun) startJob(c group.StartJob) {
	spec, p, id := r.in.Spec, c.Proposal, contract.JobID(c.Item)
	in := contract.DAGInput{
		Source: p.DAG, SourceName: "dag of " + id, Deadline: jobtype.Duration(c.Timeout), By: spec.Name,
		Resources: spec.Resources, Node: p.Node, Labels: p.Labels, Recovery: r.core.Policy().Recovery, ScheduledAt: r.about().ScheduledAt,
	}
	if own := spec.DAG; own != nil {
		in.Source, in.SourceName, in.Files = own.Text, own.File, own.Files
		in.Params = mergedParams(spec.Params, p.Params)
		if r.hasLane() && !spec.ApprovalsKeepLane {
			in.Lane = &contract.DAGLane{Lane: spec.Lane, JobID: id, Attempt: c.Attempt}
		}
	}
	if in.Source != "" {
		r.loop.ExecuteDAG(c.Decision, id, p.Summary, in, nil)
		return
	}
	execute := contract.ExecuteInput{
		Handler: spec.Handler,
		Job: jobtype.Job{
			ID: id, JobType: spec.Name, DedupeKey: p.DedupeKey, Summary: p.Summary, Detail: p.Detail, Labels: p.Labels,
			Params: spec.Params, Batch: c.Batch, Settings: spec.Execute, Cluster: spec.Cluster, Run: r.about(),
		},
		ProposalParams: ownParams(c), Ref: c.Ref,
	}
	if execute.Common = r.commonID; r.commonID != "" && r.loop.Given(c.Decision) {
		execute.Job.Params, execute.Job.Settings, execute.Job.Cluster = nil, nil, nil
	}
	r.loop.Execute(c.Decision, execute, r.core.Policy())
}

func commonOf(spec contract.JobTypeSpec) contract.RunCommon {
	return contract.RunCommon{Params: spec.Params, Settings: spec.Execute, Cluster: spec.Cluster}
}

// common's answer never changes while the group runs.
func (r *order) common(id string) (contract.RunCommon, error) {
	if common := commonOf(r.in.Spec); common.ID() == id {
		return common, nil
	}
	return contract.RunCommon{}, fmt.Errorf("this run has nothing in common that is named %q", id)
}

// mergedParams returns the params of a DAG: the job's over the job type's. Both were validated before.
func mergedParams(base, own json.RawMessage) json.RawMessage {
	merged, err := jobtype.OverlayParams(base, own)
	if err != nil {
		return own // The compiler reports the fault.
	}
	return merged
}

// ownParams returns the proposal's params, unless they are in the items of its batch.
func ownParams(c group.StartJob) json.RawMessage {
	if c.Batch != nil {
		return nil
	}
	return c.Proposal.Params
}

func (r *groupRun) endings(ended endings.Endings) contract.AdmissionEndings {
	report := contract.AdmissionEndings{
		SuccessAt: ended.SuccessAt, Done: packed(r.in.Spec.Name, ended.Done, ended.DoneHashes), Settled: packed(r.in.Spec.Name, ended.Settled, ended.SettledHashes),
	}
	for _, f := range ended.Failed {
		failure := contract.AdmissionFailure{Attempt: fmt.Sprintf("%s.%d", contract.JobID(f.Job), f.Attempt), At: f.At, Error: f.Message}
		if len(f.Keys) == 0 {
			report.Failed = append(report.Failed, failure)
		}
		// One attempt counts for each key, and once for the job type.
		for _, key := range f.Keys {
			failure.DedupeKey = key
			report.Failed = append(report.Failed, failure)
		}
	}
	return report
}

func (r *groupRun) lastEndings() []contract.AdmissionEndings {
	if r.in.DryRun {
		return nil
	}
	return []contract.AdmissionEndings{r.endings(r.core.TakeEndings(r.loop.Now()))}
}
