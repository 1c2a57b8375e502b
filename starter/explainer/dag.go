package explainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
)

// dag explains a run of a DAG or its task: dag/NAME/RUN, NAME/RUN, both also with /TASK, or NAME/TASK of the newest
// run. For the run of a sub-DAG its task is explained.
func (e *explainer) dag(ctx context.Context, found *Explanation, facts *explain.Facts) error {
	name := found.Name
	run, task, err := e.dagOf(ctx, name)
	if err != nil {
		return err
	}
	found.Kind, found.Name = kindDAGRun, run.WorkflowID
	if task != "" {
		found.Kind, found.Name = kindDAGTask, run.WorkflowID+"/"+task
	}
	if err := e.askDAG(ctx, run, task, facts); err != nil {
		return err
	}
	switch {
	case task == "" && !facts.Run.Open:
		e.ended = e.endOf(ctx, run)
	case facts.Item != nil && facts.Item.State != "":
		if item, err := e.client.Runs().Item(ctx, starter.ItemRef{Run: run, ID: task}); err == nil {
			item.Run = run // Without the run's own id.
			e.ended = endedItem(item, "")
		}
	}
	if err := e.holdsOfTasks(ctx, facts, task); err != nil {
		return err
	}
	return e.surroundings(ctx, facts, false)
}

func (e *explainer) holdsOfTasks(ctx context.Context, facts *explain.Facts, task string) error {
	if facts.Down != "" || task == "" && facts.Run.Open {
		return nil
	}
	held, err := e.client.Admission().Holds(ctx, contract.HoldsInput{JobType: contract.TasksOf(facts.Run.DAG), DedupeKey: task, Limit: explainHolds})
	if noteDown(facts, err) {
		return nil
	}
	facts.Holds = held.Holds
	if facts.Item != nil {
		facts.Item.Key = task
	}
	return err
}

func (e *explainer) unknownTask(ctx context.Context, run starter.RunRef, task, similar string) error {
	_, err := e.client.Runs().Item(ctx, starter.ItemRef{Run: run, ID: task})
	if missing, ok := errors.AsType[*starter.NotFoundError](err); ok && missing.What == starter.SingleTask {
		return err
	}
	hint := "see `roundsman show " + run.WorkflowID + "`"
	if similar != "" {
		hint = "did you mean " + similar + "? " + hint
	}
	return &starter.NotFoundError{What: "task", Name: task + " of " + run.WorkflowID, Hint: hint}
}

func (e *explainer) dagOf(ctx context.Context, name string) (run starter.RunRef, task string, err error) {
	front, last := name, ""
	if cut := strings.LastIndexByte(name, '/'); cut > 0 {
		front, last = name[:cut], name[cut+1:]
	}
	if front != "dag" && last != "" {
		// NAME/RUN as a run comes before a task of the newest run.
		whole, wholeErr := refs.Of(e.client).DAG(ctx, name)
		if wholeErr == nil && !isSubDAG(whole.WorkflowID) {
			return whole, "", nil
		}
		parent, parentErr := refs.Of(e.client).DAG(ctx, strings.TrimPrefix(front, "dag/"))
		switch {
		case parentErr == nil:
			return parent, last, nil
		case wholeErr == nil:
			return whole, "", nil
		case !errors.Is(wholeErr, starter.ErrNotFound):
			return starter.RunRef{}, "", wholeErr
		}
	} else if run, err := refs.Of(e.client).DAG(ctx, last); err == nil {
		return run, "", nil
	}
	return starter.RunRef{}, "", &starter.NotFoundError{
		What: "a job, DAG run or task named", Name: name,
		Hint: "write dag/NAME/RUN or dag/NAME/RUN/TASK (see `roundsman runs` and `roundsman show RUN`), " +
			"or RUN/job-00012 for a job (see `roundsman jobs RUN`)",
	}
}

func isSubDAG(workflowID string) bool {
	_, unique, ok := contract.DAGOfWorkflow(workflowID)
	return ok && strings.Contains(unique, "/")
}

func (e *explainer) askDAG(ctx context.Context, ref starter.RunRef, task string, facts *explain.Facts) error {
	e.seen[ref.WorkflowID] = true
	described, err := e.client.Runs().Describe(ctx, ref)
	if err != nil {
		return err
	}
	facts.Run = &explain.RunFacts{
		ID: ref.WorkflowID, DAG: cmp.Or(described.DAG, ref.WorkflowID), Open: described.Open(), StartedAt: described.Started, Outcome: described.EndedAs(),
	}
	if task != "" {
		facts.Item = &explain.ItemFacts{ID: task}
	}
	if !described.Open() && task == "" {
		return nil
	}
	answer, err := e.client.DAGs().Why(ctx, ref, task)
	switch {
	case noteDown(facts, err):
		return nil
	case starter.NotReady(err):
		answer = contract.ExplainQueryResult{State: "preparing", Waits: []contract.WaitReason{{
			Code: string(contract.CodeStarting), Object: ref.WorkflowID, Detail: "the run has just been started",
		}}}
	case err != nil:
		return err
	}
	if answer.Unknown {
		return e.unknownTask(ctx, ref, task, answer.Similar)
	}
	if task == "" {
		facts.Run.Answer = &explain.RunAnswer{Phase: answer.State, Running: answer.Running + len(answer.SubDAGs), Waits: answer.Waits, More: answer.More}
	} else {
		facts.Item.State, facts.Item.Waits = answer.State, answer.Waits
	}
	if task != "" && answer.State == contract.JobRunning {
		for _, active := range described.Active {
			if active.ID == task && !active.Started {
				return e.taker(ctx, answer.Worker, answer.StartedAt, facts)
			}
		}
	}
	inside := answer.SubDAGs
	if answer.Kind == "dag" && answer.State == contract.JobRunning {
		inside = []string{task}
	}
	for _, one := range inside {
		e.inner(ctx, contract.SubDAGWorkflowID(ref.WorkflowID, one), facts)
	}
	return nil
}

func (e *explainer) endOf(ctx context.Context, ref starter.RunRef) *Ended {
	shown, err := e.client.Runs().Show(ctx, ref)
	if err != nil || shown.Open() {
		return nil
	}
	return endedRun(shown)
}

// inner ignores errors: the explanation is useful without the waits of the sub-DAG.
func (e *explainer) inner(ctx context.Context, id string, facts *explain.Facts) {
	if e.seen[id] || len(e.seen) > maxInner || facts.Down != "" {
		return
	}
	within := explain.Facts{Now: facts.Now}
	err := e.askDAG(ctx, starter.RunRef{WorkflowID: id}, "", &within)
	if err == nil {
		err = e.surroundings(ctx, &within, false)
	}
	if err != nil {
		e.client.Logger().Debug("explain the run of a sub-DAG", "run", id, "error", fmt.Sprint(err))
		return
	}
	facts.Inner = append(facts.Inner, explain.Inner{Name: id, Reasons: explain.Why(within)})
}
