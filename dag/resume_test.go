package dag_test

import (
	"fmt"
	"slices"
	"strings"
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

// TestARequestToResumeIsChecked before anything is built.
func TestARequestToResumeIsChecked(t *testing.T) {
	t.Parallel()
	prior, _ := begun(t, dag.Input{Tasks: []dag.Task{{ID: "a"}, {ID: "b", Needs: []string{"a"}}, {ID: "c", Needs: []string{"b"}}}}, dag.Options{})
	next(t, prior, dag.Event{Kind: dag.EventCompleted, Task: 0, Growth: &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "part"}}}}})
	for _, i := range []dag.Index{3, 1, 2} {
		next(t, prior, dag.Event{Kind: dag.EventCompleted, Task: i})
	}
	require.True(t, prior.Finished())
	resume := func(req dag.ResumeRequest) ([]string, []string, error) {
		run, plan, err := dag.Resume(prior, prior.Graph(), dag.Options{}, req)
		if err != nil {
			return nil, nil, err
		}
		var executed, imported []string
		for _, i := range plan.Executed {
			executed = append(executed, run.ID(i))
		}
		for _, m := range plan.Imported {
			require.Equal(t, run.ID(m.Task), prior.ID(m.Prior))
			imported = append(imported, run.ID(m.Task)+" of "+m.From)
		}
		return executed, imported, nil
	}
	longest := strings.Repeat("x", 1024)
	for _, id := range []string{"", longest + "x"} {
		_, _, err := resume(dag.ResumeRequest{Run: id})
		require.ErrorContains(t, err, "the earlier run has no usable id")
	}
	_, imported, err := resume(dag.ResumeRequest{Run: longest})
	require.NoError(t, err)
	require.Len(t, imported, 4)

	executed, imported, err := resume(dag.ResumeRequest{Run: "r1", Also: []string{"b"}})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"b"}, {"a of r1", "c of r1", "part of r1"}}, [][]string{executed, imported}, "without its descendants")
	executed, imported, err = resume(dag.ResumeRequest{Run: "r1", From: []string{"b"}})
	require.NoError(t, err)
	require.Equal(t, [][]string{{"b", "c"}, {"a of r1", "part of r1"}}, [][]string{executed, imported})
	for _, req := range []dag.ResumeRequest{{Also: []string{"a"}}, {Also: []string{"a", "part"}}, {Also: []string{"a"}, From: []string{"part"}}} {
		req.Run = "r1"
		executed, _, err = resume(req)
		require.NoError(t, err, "the splitter adds the part again")
		require.NotContains(t, executed, "part")
		require.Contains(t, executed, "a")
	}
	for _, req := range []dag.ResumeRequest{{From: []string{"nobody"}}, {Also: []string{"nobody"}}} {
		req.Run = "r1"
		_, _, err = resume(req)
		var refusal *dag.Refusal
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, []any{dag.RefusedUnknownTask, "nobody"}, []any{refusal.Reason, refusal.ID})
	}
}

// TestOriginsAreThoseOfTheRunThatDidTheWork, over several runs. A task that runs again is of the new run.
func TestOriginsAreThoseOfTheRunThatDidTheWork(t *testing.T) {
	t.Parallel()
	first, _ := begun(t, dag.Input{Tasks: []dag.Task{{ID: "a"}, {ID: "b"}, {ID: "c"}}}, dag.Options{})
	next(t, first, dag.Event{Kind: dag.EventCompleted, Task: 0})
	next(t, first, dag.Event{Kind: dag.EventFailed, Task: 1})
	next(t, first, dag.Event{Kind: dag.EventFailed, Task: 2})
	second, _, err := dag.Resume(first, first.Graph(), dag.Options{}, dag.ResumeRequest{Run: "r1"})
	require.NoError(t, err)
	next(t, second, dag.Event{Kind: dag.EventStart})
	next(t, second, dag.Event{Kind: dag.EventCompleted, Task: 1})
	next(t, second, dag.Event{Kind: dag.EventAddTasks, Growth: &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "d"}}}}})
	next(t, second, dag.Event{Kind: dag.EventCompleted, Task: 3})
	next(t, second, dag.Event{Kind: dag.EventFailed, Task: 2})
	third, _, err := dag.Resume(second, second.Graph(), dag.Options{Hold: true}, dag.ResumeRequest{Run: "r2"})
	require.NoError(t, err)
	origins := func() (list []string) {
		for i := range dag.Index(third.Len()) {
			list = append(list, third.From(i))
		}
		return list
	}
	require.Equal(t, []string{"r1", "r2", "", "r2"}, origins())
	next(t, third, dag.Event{Kind: dag.EventStart})
	next(t, third, dag.Event{Kind: dag.EventRerun, Task: 0})
	require.Equal(t, []string{"", "r2", "", "r2"}, origins())
	next(t, third, dag.Event{Kind: dag.EventAddTasks, Growth: &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "e"}}}}})
	require.Equal(t, []string{"", "r2", "", "r2", ""}, origins())
}

// TestPartsOfASplitterThatIsGoneAreDropped, with all that they brought.
func TestPartsOfASplitterThatIsGoneAreDropped(t *testing.T) {
	t.Parallel()
	prior, _ := begun(t, dag.Input{Tasks: []dag.Task{{ID: "a"}, {ID: "b"}}}, dag.Options{})
	next(t, prior, dag.Event{Kind: dag.EventCompleted, Task: 0, Growth: &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "part"}}}}})
	next(t, prior, dag.Event{Kind: dag.EventAddTasks, Growth: &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "after", Needs: []string{"part"}}}, {Task: dag.Task{ID: "own"}}}}})
	next(t, prior, dag.Event{Kind: dag.EventCancelRun})
	run, plan, err := dag.Resume(prior, mustBuild(t, dag.Input{Tasks: []dag.Task{{ID: "b"}}}), dag.Options{}, dag.ResumeRequest{Run: "r1", AcceptDiff: true})
	require.NoError(t, err)
	require.Equal(t, []string{"after"}, plan.Dropped)
	_, there := run.Lookup("part")
	require.False(t, there)
	require.Equal(t, 2, run.Len())
	require.Equal(t, "own", run.ID(1))
}
