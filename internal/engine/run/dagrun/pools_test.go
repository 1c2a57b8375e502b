package dagrun_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

// world has some runs with their sub-DAGs, and a simple admission: it grants every request that fits, the oldest first.
type world struct {
	t       *rapid.T
	size    map[string]int
	members []*member
	drawn   int
}

type member struct {
	*play
	// given are the grants that were given to it and not given back.
	given map[int]*run.Needs
	// parent has it as its task, if it is a sub-DAG.
	parent *member
	task   string
	// retries are the tasks that are tried again.
	retries map[string]bool
}

func (w *world) join(compiled *dag.Graph, parent *member, task string) {
	m := &member{play: begin(w.t, compiled, dagrun.Config{}), given: map[int]*run.Needs{}, retries: map[string]bool{}, parent: parent, task: task}
	program, err := spec.Open(m.g.Run())
	require.NoError(w.t, err)
	for i := range dag.Index(m.g.Run().Len()) {
		definition, err := program.Definition(i)
		require.NoError(w.t, err)
		m.retries[m.g.Run().ID(i)] = definition.Retries != nil
	}
	m.workers(worker("w", 1000))
	w.members = append(w.members, m)
}

// draw writes a DAG of some tasks, sub-DAGs two levels deep.
func (w *world) draw(files map[string]string, depth int) string {
	text := fmt.Sprintf("version: 1\nname: random\nconcurrency: %d\ntasks:\n", rapid.IntRange(1, 3).Draw(w.t, "concurrency"))
	for i := range rapid.IntRange(1, 6).Draw(w.t, "tasks") {
		does := rapid.SampledFrom([]string{
			"command: [x]", "noop: true", "sleep: 1s", "command: [x], resources: {db: 1}", "noop: true, resources: {tape: 1, db: 2}",
			"command: [x], resources: {tape: 1}, priority: 3", "sub", "command: [x], resources: {db: 1}, retries: {limit: 1, backoff: 2s}",
		}).Draw(w.t, "does")
		switch {
		case does == "sub" && depth < 2:
			w.drawn++
			name := fmt.Sprintf("f%d.yaml", w.drawn)
			files[name] = w.draw(files, depth+1)
			does = "dag: " + name
		case does == "sub":
			does = "noop: true"
		}
		needs := "[]"
		if i > 0 && rapid.IntRange(0, 2).Draw(w.t, "needs") == 0 {
			needs = fmt.Sprintf("[t%d]", rapid.IntRange(0, i-1).Draw(w.t, "need"))
		}
		text += fmt.Sprintf("  - {id: t%d, needs: %s, %s}\n", i, needs, does)
	}
	return text
}

// move is something that may happen next.
type move func()

// moves lists the possible moves: a grant, the end of an attempt, the passage of time.
func (w *world) moves() []move {
	var list []move
	for _, m := range w.members {
		for k, d := range m.asks {
			if w.fits(d.Needs) {
				list = append(list, func() {
					m.given[d.Ask] = d.Needs
					m.grant(k)
				})
			}
		}
		for _, id := range m.ids() {
			if m.running[id].Kind != startDAG {
				list = append(list, func() { m.ended(id, run.Ending{}) })
				if m.running[id].Attempt == 1 && m.retries[id] {
					list = append(list, func() { m.ended(id, run.Ending{Failure: contract.FailureFailed, Message: "again"}) })
				}
			}
		}
		if !m.g.NextWake().IsZero() {
			list = append(list, func() { m.pass(m.g.NextWake().Sub(m.now)) })
		}
	}
	return list
}

func (w *world) fits(ask *run.Needs) bool {
	for pool, n := range ask.Pools {
		if w.used(pool)+n > w.size[pool] {
			return false
		}
	}
	return true
}

func (w *world) used(pool string) int {
	used := 0
	for _, m := range w.members {
		for number, ask := range m.given {
			if _, held := m.held[number]; held {
				used += ask.Pools[pool]
			}
		}
	}
	return used
}

// nest starts the sub-DAGs that were decided, and reports the ends of others.
func (w *world) nest() {
	for again := true; again; {
		again = false
		for _, m := range slices.Clone(w.members) {
			for _, id := range m.ids() {
				child := slices.IndexFunc(w.members, func(c *member) bool { return c.parent == m && c.task == id })
				switch d := m.running[id]; {
				case d.Kind != startDAG:
				case child < 0:
					compiled, err := dag.Decode(d.Graph)
					require.NoError(w.t, err)
					w.join(compiled, m, id)
					again = true
				case w.members[child].end != nil:
					w.members = slices.Delete(w.members, child, child+1)
					m.ended(id, run.Ending{})
					again = true
				}
			}
		}
	}
}

// check compares the running tasks of a run with its limit.
func (m *member) check() {
	run := m.g.Run()
	limit, metered := run.Options().Concurrency, 0
	for range m.running {
		metered++
	}
	require.LessOrEqual(m.t, metered, limit, "more run than there are places")
	require.LessOrEqual(m.t, len(m.asks)+len(m.held), 2*limit, "too much is held, or asked for, by tasks without a place")
	for i := range dag.Index(run.Len()) {
		t := m.view(run.ID(i))
		if t.State == dag.Ready && !run.Gated(i) || run.Admitted(i) {
			require.Equal(m.t, limit, run.InFlight(), "%s has all it needs but a place, and there is one: %s", t.ID, t.Waiting)
		}
	}
}

// TestPoolsAndPlaces: with any shared pools and places, no place stays empty while a task could take it, and all runs
// end.
func TestPoolsAndPlaces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, size: map[string]int{"db": rapid.IntRange(2, 3).Draw(t, "db"), "tape": rapid.IntRange(1, 2).Draw(t, "tape")}}
		for range rapid.IntRange(1, 3).Draw(t, "runs") {
			files := map[string]string{}
			text := w.draw(files, 0)
			w.join(compileFiles(t, text, files), nil, "")
		}
		for step := 0; ; step++ {
			require.Less(t, step, 3000, "the runs continue for ever")
			w.nest()
			for _, m := range w.members {
				m.check()
			}
			moves := w.moves()
			if len(moves) == 0 {
				break
			}
			moves[rapid.IntRange(0, len(moves)-1).Draw(t, "move")]()
		}
		for _, m := range w.members {
			require.NotNil(t, m.end, "nothing can happen any more, and a run has not ended: %v %v", m.g.Counts(), m.ids())
			require.Equal(t, dag.OutcomeCompleted, m.end.Outcome)
			require.Empty(t, m.held)
		}
	})
}
