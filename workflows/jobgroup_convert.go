package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
	"github.com/roundsman/roundsman/internal/placement"
)

var errNotBegun = errors.New("the group has not begun yet; try again in a moment")

func pageOf(in contract.DetectPageInput) dispatch.Page {
	return dispatch.Page{Attempt: in.Attempt, Seq: in.Seq, Proposals: in.Proposals, BatchKeys: in.BatchKeys}
}

// workers says what each worker of the fleet offers this group.
func (r *groupRun) workers(views []contract.WorkerView) []dispatch.Worker {
	var list []dispatch.Worker
	for _, view := range views {
		if len(view.JobTypes) > 0 && !slices.Contains(view.JobTypes, r.in.Spec.Name) {
			continue
		}
		w := dispatch.Worker{
			ID: view.ID, Instance: view.Instance, State: string(view.State),
			Online: view.State == contract.WorkerOnline, Offline: view.State == contract.WorkerOffline,
			Fresh: view.Fresh, Beat: view.Beat, Labels: view.Labels,
			Shared: slices.Contains(view.Shared, r.in.Spec.Name),
			Gone:   view.State == contract.WorkerOffline && !view.Leaving, Fenced: view.Fenced,
		}
		for _, c := range view.Capabilities {
			if c.Handler != r.in.Spec.Handler {
				continue
			}
			w.Detect, w.Execute = c.Detect && view.MaxDetect > 0, c.Execute && view.MaxExecute > 0
			w.Slots, w.Total = view.MaxExecute, view.MaxExecute
			if c.MaxExecute > 0 {
				w.Slots = min(w.Slots, c.MaxExecute)
			}
		}
		list = append(list, w)
	}
	return list
}

func endingOfState(state contract.ExecuteState) dispatch.Ending {
	return dispatch.Ending{
		Failure: dispatch.Failure(state.Failure), Message: state.Message, Checkpoint: state.Checkpoint, Done: state.Done,
		Worker: state.Worker, Instance: state.Instance, Duration: time.Duration(state.DurationMS) * time.Millisecond,
		Load: loadOf(state),
	}
}

// loadOf is what the worker of an attempt runs for others; none if the worker did
// not say it itself.
func loadOf(state contract.ExecuteState) placement.Report {
	if state.Instance == "" || state.StartedAt.IsZero() {
		return placement.Report{}
	}
	return placement.Report{
		At:     state.StartedAt.Add(time.Duration(state.DurationMS) * time.Millisecond),
		Others: state.Others, OfHandler: state.OthersOfHandler,
	}
}

// endingOf reads an activity's error. worker is where it was sent, if it was
// sent to one.
func endingOf(err error, worker string) dispatch.Ending {
	ending := dispatch.Ending{Failure: dispatch.FailureFailed, Message: err.Error(), Worker: worker}
	var timeout *temporal.TimeoutError
	var canceled *temporal.CanceledError
	var application *temporal.ApplicationError
	switch {
	case errors.As(err, &timeout):
		readTimeout(timeout, worker, &ending)
	case errors.As(err, &canceled):
		ending.Failure, ending.Message = dispatch.FailureCanceled, "canceled"
		var state contract.ExecuteState
		if canceled.HasDetails() && canceled.Details(&state) == nil {
			ending.Checkpoint, ending.Done, ending.Load = state.Checkpoint, state.Done, loadOf(state)
		}
	case errors.As(err, &application):
		readApplicationError(application, &ending)
	}
	return ending
}

func readTimeout(timeout *temporal.TimeoutError, worker string, ending *dispatch.Ending) {
	ending.Unheard = true
	who := "worker " + worker
	if worker == "" {
		who = "any worker"
	}
	switch timeout.TimeoutType() {
	case enums.TIMEOUT_TYPE_SCHEDULE_TO_START:
		ending.Failure, ending.Message = dispatch.FailureNotTaken, who+" did not take it in time"
	case enums.TIMEOUT_TYPE_HEARTBEAT:
		ending.Failure, ending.Message = dispatch.FailureWorkerLost, "no heartbeat from "+who
		var last contract.Heartbeat
		if timeout.HasLastHeartbeatDetails() && timeout.LastHeartbeatDetails(&last) == nil {
			ending.Checkpoint, ending.Done = last.Checkpoint, last.Done
			if worker == "" {
				ending.Worker = last.Worker
			}
			ending.Message += lastReport(last)
			if last.Stalled > 0 {
				ending.Message = fmt.Sprintf("the handler on %s reported nothing for %s (stall_timeout)%s: it hangs, or it should call Progress.Report or Alive more often",
					who, last.Stalled, lastReport(last))
			}
		}
	case enums.TIMEOUT_TYPE_UNSPECIFIED, enums.TIMEOUT_TYPE_START_TO_CLOSE, enums.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE:
		ending.Failure, ending.Message = dispatch.FailureTimeout, "over its time on "+who
	}
}

// lastReport says how far a handler was, if it has said so.
func lastReport(last contract.Heartbeat) string {
	switch {
	case last.Percent > 0 && last.Stage != "":
		return fmt.Sprintf(" since it was at %.0f%%, %s", last.Percent, last.Stage)
	case last.Percent > 0:
		return fmt.Sprintf(" since it was at %.0f%%", last.Percent)
	case last.Stage != "":
		return " since it was at " + last.Stage
	}
	return ""
}

func readApplicationError(application *temporal.ApplicationError, ending *dispatch.Ending) {
	ending.Message = application.Message()
	switch {
	case known(application.Type()):
		ending.Failure = dispatch.Failure(application.Type())
	case application.Type() == contract.DAGInvalidError:
		// Another attempt would read the same text.
		ending.Failure = dispatch.FailurePermanent
	}
	var state contract.ExecuteState
	if application.HasDetails() && application.Details(&state) == nil {
		ending.Checkpoint, ending.Done, ending.Load = state.Checkpoint, state.Done, loadOf(state)
		ending.Duration = time.Duration(state.DurationMS) * time.Millisecond
		if state.Worker != "" {
			ending.Worker = state.Worker
		}
	}
}

func known(kind string) bool {
	switch contract.FailureKind(kind) {
	case contract.FailureFailed, contract.FailurePermanent, contract.FailureStale, contract.FailureTimeout,
		contract.FailureCanceled, contract.FailureAtCapacity, contract.FailureDraining, contract.FailureUnsupported,
		contract.FailureWorkerLost, contract.FailureNotTaken:
		return true
	case contract.FailureNotRunning: // Only an adoption ends so.
	}
	return false
}

func (r *groupRun) status() (contract.GroupStatus, error) {
	if r.core == nil {
		return r.statusBefore(), nil
	}
	s := r.core.Status(workflow.Now(r.ctx))
	status := contract.GroupStatus{
		JobType: r.in.Spec.Name, Phase: string(s.Phase), Paused: s.Paused, PauseNote: s.PauseNote,
		StartedAt: s.StartedAt, Deadline: s.Deadline, Counts: contract.GroupCounts(s.Counts),
		Pending: s.Pending, Running: s.Running, Detector: s.Detector, Waiting: s.Waiting, Policy: r.core.Policy(), RetryBudget: r.in.Spec.RetryBudget,
		Wait: waitReason(s.Wait, 0), Window: windowStatus(s.Window), IgnoresWindow: r.in.IgnoresWindow(workflow.GetInfo(r.ctx).WorkflowExecution.ID),
	}
	if r.hasLane() {
		status.Lane = r.in.Spec.Lane
	}
	for _, d := range r.core.Deduped() {
		status.Deduped = append(status.Deduped, contract.DedupedProposal{DedupeKey: d.Key, By: d.By})
	}
	status.HeldBack = r.heldBack()
	for _, w := range s.Workers {
		status.Workers = append(status.Workers, contract.GroupWorker{
			ID: w.ID, State: w.State, Usable: w.Usable, Reason: w.Reason, Running: w.InFlight, Slots: w.Slots, Others: w.Others,
		})
	}
	return status, nil
}

// statusBefore is the status of a group that has not begun.
func (r *groupRun) statusBefore() contract.GroupStatus {
	status := contract.GroupStatus{JobType: r.in.Spec.Name, Phase: "preparing", Policy: r.in.Spec.Policy, RetryBudget: r.in.Spec.RetryBudget}
	status.Paused = steeringOf(r.ctx).lastIsPause() // Its note is not read yet.
	r.statusAdHoc(&status)
	if wait := r.windowWait(); wait != nil {
		status.Phase, status.Wait = "waiting", wait
		status.Waiting = "its window is closed until " + wait.Until.UTC().Format(time.RFC3339) + ": " + wait.Detail
		return status
	}
	if !r.hasLane() || r.lane.askedAt.IsZero() {
		return status
	}
	status.Lane = r.in.Spec.Lane
	if !r.lane.granted {
		status.Phase, status.Waiting = "waiting", "it waits for its turn in lane "+status.Lane
		status.Wait = &contract.WaitReason{
			Code: "LANE_BUSY", Object: status.Lane, Since: r.lane.askedAt, Until: r.laneDeadline(),
			Detail: "it waits for its turn" + r.patienceText(),
		}
	}
	return status
}

func waitReason(w dispatch.Wait, job int) *contract.WaitReason {
	if w.Code == "" {
		return nil
	}
	reason := &contract.WaitReason{Code: string(w.Code), Object: w.Object, Since: w.Since, Until: w.Until, Detail: w.Detail}
	if w.Ask > 0 {
		reason.Object = askID(job, w.Ask)
	}
	if w.Code == dispatch.WaitWindowFit {
		reason.Object = contract.JobID(job)
	}
	return reason
}

const defaultJobsLimit = 200

func (r *groupRun) jobs(in contract.JobsQueryInput) (contract.JobsQueryResult, error) {
	if r.core == nil {
		return contract.JobsQueryResult{}, nil
	}
	filter := dispatch.Filter{DedupeKey: in.DedupeKey, Offset: in.Offset, Limit: in.Limit}
	if filter.Limit <= 0 {
		filter.Limit = defaultJobsLimit
	}
	if in.JobID != "" {
		n, ok := contract.JobNumber(in.JobID)
		if !ok {
			return contract.JobsQueryResult{}, fmt.Errorf("job id %q: write it like %s", in.JobID, contract.JobID(1))
		}
		filter.Job = n
	}
	for _, state := range in.States {
		filter.States = append(filter.States, dispatch.State(state))
	}
	views, total := r.core.Jobs(filter, workflow.Now(r.ctx))
	result := contract.JobsQueryResult{Total: total, Jobs: make([]contract.JobView, 0, len(views))}
	for _, v := range views {
		result.Jobs = append(result.Jobs, contract.JobView{
			JobID: contract.JobID(v.N), DedupeKey: v.DedupeKey, Items: len(v.Items), Batch: batchShown(v, filter), Summary: v.Summary, Priority: v.Priority,
			State: string(v.State), Waiting: v.Wait.Detail, Wait: waitReason(v.Wait, v.N), Worker: v.Worker, Attempt: v.Attempt, Error: v.Error,
			NotBefore: v.NotBefore, StartedAt: v.StartedAt, EndedAt: v.EndedAt,
		})
	}
	return result, nil
}
