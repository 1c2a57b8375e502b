package starter

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
)

// Ended says how something ended, why, and what to do about it.
type Ended struct {
	// Of is what has ended: the thing that was asked for, or the last run of a job type.
	Of string `json:"of"`
	// Outcome is that of a run, or the state of a job or task.
	Outcome string    `json:"outcome"`
	At      time.Time `json:"at,omitzero"`
	// Detail is why; empty where nothing went wrong, as Remedy is.
	Detail string `json:"detail,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

// lastRunLooks is how many of its newest runs are looked at for the last one of a
// job type that has ended: of those that overlap, some are open.
const lastRunLooks = 3

// lastRun is how the newest run of the job type that is over ended; nil if the
// Schedule remembers none, or the server does not keep it any more. What cannot be
// found out is left out: the job type is explained without.
func (e *explainer) lastRun(ctx context.Context, known JobType) *Ended {
	looks := 0
	for _, recent := range known.Recent {
		if slices.ContainsFunc(known.Running, func(open RunRef) bool { return open.WorkflowID == recent.WorkflowID }) {
			continue
		}
		if looks++; looks > lastRunLooks {
			break
		}
		// Without the run id: the group may have continued as new.
		described, err := e.client.Runs().describe(ctx, RunRef{WorkflowID: recent.WorkflowID})
		if err != nil {
			e.client.logger.Debug("explain the last run", "run", recent.WorkflowID, "error", err)
			return nil
		}
		if described.Open() {
			continue
		}
		shown, err := e.client.Runs().withResult(ctx, described)
		if err != nil {
			e.client.logger.Debug("explain the last run", "run", recent.WorkflowID, "error", err)
			return nil
		}
		return endedRun(shown)
	}
	return nil
}

// endedRun tells the end of a closed run.
func endedRun(run Snapshot) *Ended {
	ended := &Ended{Of: run.WorkflowID, Outcome: run.endedAs(), At: run.Ended}
	show := "`roundsman runs show " + run.WorkflowID + "`"
	switch {
	case run.Result == nil:
		ended.Detail, ended.Remedy = cmp.Or(run.Failure, "it left no result"), show
		return ended
	case run.Outcome == contract.OutcomeCompleted:
		return ended
	}
	ended.Detail = run.Result.Reason
	if failed := run.Result.Errors; len(failed) > 0 {
		ended.Detail = strings.TrimPrefix(ended.Detail+"; the first: "+jobErrorText(failed[0]), "; ")
	}
	switch run.Outcome { //nolint:exhaustive // the others went wrong
	case contract.OutcomeSkipped:
		ended.Remedy = show
	case contract.OutcomeCanceled:
		ended.Remedy = show + "; `roundsman audit list --object " + run.WorkflowID + "` says who did that"
	default:
		again := "`roundsman jobtypes run " + run.JobType + "`"
		if run.AdHoc != "" {
			again = "submit it again"
		}
		ended.Remedy = show + " lists what went wrong; repair it, then " + again
	}
	return ended
}

func jobErrorText(failed contract.JobError) string {
	about := failed.JobID
	if failed.DedupeKey != "" {
		about = strings.TrimSpace(about + " (" + failed.DedupeKey + ")")
	}
	if failed.Worker != "" {
		about += " on " + failed.Worker
	}
	return strings.TrimPrefix(about+": "+failed.Message, ": ")
}

// endedJob tells the end of a job; nil for one that has not ended.
func endedJob(ref JobRef, jobType string, job contract.JobView) *Ended {
	ended := &Ended{Of: ref.String(), Outcome: job.State, At: job.EndedAt, Detail: job.Error}
	switch job.State {
	case stateCompleted:
		ended.Detail = ""
	case stateCanceled:
		ended.Remedy = "`roundsman audit list --object " + ref.Run.WorkflowID + "` says who canceled it, or its run"
	case stateFailed, stateStale, stateExpired, stateNotStarted:
		ended.Remedy = "`roundsman jobs show " + ref.String() + "`; what is still to be done the next detection proposes again: `roundsman jobtypes run " + jobType + "`"
		if _, _, adHoc := contract.AdHocOf(ref.Run.WorkflowID); adHoc {
			ended.Remedy = "`roundsman jobs show " + ref.String() + "`; submit it again when it can be done"
		}
	default:
		return nil
	}
	return ended
}

// endedDAG tells the end of a closed run of a DAG; nil for an open one, and if it
// cannot be read.
func (e *explainer) endedDAG(ctx context.Context, ref RunRef) *Ended {
	shown, err := e.client.DAGs().Show(ctx, ref)
	if err != nil {
		e.client.logger.Debug("explain the end of a DAG run", "run", ref.WorkflowID, "error", err)
		return nil
	}
	if shown.Open() {
		return nil
	}
	ended := &Ended{Of: shown.WorkflowID, Outcome: endedAs(shown), At: shown.Ended}
	switch {
	case shown.Result == nil:
		ended.Detail = cmp.Or(shown.Failure, "it left no result")
	case shown.Outcome == contract.OutcomeCompleted:
		return ended
	default:
		ended.Detail = dagEndDetail(*shown.Result)
	}
	ended.Remedy = "`roundsman runs show " + shown.WorkflowID + "`; repair it, then " + againDAG(shown.WorkflowID)
	return ended
}

// dagEndDetail is the reason of the run, how many tasks went wrong, and the first
// of them by name.
func dagEndDetail(result contract.DAGResult) string {
	var parts, failed []string
	if result.Reason != "" {
		parts = append(parts, result.Reason)
	}
	for id, task := range result.Tasks {
		if task.State == dag.Failed.String() {
			failed = append(failed, id)
		}
	}
	if len(failed) > 0 {
		slices.Sort(failed)
		parts = append(parts, fmt.Sprintf("%d failed; the first: %s", len(failed), taskErrorText(failed[0], result.Tasks[failed[0]])))
	}
	return strings.Join(parts, "; ")
}

// againDAG says how what is left of a run is run. A run inside another is one task,
// or one job, of that.
func againDAG(id string) string {
	if _, _, standalone := contract.DAGOfWorkflow(id); !standalone || isSubDAG(id) {
		return "run the task or job again that it belongs to"
	}
	return "`roundsman dag retry " + id + "` runs what is left"
}

func taskErrorText(id string, task contract.DAGTask) string {
	if task.Worker != "" {
		id += " on " + task.Worker
	}
	return id + ": " + cmp.Or(task.Error, "no reason was kept")
}

// endedTask tells the end of a task that failed or was canceled; nil for all
// others, and if the run does not say.
func (e *explainer) endedTask(ctx context.Context, ref RunRef, task, state string) *Ended {
	if state != dag.Failed.String() && state != dag.Canceled.String() {
		return nil
	}
	page, err := e.client.DAGs().Tasks(ctx, ref, contract.TasksQueryInput{Task: task})
	if err != nil {
		e.client.logger.Debug("explain the end of a task", "run", ref.WorkflowID, "task", task, "error", err)
		return nil
	}
	for _, view := range page.Tasks {
		if view.ID == task {
			return &Ended{
				Of: ref.WorkflowID + "/" + task, Outcome: state, Detail: taskErrorText(task, view.DAGTask),
				Remedy: "repair it, then " + againDAG(ref.WorkflowID),
			}
		}
	}
	return nil
}
