package dag_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/dag"
)

// nine is the graph of the worked examples.
func nine() dag.Input {
	in := dag.Input{}
	for k, needs := range [][]string{{}, {}, {}, {"1", "2"}, {"2"}, {"2"}, {"1", "2", "4"}, {"5", "6"}, {"4", "6"}} {
		in.Tasks = append(in.Tasks, dag.Task{ID: fmt.Sprint(k + 1), Needs: needs})
	}
	return in
}

// everyOrder reports the running tasks in every possible order and calls done at each end. end returns
// the end of a task.
func everyOrder(t *testing.T, g *dag.Graph, end func(id string) dag.EventKind, done func(r *dag.Run)) int {
	t.Helper()
	orders := 0
	var walk func(snapshot []byte)
	walk = func(snapshot []byte) {
		for i := range dag.Index(g.Len()) {
			r, err := dag.Restore(g, snapshot)
			require.NoError(t, err)
			if r.State(i) != dag.Running {
				continue
			}
			_, err = r.Next(dag.Event{Kind: end(g.ID(i)), Task: i}, nil)
			require.NoError(t, err)
			for j := range dag.Index(g.Len()) {
				ready := true
				for _, d := range g.Needs(j) {
					ready = ready && r.State(d) == dag.Completed
				}
				started := r.State(j) == dag.Running || r.State(j) == dag.Completed || r.State(j) == dag.Failed
				require.Equal(t, ready, started, "task %s runs exactly when everything it needs succeeded", g.ID(j))
			}
			if r.Finished() {
				orders++
				done(r)
				continue
			}
			walk(r.Snapshot())
		}
	}
	r := dag.NewRun(g, dag.Options{})
	_, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	walk(r.Snapshot())
	return orders
}

// TestNineTasksInEveryOrder checks that the successful example completes in every order of ends.
func TestNineTasksInEveryOrder(t *testing.T) {
	t.Parallel()
	g := mustBuild(t, nine())
	orders := everyOrder(t, g, func(string) dag.EventKind { return dag.EventCompleted }, func(r *dag.Run) {
		require.Equal(t, dag.OutcomeCompleted, r.Outcome())
		require.Equal(t, 9, r.Count(dag.Completed))
	})
	assert.Greater(t, orders, 1000)
}

// TestNineTasksFourFailsInEveryOrder checks that the ends match the example whenever the failure of
// task 4 arrives.
func TestNineTasksFourFailsInEveryOrder(t *testing.T) {
	t.Parallel()
	g := mustBuild(t, nine())
	fails := func(id string) dag.EventKind {
		if id == "4" {
			return dag.EventFailed
		}
		return dag.EventCompleted
	}
	want := map[string]dag.State{"4": dag.Failed, "7": dag.UpstreamFailed, "9": dag.UpstreamFailed}
	orders := everyOrder(t, g, fails, func(r *dag.Run) {
		require.Equal(t, dag.OutcomeFailed, r.Outcome())
		for i := range dag.Index(g.Len()) {
			end, special := want[g.ID(i)]
			if !special {
				end = dag.Completed
			}
			require.Equal(t, end, r.State(i), "task %s", g.ID(i))
		}
	})
	assert.Greater(t, orders, 100)
}

// TestOrderOfReportsDoesNotMatter is I5: with fixed ends and no operator, different orders of reports
// lead to the same states.
func TestOrderOfReportsDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t, 12)
		for k := range in.Tasks {
			if in.Tasks[k].Rule == dag.OneFailed {
				in.Tasks[k].Rule = dag.AllDone // one_failed starts early by intent
			}
		}
		g, err := dag.Build(in)
		require.NoError(t, err)
		ends := make([]dag.EventKind, g.Len())
		for i := range ends {
			ends[i] = rapid.SampledFrom([]dag.EventKind{dag.EventCompleted, dag.EventCompleted, dag.EventFailed, dag.EventSkipped}).Draw(t, "end")
		}
		play := func(label string) []dag.State {
			r := dag.NewRun(g, dag.Options{Concurrency: rapid.IntRange(0, 3).Draw(t, label)})
			buf, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
			require.NoError(t, err)
			var running []dag.Index
			for {
				for _, d := range buf {
					if d.Kind == dag.DecisionStart {
						running = append(running, d.Task)
					}
				}
				if len(running) == 0 {
					break
				}
				k := rapid.IntRange(0, len(running)-1).Draw(t, label)
				i := running[k]
				running = append(running[:k], running[k+1:]...)
				buf, err = r.Next(dag.Event{Kind: ends[i], Task: i}, nil)
				require.NoError(t, err)
			}
			require.True(t, r.Finished())
			states := make([]dag.State, g.Len())
			for i := range states {
				states[i] = r.State(dag.Index(i))
			}
			return states
		}
		require.Equal(t, play("one"), play("two"))
	})
}

// TestRefusals checks that invalid events are refused with a reason and a message.
func TestRefusals(t *testing.T) {
	t.Parallel()
	r := dag.NewRun(mustBuild(t, nine()), dag.Options{})
	refused := func(ev dag.Event, want dag.Reason) {
		t.Helper()
		_, err := r.Next(ev, nil)
		var refusal *dag.Refusal
		require.ErrorAs(t, err, &refusal)
		assert.Equal(t, want, refusal.Reason)
		assert.NotEmpty(t, refusal.Detail)
		assert.Contains(t, err.Error(), ev.Kind.String())
	}
	refused(dag.Event{Kind: dag.EventSkip, Task: 1}, dag.RefusedNotStarted)
	_, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	refused(dag.Event{Kind: dag.EventCompleted, Task: 99}, dag.RefusedUnknownTask)
	refused(dag.Event{Kind: dag.EventFailed, Task: dag.None}, dag.RefusedUnknownTask)
	refused(dag.Event{Kind: dag.EventSkip, Task: 99}, dag.RefusedUnknownTask)
	refused(dag.Event{Kind: dag.EventCompleted, Task: 8}, dag.RefusedState)
	refused(dag.Event{Kind: dag.EventSkip, Task: 0}, dag.RefusedState)
	refused(dag.Event{Kind: dag.EventRetry, Task: dag.None}, dag.RefusedState)
	refused(dag.Event{Kind: dag.EventRerun, Task: 8}, dag.RefusedState)
	refused(dag.Event{Kind: dag.EventRelease}, dag.RefusedState)
	refused(dag.Event{Kind: dag.EventAddTasks}, dag.RefusedInvalid)
	refused(dag.Event{Kind: dag.EventRelease + 1}, dag.RefusedInvalid)
	_, err = r.Next(dag.Event{Kind: dag.EventCancelRun}, nil)
	require.NoError(t, err)
	refused(dag.Event{Kind: dag.EventRerun, Task: 0}, dag.RefusedCanceling)
	refused(dag.Event{Kind: dag.EventCompleted, Task: 0, Growth: &dag.Growth{Tasks: []dag.Addition{{}}}}, dag.RefusedCanceling)
}

// TestLongChain checks that nothing recurses 100,000 tasks deep: success, a failure at the head, a
// cycle through all, and a rerun of all.
func TestLongChain(t *testing.T) {
	t.Parallel()
	const n = 100_000
	g := mustBuild(t, chain(n))
	r := dag.NewRun(g, dag.Options{Hold: true})
	assert.Equal(t, n+1, drive(t, r))
	assert.Equal(t, dag.OutcomeCompleted, r.Outcome())

	r = dag.NewRun(g, dag.Options{Hold: true})
	_, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	_, err = r.Next(dag.Event{Kind: dag.EventFailed, Task: 0}, nil)
	require.NoError(t, err)
	assert.Equal(t, n-1, r.Count(dag.UpstreamFailed), "in the same step")
	_, err = r.Next(dag.Event{Kind: dag.EventRetry, Task: dag.None}, nil)
	require.NoError(t, err)
	assert.Equal(t, n-1, r.Count(dag.Pending))

	in := chain(n)
	in.Tasks[0].Needs = []string{in.Tasks[n-1].ID}
	_, err = dag.Build(in)
	var fault dag.Fault
	require.ErrorAs(t, err, &fault)
	assert.Equal(t, dag.FaultCycle, fault.Kind)
	assert.Len(t, fault.Path, n+1)
	assert.Less(t, len(err.Error()), 2000, "a long cycle is abridged")
}

// TestMillionTasks runs the size that the engine is built for and checks the size of a snapshot.
func TestMillionTasks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a second of work")
	}
	g := mustBuild(t, layered(1_000_000, true))
	r := dag.NewRun(g, dag.Options{Concurrency: 500})
	drive(t, r)
	assert.Equal(t, 1_000_000, r.Count(dag.Completed))
}

// TestSizes checks the bounds that continue-as-new relies on.
func TestSizes(t *testing.T) {
	t.Parallel()
	g := mustBuild(t, layered(100_000, true))
	half := halfway(t, g).Snapshot()
	assert.LessOrEqual(t, len(half), 200_000)

	r := dag.NewRun(g, dag.Options{})
	_, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	next, _, err := dag.Resume(halfway(t, g), g, dag.Options{}, dag.ResumeRequest{Run: "the-earlier-run"})
	require.NoError(t, err)
	assert.LessOrEqual(t, len(next.Snapshot()), 200_000, "with the origin of every task")
}

// TestNextDoesNotAllocate checks that in the steady state a report costs no allocation.
func TestNextDoesNotAllocate(t *testing.T) {
	g := mustBuild(t, layered(10_000, true))
	r := dag.NewRun(g, dag.Options{Concurrency: 100})
	buf, err := r.Next(dag.Event{Kind: dag.EventStart}, make([]dag.Decision, 0, 256))
	require.NoError(t, err)
	queue := make([]dag.Index, 0, g.Len())
	head := 0
	step := func() {
		for _, d := range buf {
			queue = append(queue, d.Task)
		}
		buf, _ = r.Next(dag.Event{Kind: dag.EventCompleted, Task: queue[head]}, buf[:0])
		head++
	}
	step()
	assert.Zero(t, testing.AllocsPerRun(5000, step))
}

// TestFamily checks that the tasks of a fan-out are found by its name, including added ones.
func TestFamily(t *testing.T) {
	t.Parallel()
	g, err := dag.Build(dag.Input{Tasks: []dag.Task{{ID: "b.2"}, {ID: "a"}, {ID: "b.1.x"}, {ID: "bc.1"}}})
	require.NoError(t, err)
	r := dag.NewRun(g, dag.Options{})
	require.Equal(t, []dag.Index{0, 2}, r.Family("b"))
	require.Empty(t, r.Family("a"))
	require.Empty(t, r.Family("b.1"))
	_, err = r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	_, err = r.Next(dag.Event{Kind: dag.EventAddTasks, Growth: &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "b.3"}}, {Task: dag.Task{ID: "n.1"}}}}}, nil)
	require.NoError(t, err)
	require.Equal(t, []dag.Index{0, 2, 4}, r.Family("b"))
	require.Equal(t, []dag.Index{5}, r.Family("n"))
}
