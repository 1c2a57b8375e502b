package flow

import (
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
)

// Plan says what a resumed run takes over and what it executes.
type Plan struct {
	Imported int
	// Executed are the ids of the tasks that will run, in declaration order.
	Executed []string
	// Dropped are tasks that were added and do not come along.
	Dropped []string
	Diff    dag.Diff
}

// Prepare makes the state of a run that goes on from an earlier one: what
// succeeded or was skipped is imported with its results, the rest is executed.
// next is the earlier run's graph, or another one with req.AcceptDiff. prior is
// not changed.
//
// A task to be executed may refer to a result that the earlier run did not keep;
// the task that gives it is then executed again too, by itself.
func Prepare(prior *Flow, next *dag.Graph, req dag.ResumeRequest) ([]byte, Plan, error) {
	header, err := spec.HeaderOf(next)
	if err != nil {
		return nil, Plan{}, err
	}
	for {
		run, plan, err := dag.Resume(prior.run, next, header.Options(), req)
		if err != nil {
			return nil, Plan{}, err
		}
		f, err := open(run, Config{})
		if err != nil {
			return nil, Plan{}, err
		}
		f.inherit(prior, plan)
		again, err := f.unsupplied(plan)
		if err != nil {
			return nil, Plan{}, err
		}
		if len(again) == 0 {
			state, err := f.Snapshot()
			return state, f.plan(plan), err
		}
		req.Also = append(req.Also, again...)
	}
}

func (f *Flow) plan(plan *dag.ResumePlan) Plan {
	p := Plan{Imported: len(plan.Imported), Dropped: plan.Dropped, Diff: plan.Diff, Executed: make([]string, len(plan.Executed))}
	for k, i := range plan.Executed {
		p.Executed[k] = f.run.ID(i)
	}
	return p
}

// inherit takes over what is known of imported tasks.
func (f *Flow) inherit(prior *Flow, plan *dag.ResumePlan) {
	for _, in := range plan.Imported {
		if n, ok := prior.book.attempts[in.Prior]; ok {
			f.book.setAttempts(in.Task, f.run.State(in.Task), n)
		}
		if worker := prior.book.worker(in.Prior); worker != "" {
			f.book.note(&task{
				i: in.Task, worker: worker, attempt: prior.attempts(in.Prior),
			}, f.run.State(in.Task), f.run.Len())
		}
		if k := prior.results.of[in.Prior]; k != nil {
			// What it gives is what it gave; whether anybody still wants it is new.
			_ = f.keep(in.Task, k.data)
		}
	}
}

// unsupplied lists the tasks that must be executed again for their results.
func (f *Flow) unsupplied(plan *dag.ResumePlan) ([]string, error) {
	var ids []string
	seen := map[dag.Index]bool{}
	for _, i := range plan.Executed {
		missing, err := gone(f.run, f.program, i, func(n dag.Index) bool { return f.results.of[n] != nil })
		if err != nil {
			return nil, err
		}
		for _, n := range missing {
			if !seen[n] {
				seen[n] = true
				ids = append(ids, f.run.ID(n))
			}
		}
	}
	return ids, nil
}
