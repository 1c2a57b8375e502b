package dag_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag"
)

// BenchmarkSplit measures the success of a task that adds two others, in runs whose tasks all do so.
// The cost of a splitter must not depend on the number of tasks. The kinds differ in the dependencies
// of the added tasks: their splitter, one another, or another task of the run.
func BenchmarkSplit(b *testing.B) {
	for _, size := range []int{1_000, 10_000, 100_000} {
		g := mustBuild(b, layered(size, true))
		for _, kind := range []string{"own", "chained", "foreign"} {
			b.Run(fmt.Sprintf("%d/%s", size, kind), func(b *testing.B) { benchmarkSplit(b, g, kind) })
		}
	}
}

func benchmarkSplit(b *testing.B, g *dag.Graph, kind string) {
	b.Helper()
	events := 0
	for b.Loop() {
		b.StopTimer()
		r := dag.NewRun(g, dag.Options{Concurrency: 100})
		buf, _ := r.Next(dag.Event{Kind: dag.EventStart}, nil)
		queue := make([]dag.Index, 0, g.Len())
		b.StartTimer()
		for head := range min(g.Len()/2, 20_000) {
			for _, d := range buf {
				queue = append(queue, d.Task)
			}
			ev := dag.Event{Kind: dag.EventCompleted, Task: queue[head]}
			if int(ev.Task) < g.Len() {
				ev.Growth = twoMore(g, ev.Task, kind)
			}
			var err error
			if buf, err = r.Next(ev, buf[:0]); err != nil {
				b.Fatal(err)
			}
			events++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
	b.ReportMetric(0, "ns/op")
}

func twoMore(g *dag.Graph, i dag.Index, kind string) *dag.Growth {
	id := "s" + strconv.Itoa(int(i))
	two := []dag.Addition{{Task: dag.Task{ID: id + "a", Payload: []byte("x")}}, {Task: dag.Task{ID: id + "b", Payload: []byte("x")}}}
	switch kind {
	case "chained":
		two[1].Needs = []string{two[0].ID}
	case "foreign":
		two[1].Needs = []string{g.ID(i), g.ID(dag.Index(max(int(i)-1, 0)))}
	}
	return &dag.Growth{Tasks: two}
}

// TestASplitterAllocatesTheSameInALargeRun: a splitter that copied or numbered all tasks of
// the run again would allocate a hundred times as much. BenchmarkSplit measures the time.
func TestASplitterAllocatesTheSameInALargeRun(t *testing.T) {
	for _, kind := range []string{"own", "chained", "foreign"} {
		few, many := splitAllocations(t, 1_000, kind), splitAllocations(t, 100_000, kind)
		t.Logf("%-8s %.0f allocations in 1,000 tasks, %.0f in 100,000", kind, few, many)
		assert.LessOrEqual(t, many, 1.5*few+10, kind)
	}
}

// splitAllocations returns the allocations of some splitters.
func splitAllocations(t *testing.T, size int, kind string) float64 {
	t.Helper()
	g := mustBuild(t, layered(size, true))
	r := dag.NewRun(g, dag.Options{Concurrency: 100})
	queue, err := r.Next(dag.Event{Kind: dag.EventStart}, nil)
	require.NoError(t, err)
	require.Greater(t, len(queue), 50)
	i := 0
	split := func() {
		task := queue[i].Task
		i++
		_, err = r.Next(dag.Event{Kind: dag.EventCompleted, Task: task, Growth: twoMore(g, task, kind)}, nil)
	}
	split() // The first one that needs a task of the run numbers all of them.
	split()
	return testing.AllocsPerRun(40, func() {
		split()
		require.NoError(t, err)
	})
}
