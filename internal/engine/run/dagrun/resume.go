package dagrun

import (
	"cmp"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
)

// Plan lists the tasks that a resumed run takes over, and those that it executes.
type Plan struct {
	Imported []Taken
	// Executed are the ids of the tasks that will run, in declaration order.
	Executed []string
	// Dropped are tasks that were added and do not come along.
	Dropped []string
	Diff    dag.Diff
}

// Taken is a task that is taken over, and the run that executed it.
type Taken struct{ Task, From string }

// Prepare makes the state of a run that resumes from an earlier one. Succeeded and skipped tasks are imported with
// their results, the others are executed. prior is not changed.
//
// Two kinds of imported task are executed again: one whose needed result was not kept, and one with the rule always
// after a task that is executed.
func Prepare(prior *Graph, next *dag.Graph, req dag.ResumeRequest) ([]byte, Plan, error) {
	header, err := spec.HeaderOf(next)
	if err != nil {
		return nil, Plan{}, err
	}
	for {
		run, plan, err := dag.Resume(prior.run, next, header.Options(), req)
		if err != nil {
			return nil, Plan{}, err
		}
		g, err := open(run, Config{})
		if err != nil {
			return nil, Plan{}, err
		}
		g.inherit(prior, plan)
		again, err := g.unsupplied(plan)
		if err != nil {
			return nil, Plan{}, err
		}
		again = append(append(again, g.cleanUps(plan)...), g.unexpanded(plan)...)
		if len(again) == 0 {
			state, err := g.Snapshot()
			return state, g.plan(plan), err
		}
		req.Also = append(req.Also, again...)
	}
}

func (g *views) plan(plan *dag.ResumePlan) Plan {
	p := Plan{Imported: make([]Taken, len(plan.Imported)), Dropped: plan.Dropped, Diff: plan.Diff, Executed: make([]string, len(plan.Executed))}
	for k, in := range plan.Imported {
		p.Imported[k] = Taken{Task: g.run.ID(in.Task), From: in.From}
	}
	for k, i := range plan.Executed {
		p.Executed[k] = g.run.ID(i)
	}
	return p
}

func (g *records) inherit(prior *Graph, plan *dag.ResumePlan) {
	for _, in := range plan.Imported {
		if n, ok := prior.book.attempts[in.Prior]; ok {
			g.book.setAttempts(in.Task, g.run.State(in.Task), n)
		}
		if from := prior.book.taken[in.Prior]; from != "" {
			g.book.takeOver(in.Task, from)
		}
		if prior.warns(in.Prior) {
			g.book.warn(in.Task, cmp.Or(prior.book.errors[in.Prior], contract.JobWarning))
		}
		g.book.setWorker(in.Task, prior.book.worker(in.Prior), g.run.Len())
		if k := prior.results.of[in.Prior]; k != nil {
			g.keep(in.Task, k.data)
		}
	}
}

func (g *results) unsupplied(plan *dag.ResumePlan) ([]string, error) {
	var ids []string
	seen := map[dag.Index]bool{}
	for _, i := range plan.Executed {
		missing, err := gone(g.run, g.program, i, func(n dag.Index) bool { return g.of[n] != nil })
		if err != nil {
			return nil, err
		}
		for _, n := range missing {
			if !seen[n] {
				seen[n] = true
				ids = append(ids, g.run.ID(n))
			}
		}
	}
	return ids, nil
}

// unexpanded lists the imported tasks that name the items of an executed fan-out without tasks.
func (g *catalog) unexpanded(plan *dag.ResumePlan) []string {
	var ids []string
	for _, i := range plan.Executed {
		if !g.run.IsFanOut(i) || len(g.run.Family(g.run.ID(i))) > 0 {
			continue
		}
		definition, err := g.program.Definition(i)
		if err != nil {
			continue // It fails with this error when it begins.
		}
		if of, ok := g.run.Lookup(definition.FanOut.Of); ok && g.run.State(of) == dag.Completed && !slices.Contains(ids, g.run.ID(of)) {
			ids = append(ids, g.run.ID(of))
		}
	}
	return ids
}

func (g *catalog) cleanUps(plan *dag.ResumePlan) []string {
	var ids []string
	seen := make([]bool, g.run.Len())
	for queue := append([]dag.Index(nil), plan.Executed...); len(queue) > 0; {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[i] {
			continue
		}
		seen[i] = true
		if g.run.Rule(i) == dag.Always && g.run.State(i) == dag.Completed {
			ids = append(ids, g.run.ID(i))
		}
		queue = append(queue, g.run.Dependants(i)...)
	}
	return ids
}
