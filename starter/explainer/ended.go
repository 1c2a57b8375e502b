package explainer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// Ended is the end of a thing, with its cause and remedy.
type Ended struct {
	// Of is the thing explained, or the last run of a job type.
	Of string `json:"of"`
	// Outcome of a run, or state of a job or task.
	Outcome string    `json:"outcome"`
	At      time.Time `json:"at,omitzero"`
	// Detail is the cause. Detail and Remedy are empty after a success.
	Detail string `json:"detail,omitempty"`
	// Runs are the runs and items that Detail names, in its order. Only a skipped run has them: other details are texts of programs.
	Runs   []explain.Holder `json:"runs,omitempty"`
	Remedy string           `json:"remedy,omitempty"`
	// Actions are the commands of Remedy.
	Actions []action.Action `json:"actions,omitempty"`
}

func (e *Ended) help(hint string, actions ...action.Action) {
	remedy := explain.Remedy{Hint: hint, Actions: actions}
	e.Remedy, e.Actions = remedy.Text(), actions
}

func about(operation action.Operation, name, value string) action.Action {
	return action.New(operation, action.Args{name: value})
}

// With overlapping runs, some of the newest are open.
const lastRunLooks = 3

// lastRun returns the end of the newest closed run of the job type, if any.
func (e *explainer) lastRun(ctx context.Context, known jobtypes.JobType) *Ended {
	looks := 0
	for _, recent := range known.Recent {
		if slices.ContainsFunc(known.Running, func(open starter.RunRef) bool { return open.WorkflowID == recent.WorkflowID }) {
			continue
		}
		if looks++; looks > lastRunLooks {
			break
		}
		// Without the run id: the group may have continued as new.
		described, err := e.client.Runs().Describe(ctx, starter.RunRef{WorkflowID: recent.WorkflowID})
		if err != nil {
			e.client.Logger().Debug("explain the last run", "run", recent.WorkflowID, "error", err)
			return nil
		}
		if described.Open() {
			continue
		}
		shown, err := e.client.Runs().Show(ctx, described.RunRef)
		if err != nil {
			e.client.Logger().Debug("explain the last run", "run", recent.WorkflowID, "error", err)
			return nil
		}
		e.pace = cmp.Or(e.pace, shown.Pace)
		return endedRun(shown)
	}
	return nil
}

func endedRun(run starter.Snapshot) *Ended {
	ended := &Ended{Of: run.WorkflowID, Outcome: run.EndedAs(), At: run.Ended}
	show := about(action.GetRun, "run", run.WorkflowID)
	switch {
	case run.Failure != "" || run.Progress == nil:
		ended.Detail = cmp.Or(run.Failure, "it left no result")
		ended.help("", show)
	case run.Outcome == contract.OutcomeCompleted:
		if run.Result != nil && run.Result.Counts.Detected == 0 {
			ended.Detail = strings.Join(run.Result.Explanations, "; ")
		}
		return ended
	default:
		ended.Detail = endDetail(run)
	}
	switch {
	case run.Outcome == contract.OutcomeSkipped:
		ended.Runs = explain.RunsIn(ended.Detail)
		ended.help("", show)
	case run.Outcome == contract.OutcomeCanceled && run.Kind == starter.KindGroup:
		ended.help("", show, about(action.ListAudit, "object", run.WorkflowID))
	case run.Kind == starter.KindDAG:
		ended.helpDAG(run.WorkflowID, show)
	case run.Progress != nil && run.AdHoc != "":
		ended.help("repair it, then submit it again", show)
	case run.Progress != nil:
		ended.help("repair it", about(action.RunJobType, "name", run.JobType), show)
	}
	return ended
}

// endDetail returns the reason of the run and its first failed item.
func endDetail(run starter.Snapshot) string {
	var parts []string
	if run.Reason != "" {
		parts = append(parts, run.Reason)
	}
	if len(run.Failed) > 0 {
		first := "the first: " + itemErrorText(run.Failed[0])
		if run.Kind == starter.KindDAG {
			first = fmt.Sprintf("%d failed; %s", run.Progress.Failed, first)
		}
		parts = append(parts, first)
	}
	return strings.Join(parts, "; ")
}

func itemErrorText(failed contract.JobError) string {
	about := failed.JobID
	if failed.DedupeKey != "" {
		about = strings.TrimSpace(about + " (" + failed.DedupeKey + ")")
	}
	if failed.Worker != "" {
		about += " on " + failed.Worker
	}
	return strings.TrimPrefix(about+": "+cmp.Or(failed.Message, "no reason was kept"), ": ")
}

// A run inside another one is retried as its task or job.
func (e *Ended) helpDAG(id string, more ...action.Action) {
	if _, _, standalone := contract.DAGOfWorkflow(id); !standalone || isSubDAG(id) {
		e.help("repair it, then run the task or job again that it belongs to", more...)
		return
	}
	e.help("repair it", append([]action.Action{about(action.RetryRun, "run", id)}, more...)...)
}

func endedItem(item starter.Item, jobType string) *Ended {
	ended := &Ended{Of: item.Ref().String(), Outcome: item.State, At: item.EndedAt, Detail: item.Error}
	show := action.New(action.GetItem, action.Args{"run": item.Run.WorkflowID, "item": item.ID})
	_, _, adHoc := contract.AdHocOf(item.Run.WorkflowID)
	isTask := item.Run.Kind() == starter.KindDAG
	switch item.State {
	case contract.JobCompleted:
		ended.Detail = ""
		return ended
	case contract.JobWarning:
		ended.help("nothing to do: the work was done", show)
		return ended
	case contract.JobFailed, contract.JobCanceled:
		if isTask {
			ended.Detail = itemErrorText(contract.JobError{JobID: item.ID, Worker: item.Worker, Message: item.Error})
			ended.helpDAG(item.Run.WorkflowID)
			return ended
		}
	case contract.JobStale, contract.JobExpired, contract.JobNotStarted:
	default:
		return nil
	}
	switch {
	case item.State == contract.JobCanceled:
		ended.help("", about(action.ListAudit, "object", item.Run.WorkflowID))
	case adHoc:
		ended.help("submit it again when it can be done", show)
	case item.State == contract.JobFailed:
		ended.help("repair it", about(action.RunJobType, "name", jobType), show)
	default:
		ended.Actions = []action.Action{about(action.RunJobType, "name", jobType), show}
		ended.Remedy = explain.Remedy{Wait: true, Actions: ended.Actions}.Text() // The next detection proposes it again.
	}
	return ended
}
