package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
)

// BenchmarkSplit measures reading a splitter's result whose task needs a fan-out by its name, in runs
// of three sizes. Tasks that it does not name must cost nothing.
func BenchmarkSplit(b *testing.B) {
	for _, size := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			run := wide(b, size)
			result := []byte(`{"tasks": [{"id": "more", "needs": ["few"], "noop": true}]}`)
			for b.Loop() {
				g, _, err := spec.Split(run, 0, result)
				if err != nil || len(g.Tasks[0].Needs) != 3 {
					b.Fatal(err)
				}
			}
		})
	}
}

// wide returns a run with one splitter, a fan-out of three and one of size tasks.
func wide(tb testing.TB, size int) *dag.Run {
	tb.Helper()
	items := strings.TrimSuffix(strings.Repeat("1,", size), ",")
	s, err := spec.Load("wide.yaml", []byte("version: 1\nname: wide\ntasks:\n- {id: split, noop: true}\n- {id: many, noop: true, for_each: ["+items+"]}\n- {id: few, noop: true, for_each: [a, b, c]}\n"))
	require.NoError(tb, err)
	compiled, err := spec.Compile(s, nil)
	require.NoError(tb, err)
	return dag.NewRun(compiled.Graph, dag.Options{})
}
