package dag_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/dag"
)

// TestResumeExecutesExactly is I14: after any earlier run, the new one executes failed ∪ blocked ∪
// requested ∪ changed with descendants, imports the rest with its origin, and can be driven to its
// end.
func TestResumeExecutesExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, 10)
		p := newPair(t, in, drawOptions(t))
		p.step(dag.EventStart, "", 0, nil)
		for range rapid.IntRange(0, 25).Draw(t, "events") {
			p.event()
		}
		next := p.graph
		req := dag.ResumeRequest{Run: "first", AcceptDiff: true}
		again, sources := map[string]bool{}, map[string]bool{}
		if rapid.Bool().Draw(t, "change") && len(in.Tasks) > 0 {
			k := rapid.IntRange(0, len(in.Tasks)-1).Draw(t, "changed")
			in.Tasks[k].Payload = []byte("changed")
			again[in.Tasks[k].ID], sources[in.Tasks[k].ID] = true, true
			for _, id := range p.ref.where(func(t *refTask) bool { return t.under == in.Tasks[k].ID }) {
				sources[p.ref.tasks[id].parent] = true
			}
			var err error
			next, err = dag.Build(in)
			require.NoError(t, err)
			_, _, err = dag.Resume(p.run, next, dag.Options{}, dag.ResumeRequest{Run: "first"})
			var diff *dag.DiffError
			require.ErrorAs(t, err, &diff)
			require.Equal(t, []string{in.Tasks[k].ID}, diff.Diff.Changed)
		}
		if rapid.Bool().Draw(t, "from") && len(in.Tasks) > 0 {
			id := rapid.SampledFrom(in.Tasks).Draw(t, "task").ID
			req.From = []string{id}
			again[id] = true
		}
		run, plan, err := dag.Resume(p.run, next, dag.Options{}, req)
		require.NoError(t, err)
		checkPlan(t, p, run, plan, again, sources)

		twin, err := dag.Restore(next, run.Snapshot())
		require.NoError(t, err)
		require.Equal(t, run.Snapshot(), twin.Snapshot())
		drive2(t, run)
		drive2(t, twin)
		require.Equal(t, run.Snapshot(), twin.Snapshot())
	})
}

func checkPlan(t *rapid.T, p *pair, run *dag.Run, plan *dag.ResumePlan, again, sources map[string]bool) {
	// Repeat until no further task must be executed, in the earlier run and then in the new one, which
	// lacks the parts that are added again.
	executed := map[string]bool{}
	for _, r := range []*dag.Run{p.run, run} {
		p.execute(r, again, sources, executed)
	}
	var want, got []string
	for i := range dag.Index(run.Len()) {
		id := run.ID(i)
		s := p.ref.tasks[id].state
		if executed[id] {
			want = append(want, id)
		} else {
			require.Equal(t, "first", run.From(i))
			require.Equal(t, s, run.State(i))
		}
	}
	for _, i := range plan.Executed {
		got = append(got, run.ID(i))
		require.Empty(t, run.From(i))
	}
	require.Equal(t, want, got)
	require.Equal(t, run.Len(), len(plan.Executed)+len(plan.Imported))

	// Every task of the earlier run is there, except those whose splitter runs again.
	for _, id := range p.ref.order {
		if i, ok := run.Lookup(id); ok {
			require.Equal(t, id, run.ID(i))
			continue
		}
		require.NotEmpty(t, id)
		require.True(t, p.dropped(run, plan, id), "task %s is lost", id)
	}
}

// execute adds the tasks that depend on executed ones in r.
func (p *pair) execute(r *dag.Run, again, sources, executed map[string]bool) {
	for changed := true; changed; {
		changed = false
		for i := range dag.Index(r.Len()) {
			id := r.ID(i)
			task := p.ref.tasks[id]
			redo := again[id] || sources[id] || (task.state != dag.Completed && task.state != dag.Skipped)
			for _, d := range r.Needs(i) {
				if r == p.run && sources[r.ID(d)] && r.IsRedefined(d) {
					continue // The new graph defines the task, so the redefinition is dropped.
				}
				if again[r.ID(d)] && !again[id] {
					again[id], changed = true, true
				}
				redo = redo || task.idle && executed[r.ID(d)]
			}
			if redo && !executed[id] {
				executed[id], changed = true, true
			}
		}
	}
}

// dropped reports whether a task was added by a splitter that is executed again, or is listed as
// dropped.
func (p *pair) dropped(run *dag.Run, plan *dag.ResumePlan, id string) bool {
	if slices.Contains(plan.Dropped, id) {
		return true
	}
	parent := p.ref.tasks[id].parent
	if parent == "" {
		return false
	}
	i, ok := run.Lookup(parent)
	return !ok || slices.Contains(plan.Executed, i)
}

// drive2 runs to the end, everything succeeding.
func drive2(t *rapid.T, r *dag.Run) {
	_, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	for range r.Len() + 1 {
		for i := range dag.Index(r.Len()) {
			if r.State(i) == dag.Running {
				_, err := r.Next(dag.Event{Kind: dag.EventCompleted, Task: i}, nil)
				require.NoError(t, err)
			}
		}
	}
	require.True(t, r.Finished(), fmt.Sprint(r.Count(dag.Pending), r.Count(dag.Ready), r.Count(dag.Running)))
	require.Equal(t, dag.OutcomeCompleted, r.Outcome())
}
