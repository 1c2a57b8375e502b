package starter

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/explain"
)

// dag is about a run of a DAG or a task of it: dag/NAME/RUN, NAME/RUN, with /TASK
// behind it, or NAME/TASK of the newest run. The run of a sub-DAG goes by the name
// of its task too; asked is the task, which leads to that run.
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
	if answer := facts.DAG.Answer; answer != nil && answer.Unknown {
		return unknownTask(run.WorkflowID, task, answer.Similar)
	}
	switch {
	case task == "" && !facts.DAG.Open:
		e.ended = e.endedDAG(ctx, run)
	case task != "" && facts.DAG.Answer != nil:
		e.ended = e.endedTask(ctx, run, task, facts.DAG.Answer.State)
	}
	return e.surroundings(ctx, facts, false)
}

func unknownTask(run, task, similar string) error {
	hint := "see `roundsman runs show " + run + "`"
	if similar != "" {
		hint = "did you mean " + similar + "? " + hint
	}
	return &NotFoundError{What: "task", Name: task + " of " + run, Hint: hint}
}

// dagOf finds the run, and the task if the last part of the name is one.
func (e *explainer) dagOf(ctx context.Context, name string) (run RunRef, task string, err error) {
	front, last := name, ""
	if cut := strings.LastIndexByte(name, '/'); cut > 0 {
		front, last = name[:cut], name[cut+1:]
	}
	if front != "dag" && last != "" {
		// NAME/RUN is a run before it is a task of the newest one.
		whole, wholeErr := e.client.DAGs().Resolve(ctx, name)
		if wholeErr == nil && !isSubDAG(whole.WorkflowID) {
			return whole, "", nil
		}
		parent, parentErr := e.client.DAGs().Resolve(ctx, strings.TrimPrefix(front, "dag/"))
		switch {
		case parentErr == nil:
			return parent, last, nil
		case wholeErr == nil:
			return whole, "", nil
		case !errors.Is(wholeErr, ErrNotFound):
			return RunRef{}, "", wholeErr
		}
	} else if run, err := e.client.DAGs().Resolve(ctx, last); err == nil {
		return run, "", nil
	}
	return RunRef{}, "", &NotFoundError{
		What: "a job, DAG run or task named", Name: name,
		Hint: "write dag/NAME/RUN or dag/NAME/RUN/TASK (see `roundsman runs list` and `roundsman runs show RUN`), " +
			"or RUN/job-00012 for a job (see `roundsman jobs list RUN`)",
	}
}

// isSubDAG reports whether the run belongs to a task of another.
func isSubDAG(workflowID string) bool {
	_, unique, ok := contract.DAGOfWorkflow(workflowID)
	return ok && strings.Contains(unique, "/")
}

// askDAG asks the run, and follows the sub-DAGs that it waits for.
func (e *explainer) askDAG(ctx context.Context, ref RunRef, task string, facts *explain.Facts) error {
	e.seen[ref.WorkflowID] = true
	described, err := e.client.DAGs().describe(ctx, ref)
	if err != nil {
		return err
	}
	facts.DAG = &explain.DAGFacts{
		ID: ref.WorkflowID, Name: described.DAG, Task: task, Open: described.Open(), StartedAt: described.Started,
		Outcome: endedAs(described),
	}
	if !described.Open() && task == "" {
		return nil
	}
	var answer contract.ExplainQueryResult
	err = e.client.query(ctx, RunRef{WorkflowID: ref.WorkflowID}, contract.QueryExplain, &answer, contract.ExplainQueryInput{Task: task})
	switch {
	case noteDown(facts, err):
		return nil
	case isNotReady(err):
		answer = contract.ExplainQueryResult{State: "preparing", Waits: []contract.WaitReason{{
			Code: string(explain.Starting), Object: ref.WorkflowID, Detail: "the run has just been started",
		}}}
	case err != nil:
		return err
	}
	facts.DAG.Answer = &answer
	if task != "" && answer.State == stateRunning {
		for _, active := range described.Active {
			if active.JobID == task && !active.Started {
				return e.taker(ctx, answer.Worker, answer.StartedAt, facts)
			}
		}
	}
	inside := answer.SubDAGs
	if answer.Kind == "dag" && answer.State == stateRunning {
		inside = []string{task}
	}
	for _, one := range inside {
		e.inner(ctx, contract.SubDAGWorkflowID(ref.WorkflowID, one), facts)
	}
	return nil
}

func endedAs(run DAGSnapshot) string {
	if run.Outcome != "" {
		return string(run.Outcome)
	}
	return strings.ToLower(string(run.Status))
}

// inner adds what the run of a sub-DAG waits for, if there is one. What cannot be
// found out is left out: the thing that was asked for is explained without it.
func (e *explainer) inner(ctx context.Context, id string, facts *explain.Facts) {
	if e.seen[id] || len(e.seen) > maxInner || facts.Down != "" {
		return
	}
	within := explain.Facts{Now: facts.Now}
	err := e.askDAG(ctx, RunRef{WorkflowID: id}, "", &within)
	if err == nil {
		err = e.surroundings(ctx, &within, false)
	}
	if err != nil {
		e.client.logger.Debug("explain the run of a sub-DAG", "run", id, "error", fmt.Sprint(err))
		return
	}
	facts.Inner = append(facts.Inner, explain.Inner{Name: id, Reasons: explain.Why(within)})
}
