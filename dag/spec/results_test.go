package spec_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
)

const listing = `version: 1
name: d
tasks:
  - {id: plan, command: [ls]}
  - {id: visit, needs: [plan], for_each: '{{.Needs.plan.Result.hosts}}', command: [ssh, '{{.Item}}']}
  - {id: tidy, needs: [plan], per_item: [visit], for_each: '{{.Needs.plan.Result.hosts}}', command: [rm, '{{.Item}}']}
  - {id: after, needs: [tidy], noop: true}
  - {id: other, command: [sleep]}
`

// opened is a run of a document in which the first task runs.
func opened(t require.TestingT, document string) (*dag.Run, *spec.Program) {
	compiled, err := spec.CompileText("d", document, nil, nil)
	require.NoError(t, err)
	run := dag.NewRun(compiled.Graph, compiled.Header.Options())
	program, err := spec.Open(run)
	require.NoError(t, err)
	_, err = run.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	require.Equal(t, dag.Running, run.State(0))
	return run, program
}

// finish ends all tasks that run, except the last one, which keeps the run open.
func finish(t require.TestingT, run *dag.Run) {
	for i := dag.Index(0); int(i) < run.Len(); i++ {
		if run.State(i) == dag.Running && run.ID(i) != "other" {
			_, err := run.Next(dag.Event{Kind: dag.EventCompleted, Task: i}, nil)
			require.NoError(t, err)
			i = -1 // More may run now.
		}
	}
}

// TestListsOfAnyProgram: each item has one task, which gets exactly that item. A later list keeps the tasks of its items.
func TestListsOfAnyProgram(t *testing.T) {
	t.Parallel()
	odd := rapid.SampledFrom([]string{"", ".", "..", "a/b", "a-b", "a b", "A-B", "#0", "{{.Item}}", "é", "\u2028<&>", strings.Repeat("x", 300), "x", "y", "z"})
	list := rapid.SliceOfN(rapid.OneOf(odd, odd, rapid.String()), 1, 8)
	rapid.Check(t, func(t *rapid.T) {
		run, program := opened(t, listing)
		known := map[string]string{} // the names of tasks by their items
		for range 2 {
			items := list.Draw(t, "items")
			result, err := json.Marshal(map[string]any{"hosts": items, "note": "n"})
			require.NoError(t, err)
			expansion, err := program.Expand(0, result)
			if distinct := slices.Compact(slices.Sorted(slices.Values(items))); len(distinct) < len(items) {
				require.ErrorContains(t, err, "return each once")
				return
			}
			require.NoError(t, err)
			require.JSONEq(t, `{"note":"n"}`, string(expansion.Rest))
			require.Len(t, expansion.Tasks, 2*len(items))
			_, err = run.Next(dag.Event{Kind: dag.EventCompleted, Task: 0, Growth: &dag.Growth{Tasks: expansion.Tasks}}, nil)
			require.NoError(t, err)
			names := map[string]string{}
			for k, added := range expansion.Tasks {
				item, command := items[k%len(items)], []string{"ssh", "rm"}[k/len(items)]
				names[command+item] = added.ID
				i, found := run.Lookup(added.ID)
				require.True(t, found, added.ID)
				rendered, err := program.Render(i, nil)
				require.NoError(t, err)
				require.Equal(t, []string{command, item}, rendered.Command, added.ID)
				if command == "rm" {
					require.Contains(t, added.Needs, names["ssh"+item], "per_item waits for the same item")
				}
			}
			require.Len(t, slices.Compact(slices.Sorted(maps.Values(names))), len(names), "each has a name of its own")
			var gone []string
			for _, i := range expansion.Gone {
				gone = append(gone, run.ID(i))
			}
			for of, id := range known {
				require.Equal(t, names[of] != id, slices.Contains(gone, id), "%q was the task of %q", id, of)
			}
			known = names
			finish(t, run)
			_, err = run.Next(dag.Event{Kind: dag.EventRerun, Task: 0}, nil)
			require.NoError(t, err)
		}
	})
}

// TestResultsThatAreNoTasks: a handler may return any object, and half a list adds nothing.
func TestResultsThatAreNoTasks(t *testing.T) {
	t.Parallel()
	run, program := opened(t, listing)
	for result, want := range map[string]struct{ split, expand string }{
		``:                       {"", "it returned no hosts"},
		`null`:                   {"", "it returned no hosts"},
		`[]`:                     {"", "it returned no hosts"},
		`{"hosts": ["a"`:         {"", "it returned no hosts"},
		`{"hosts": null}`:        {"", "hosts is nothing"},
		`{"hosts": []}`:          {"", "empty list"},
		`{"hosts": "a"}`:         {"", "hosts is text"},
		`{"hosts": {"a": 1}}`:    {"", "hosts is a mapping"},
		`{"hosts": [1, 1.0, 1]}`: {"", "the items 1 and 3 are both 1"},
		`{"tasks": null}`:        {"", "it returned no hosts"},
		`{"Tasks": [{}]}`:        {"", "it returned no hosts"},
		`{"tasks": []}`:          {"tasks is empty", "it returned no hosts"},
		`{"tasks": 7}`:           {"task", "it returned no hosts"},
		`{"tasks": "a"}`:         {"task", "it returned no hosts"},
		`{"tasks": [{}]}`:        {"id", "it returned no hosts"},
		`{"tasks": [{"id": "plan", "noop": true}, {"id": "b", "noop": true, "needs": ["nobody"]}]}`: {"nobody", "it returned no hosts"},
		`{"tasks": [{"id": "b", "dag": "x.yaml"}]}`:                                                 {"sub-DAG", "it returned no hosts"},
	} {
		growth, _, err := spec.Split(run, 0, []byte(result))
		if want.split == "" {
			assert.NoError(t, err, result)
			assert.Nil(t, growth, result)
		} else {
			assert.ErrorContains(t, err, want.split, result)
		}
		deferral, err := spec.Defer(run, 0, []byte(result))
		assert.NoError(t, err, "%s: without continue it defers nothing", result)
		assert.Nil(t, deferral, result)
		_, err = program.Expand(0, []byte(result))
		assert.ErrorContains(t, err, want.expand, result)
	}
	items, err := json.Marshal(map[string]any{"hosts": []string{strings.Repeat("a", spec.MaxAddedBytes)}})
	require.NoError(t, err)
	_, err = program.Expand(0, items)
	require.ErrorContains(t, err, "more than 1048576 bytes")
	items, err = json.Marshal(map[string]any{"hosts": make([]int, spec.MaxFanOut+1)})
	require.NoError(t, err)
	_, err = program.Expand(0, items)
	require.ErrorContains(t, err, "the limit is")
	assert.Equal(t, dag.Running, run.State(0), "nothing was done")
}

// TestResultsThatContinueNothing: the keys have one spelling, and a task that continues waits for something.
func TestResultsThatContinueNothing(t *testing.T) {
	t.Parallel()
	run, _ := opened(t, listing)
	for result, want := range map[string]string{
		`{"tasks": [{"id": "b", "noop": true}], "Continue": 1}`:                   "-",
		`{"Tasks": [{"id": "b", "noop": true}], "continue": 1}`:                   "-",
		`{"tasks": [{"id": "b", "noop": true}], "continue": 1, "Tasks": "done"}`:  "",
		`{"tasks": [{"id": "b", "noop": true}], "continue": 1, "CONTINUE": null}`: "",
		`{"continue": 1}`:                "-",
		`{"tasks": null, "continue": 1}`: "tasks must be a list, not nothing",
		`{"tasks": [], "continue": 1}`:   "tasks is empty",
	} {
		deferral, err := spec.Defer(run, 0, []byte(result))
		switch want {
		case "-":
			assert.NoError(t, err, result)
			assert.Nil(t, deferral, result)
		case "":
			assert.NoError(t, err, result)
			assert.NotNil(t, deferral, result)
		default:
			assert.ErrorContains(t, err, want, result)
		}
	}
	_, rest, err := spec.Split(run, 0, []byte(`{"tasks": null, "hosts": ["a"]}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"tasks": null, "hosts": ["a"]}`, string(rest), "the result is that of the program")
}

// TestAnAddedTaskNeedsOneItem of a fan-out of the run, whose result its templates use.
func TestAnAddedTaskNeedsOneItem(t *testing.T) {
	t.Parallel()
	document := strings.Replace(listing, "{id: plan, command: [ls]}", "{id: plan, command: [ls]}\n  - {id: copy, for_each: [a, b], command: [cp]}", 1)
	run, program := opened(t, document)
	added, err := spec.ParseAdded(run, "added", []byte(`
- {id: one, needs: [copy.a], command: [echo, '{{(index .Needs "copy.a").Result.n}}']}
- {id: all, needs: [copy], command: [echo, '{{range .Needs.copy}}{{.Result.n}}{{end}}']}
- {id: both, needs: [copy, copy.b], command: [echo, '{{len .Needs.copy}}{{(index .Needs "copy.b").Result.n}}']}
`))
	require.NoError(t, err)
	_, err = run.Next(dag.Event{Kind: dag.EventAddTasks, Growth: added.Growth}, nil)
	require.NoError(t, err)
	results := func(i dag.Index) []byte {
		return []byte(map[string]string{"copy.a": `{"n": 1}`, "copy.b": `{"n": 2}`}[run.ID(i)])
	}
	for id, want := range map[string]string{"one": "1", "all": "12", "both": "22"} {
		i, found := run.Lookup(id)
		require.True(t, found)
		rendered, err := program.Render(i, results)
		require.NoError(t, err, id)
		assert.Equal(t, []string{"echo", want}, rendered.Command, id)
	}

	_, err = spec.ParseAdded(run, "added", []byte("- {id: next, for_each: [a, b], per_item: [copy], command: [x]}"))
	require.ErrorContains(t, err, `"copy" is a task of the run`)
}

// TestASkippedFanOutIsAnEmptyList for the tasks after it: it has no tasks.
func TestASkippedFanOutIsAnEmptyList(t *testing.T) {
	t.Parallel()
	run, program := opened(t, strings.Replace(listing, "{id: after, needs: [tidy], noop: true}",
		"{id: after, needs: [tidy, visit], command: [echo, '{{len .Needs.tidy}}', '{{range .Needs.visit}}{{.Result.n}}{{end}}.']}", 1))
	for _, id := range []string{"visit", "tidy"} {
		i, _ := run.Lookup(id)
		_, err := run.Next(dag.Event{Kind: dag.EventSkip, Task: i}, nil)
		require.NoError(t, err)
	}
	after, _ := run.Lookup("after")
	require.Equal(t, dag.Running, run.State(after))
	rendered, err := program.Render(after, func(dag.Index) []byte { return nil })
	require.NoError(t, err)
	assert.Equal(t, []string{"echo", "0", "."}, rendered.Command)
}
