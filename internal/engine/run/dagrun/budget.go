package dagrun

import (
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

const maxReportedError = 160

// budgetOf returns the retry budget of a task over all runs of the DAG, or nil.
func (g *catalog) budgetOf(t *task) *contract.TaskBudget {
	rule := t.definition.RetryBudget
	if rule == nil {
		return nil
	}
	return &contract.TaskBudget{JobType: contract.TasksOf(g.program.Header.Name), DedupeKey: g.run.ID(t.i), Rule: *rule}
}

func (g *Graph) noteEnding(t *task, failed bool, attempt int, message string, now time.Time) {
	if budget := g.budgetOf(t); budget != nil {
		g.endings = append(g.endings, contract.TaskEnding{
			TaskBudget: *budget, Failed: failed, Attempt: contract.AskID(budget.DedupeKey, attempt), At: now, Error: jobtype.ClipCause(message, maxReportedError),
		})
	}
}

// An attempt that runs continues.
func (v TaskStopped) apply(g *Graph, now time.Time) {
	hold := v.Hold
	if i, known := g.run.Lookup(hold.DedupeKey); known && hold.JobType == contract.TasksOf(g.program.Header.Name) && g.run.State(i) == dag.Running {
		why := contract.AdmissionRefusal{Code: hold.Code, Hold: &hold}
		done := hold.Code == contract.HoldMarkedDone
		if done || !g.engine.End(now, int(i), run.Failed, why.Error()) {
			g.engine.Bar(now, int(i), why.Error(), done)
		}
	}
}
