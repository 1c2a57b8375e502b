package dag_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag"
)

// TestLateReportsHaveNoEffect is I6 for every report: the end of a task may overtake its other reports.
func TestLateReportsHaveNoEffect(t *testing.T) {
	t.Parallel()
	reports := []dag.EventKind{
		dag.EventStarted, dag.EventCompleted, dag.EventDeferred, dag.EventFailed, dag.EventCanceled, dag.EventSkipped, dag.EventAdmit, dag.EventCrowded, dag.EventWithdraw, dag.EventYield,
	}
	part := &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "part"}}}}
	for _, gated := range []bool{true, false} {
		for _, end := range []dag.EventKind{dag.EventCompleted, dag.EventFailed, dag.EventCanceled, dag.EventSkipped} {
			r, _ := begun(t, dag.Input{Tasks: []dag.Task{{ID: "a", Gated: gated}, {ID: "b", Gated: gated}, {ID: "c", Needs: []string{"a"}}}}, dag.Options{Concurrency: 2})
			next(t, r, dag.Event{Kind: dag.EventAdmit, Task: 0})
			next(t, r, dag.Event{Kind: end, Task: 0})
			places := func() []int { return []int{r.InFlight(), r.AtGate(), r.Crowded()} }
			snapshot, used := r.Snapshot(), places()
			for _, late := range reports {
				ev := dag.Event{Kind: late, Task: 0}
				if late == dag.EventCompleted || late == dag.EventDeferred {
					ev.Growth = part
				}
				assert.Empty(t, next(t, r, ev), "%s after %s", late, end)
				assert.Equal(t, snapshot, r.Snapshot(), "%s after %s", late, end)
				assert.Equal(t, used, places(), "%s after %s", late, end)
				assert.Empty(t, r.Transitions())
			}
		}
		r, _ := begun(t, dag.Input{Tasks: []dag.Task{{ID: "a", Gated: gated}, {ID: "b", Needs: []string{"a"}}}}, dag.Options{})
		for _, early := range reports {
			assert.Contains(t, refused(t, r, dag.Event{Kind: early, Task: 1, Growth: part}), "it is pending; only a task that was started can report", early)
		}
	}
}

// TestAnItemBeginsAboveTheLimit if nothing runs and the items in flight wait for it: the first one by priority, then by
// declaration, of any chain, also behind the limit of its fan-out.
func TestAnItemBeginsAboveTheLimit(t *testing.T) {
	t.Parallel()
	for name, fanOuts := range map[string]map[string]int{"chains": nil, "chains of limited fan-outs": {"f": 1, "h": 1}} {
		in := dag.Input{Tasks: []dag.Task{
			{ID: "f.a"},
			{ID: "h.a", Priority: 5},
			{ID: "f.b"},
			{ID: "f.c"},
			{ID: "h.b", Priority: 5},
			{ID: "h.c", Priority: 5},
			{ID: "g.a", Needs: []string{"f.a", "f.b"}},
			{ID: "i.a", Needs: []string{"h.a", "h.b", "h.c"}},
		}}
		r, start := begun(t, in, dag.Options{FanOuts: fanOuts, Chains: map[string]dag.Chain{"f": {Entries: []string{"f", "g"}, InFlight: 1}, "h": {Entries: []string{"h", "i"}, InFlight: 1}}})
		require.Equal(t, "[start 1 start 0]", fmt.Sprint(start), name)
		require.Empty(t, next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 1}), "%s: f.a runs, so nothing is forced", name)
		require.Equal(t, "[start 4]", fmt.Sprint(next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 0})), name)
		assert.Equal(t, []dag.ChainUse{{Name: "f", Limit: 1, InFlight: 1, Waiting: 2, Ready: 2}, {Name: "h", Limit: 1, InFlight: 2, Waiting: 1, Ready: 1}}, r.Chains(), name)
		require.Equal(t, "[start 5]", fmt.Sprint(next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 4})), "%s: item b of h has ended", name)
		require.Equal(t, "[start 7]", fmt.Sprint(next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 5})), name)
		require.Equal(t, "[start 2]", fmt.Sprint(next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 7})), name)
		require.Equal(t, "[start 6 start 3]", fmt.Sprint(append(next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 2}), next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 6})...)), name)
	}
}

// TestAnAlarmIsAddedAfterTheFailure that it reacts to.
func TestAnAlarmIsAddedAfterTheFailure(t *testing.T) {
	t.Parallel()
	r, _ := begun(t, dag.Input{Tasks: []dag.Task{{ID: "a"}, {ID: "b"}}}, dag.Options{})
	next(t, r, dag.Event{Kind: dag.EventFailed, Task: 0})
	alarm := func(id string, needs ...string) *dag.Growth {
		return &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: id, Needs: needs, Rule: dag.OneFailed}}}}
	}
	assert.Equal(t, "[start 2]", fmt.Sprint(next(t, r, dag.Event{Kind: dag.EventAddTasks, Growth: alarm("early", "a", "b")})), "the other one still runs")
	assert.Empty(t, next(t, r, dag.Event{Kind: dag.EventAddTasks, Growth: alarm("none", "b")}))
	next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 1})
	assert.Equal(t, dag.Skipped, r.State(3))
}

// TestFaultsOfAddedTasks name what is wrong, and nothing is added.
func TestFaultsOfAddedTasks(t *testing.T) {
	t.Parallel()
	r, _ := begun(t, dag.Input{Tasks: []dag.Task{{ID: "a"}, {ID: "b", Needs: []string{"a"}}, {ID: "fan", FanOut: true, Needs: []string{"b"}}}}, dag.Options{})
	addition := func(before, under string, task dag.Task) dag.Addition {
		a := dag.Addition{Task: task, Under: under}
		if before != "" {
			a.Before = []string{before}
		}
		return a
	}
	for name, c := range map[string]struct {
		add  dag.Addition
		kind dag.FaultKind
	}{
		"no id":                         {addition("", "", dag.Task{}), dag.FaultEmptyID},
		"no such rule":                  {addition("", "", dag.Task{ID: "x", Rule: 9}), dag.FaultRule},
		"needs nobody":                  {addition("", "", dag.Task{ID: "x", Needs: []string{"nobody"}}), dag.FaultUnknownNeed},
		"before nobody":                 {addition("nobody", "", dag.Task{ID: "x"}), dag.FaultUnknownNeed},
		"needs itself":                  {addition("", "", dag.Task{ID: "x", Needs: []string{"x"}}), dag.FaultSelfNeed},
		"before itself":                 {addition("x", "", dag.Task{ID: "x"}), dag.FaultSelfNeed},
		"before a task that runs":       {addition("a", "", dag.Task{ID: "x"}), dag.FaultTargetStarted},
		"reacts to nothing":             {addition("", "", dag.Task{ID: "x", Rule: dag.OneFailed}), dag.FaultNothingToReactTo},
		"of a fan-out, by an operator":  {addition("", "fan", dag.Task{ID: "x"}), dag.FaultUnknownFanOut},
		"redefines a task that runs":    {addition("", "", dag.Task{ID: "a", Payload: []byte("p")}), dag.FaultStarted},
		"redefines a fan-out":           {addition("", "", dag.Task{ID: "fan", Needs: []string{"a"}, FanOut: true}), dag.FaultNotRedefinable},
		"redefines a task as a fan-out": {addition("", "", dag.Task{ID: "b", Needs: []string{"a"}, FanOut: true}), dag.FaultNotRedefinable},
	} {
		before := r.Snapshot()
		_, err := r.Next(dag.Event{Kind: dag.EventAddTasks, Growth: &dag.Growth{Tasks: []dag.Addition{c.add}}}, nil)
		var faults *dag.FaultsError
		require.ErrorAs(t, err, &faults, name)
		require.Len(t, faults.Faults, 1, name)
		assert.Equal(t, []any{c.kind, dag.Index(0), c.add.ID}, []any{faults.Faults[0].Kind, faults.Faults[0].Task, faults.Faults[0].ID}, name)
		assert.Equal(t, before, r.Snapshot(), name)
	}
	for name, c := range map[string]struct {
		tasks []dag.Addition
		fault dag.Fault
	}{
		"two of a name":              {[]dag.Addition{addition("", "", dag.Task{ID: "y"}), addition("", "", dag.Task{ID: "x"}), addition("", "", dag.Task{ID: "x"})}, dag.Fault{Kind: dag.FaultDuplicate, Task: 2, ID: "x", Other: 1}},
		"one is redefined twice":     {[]dag.Addition{addition("", "", dag.Task{ID: "b"}), addition("", "", dag.Task{ID: "b"})}, dag.Fault{Kind: dag.FaultDuplicate, Task: 1, ID: "b", Other: 0}},
		"they wait for each other":   {[]dag.Addition{addition("", "", dag.Task{ID: "x", Needs: []string{"y"}}), addition("", "", dag.Task{ID: "y", Needs: []string{"x"}})}, dag.Fault{Kind: dag.FaultCycle, Task: dag.None, ID: "x", Path: []string{"x", "y", "x"}}},
		"it waits for its dependant": {[]dag.Addition{addition("b", "", dag.Task{ID: "x", Needs: []string{"b"}})}, dag.Fault{Kind: dag.FaultCycle, Task: dag.None, ID: "b", Path: []string{"b", "x", "b"}}},
	} {
		_, err := r.Next(dag.Event{Kind: dag.EventAddTasks, Growth: &dag.Growth{Tasks: c.tasks}}, nil)
		var faults *dag.FaultsError
		require.ErrorAs(t, err, &faults, name)
		assert.Equal(t, []dag.Fault{c.fault}, faults.Faults, name)
	}
	_, err := r.Next(dag.Event{Kind: dag.EventCompleted, Task: 0, Growth: &dag.Growth{Tasks: []dag.Addition{addition("", "b", dag.Task{ID: "x"})}}}, nil)
	require.ErrorContains(t, err, `is of fan-out "b", which the run does not have`)
}

// TestARedefinitionClosesNoCycleLater: the order of the tasks is that after the redefinition.
func TestARedefinitionClosesNoCycleLater(t *testing.T) {
	t.Parallel()
	r, _ := begun(t, dag.Input{Tasks: []dag.Task{{ID: "first"}, {ID: "a", Needs: []string{"first"}}, {ID: "c", Needs: []string{"first"}}, {ID: "b", Needs: []string{"c"}}}}, dag.Options{})
	add := func(before []string, task dag.Task) error {
		_, err := r.Next(dag.Event{Kind: dag.EventAddTasks, Growth: &dag.Growth{Tasks: []dag.Addition{{Task: task, Before: before}}}}, nil)
		return err
	}
	require.NoError(t, add(nil, dag.Task{ID: "orders", Needs: []string{"a"}}))
	require.NoError(t, add(nil, dag.Task{ID: "a", Needs: []string{"b"}}), "it needed first")
	require.ErrorContains(t, add([]string{"b"}, dag.Task{ID: "x", Needs: []string{"a"}}), "circle")
	require.NoError(t, add([]string{"a"}, dag.Task{ID: "x", Needs: []string{"b"}}))
}

// TestACallerMayReuseItsBytes after tasks were added or redefined.
func TestACallerMayReuseItsBytes(t *testing.T) {
	t.Parallel()
	r, _ := begun(t, dag.Input{Tasks: []dag.Task{{ID: "a"}, {ID: "b", Needs: []string{"a"}}}}, dag.Options{})
	payload, args := []byte("payload"), []byte("args")
	g := &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "b", Needs: []string{"a"}, Payload: payload, Args: args}}, {Task: dag.Task{ID: "c", Needs: []string{"a"}, Payload: payload, Args: args}}}}
	next(t, r, dag.Event{Kind: dag.EventAddTasks, Growth: g})
	copy(payload, "xxxxxxx")
	copy(args, "xxxx")
	for _, i := range []dag.Index{1, 2} {
		assert.Equal(t, []string{"payload", "args"}, []string{string(r.Payload(i)), string(r.Args(i))})
	}
	assert.Same(t, &r.Payload(1)[0], &r.Payload(2)[0], "equal payloads are one")
}

// TestARerunOfTheLastFailureBringsBackWhatItStopped, as a retry does.
func TestARerunOfTheLastFailureBringsBackWhatItStopped(t *testing.T) {
	t.Parallel()
	for _, other := range []bool{false, true} {
		r, _ := begun(t, dag.Input{Tasks: []dag.Task{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}}, dag.Options{Concurrency: 2, OnFailure: dag.Stop, Hold: true})
		next(t, r, dag.Event{Kind: dag.EventFailed, Task: 0})
		require.Equal(t, dag.Canceled, r.State(2))
		want := "[start 0 start 2]" // With two places, d waits.
		if other {
			next(t, r, dag.Event{Kind: dag.EventFailed, Task: 1})
			want = "[start 0]"
		} else {
			next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 1})
		}
		assert.Equal(t, want, fmt.Sprint(next(t, r, dag.Event{Kind: dag.EventRerun, Task: 0})))
	}
}

// TestTasksOfALimitedFanOutAreRedefinedTogether: they share their place in the order and their use of resources.
func TestTasksOfALimitedFanOutAreRedefinedTogether(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*dag.Task){
		"priority": func(x *dag.Task) { x.Priority = 3 }, "gated": func(x *dag.Task) { x.Gated = true }, "unmetered": func(x *dag.Task) { x.Unmetered = true },
	} {
		r, _ := begun(t, dag.Input{Tasks: []dag.Task{{ID: "a"}, {ID: "f.1", Needs: []string{"a"}}, {ID: "f.2", Needs: []string{"a"}}, {ID: "g.1", Needs: []string{"a"}}, {ID: "g.2", Needs: []string{"a"}}}}, dag.Options{FanOuts: map[string]int{"f": 1}})
		add := func(ids ...string) dag.Event {
			g := &dag.Growth{}
			for _, id := range ids {
				task := dag.Task{ID: id, Needs: []string{"a"}}
				change(&task)
				g.Tasks = append(g.Tasks, dag.Addition{Task: task})
			}
			return dag.Event{Kind: dag.EventAddTasks, Task: dag.None, Growth: g}
		}
		assert.Contains(t, refused(t, r, add("f.1")), "the tasks of f, which has a concurrency, share their priority and whether they need resources", name)
		next(t, r, add("g.1"))
		limited := add("g.2")
		next(t, r, add("g.2"))
		limited.Growth.FanOuts = map[string]int{"g": 1}
		next(t, r, limited)
		next(t, r, add("f.1", "f.2"))
		assert.Len(t, r.Redefined(), 2, name)
	}
}

// TestATaskIsRedefinedBeforeItsDependant: that one waits for it once.
func TestATaskIsRedefinedBeforeItsDependant(t *testing.T) {
	t.Parallel()
	r, _ := begun(t, dag.Input{Tasks: []dag.Task{{ID: "a"}, {ID: "b", Needs: []string{"a"}}, {ID: "c", Needs: []string{"b"}}, {ID: "d"}}}, dag.Options{})
	g := &dag.Growth{Tasks: []dag.Addition{{Task: dag.Task{ID: "b", Needs: []string{"d"}}, Before: []string{"c"}}}}
	next(t, r, dag.Event{Kind: dag.EventAddTasks, Growth: g})
	assert.Equal(t, "[start 1]", fmt.Sprint(next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 3})))
	assert.Equal(t, "[start 2]", fmt.Sprint(next(t, r, dag.Event{Kind: dag.EventCompleted, Task: 1})))
	assert.Len(t, r.Needs(2), 1)
}
