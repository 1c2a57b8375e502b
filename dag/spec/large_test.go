package spec_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/dag/spec"
)

// compiled returns the graph of a spec, or its faults, as text.
func compiled(s *spec.Spec, err error, files spec.Files) string {
	var c *spec.Compiled
	if err == nil {
		c, err = spec.Compile(s, files)
	}
	if err != nil {
		return err.Error()
	}
	return string(c.Graph.Encode())
}

// sameEitherWay requires that both implementations of Load give the same graph or the same faults. It
// reports whether the tasks can be read one by one.
func sameEitherWay(t *testing.T, name string, data []byte, files spec.Files) (large bool, answer string) {
	t.Helper()
	s, err := spec.LoadWhole(name, data)
	answer = compiled(s, err, files)
	one := spec.LoadLarge(name, data)
	if one != nil {
		require.Equal(t, answer, compiled(one, nil, files), "%s", data)
	}
	return one != nil, answer
}

// TestLargeDocumentsAreReadAlike compares both implementations with every fault, in every style.
func TestLargeDocumentsAreReadAlike(t *testing.T) {
	t.Parallel()
	all, large, faulty := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 4))
		for range 40 {
			read, answer := sameEitherWay(t, "in.yaml", document(rng), nil)
			all++
			if read {
				large++
				if strings.HasPrefix(answer, "in.yaml:") {
					faulty++
				}
			}
		}
	})
	t.Logf("%d documents, %d read task by task, %d of them with faults", all, large, faulty)
	assert.Greater(t, large, all/4)
	assert.Greater(t, faulty, all/20, "faults that only the whole graph shows")
}

// document returns a random spec, mostly valid, in the styles of people and programs.
func document(rng *rand.Rand) []byte {
	var b strings.Builder
	rare := func(often int) bool { return rng.IntN(often) == 0 }
	b.WriteString("version: 1\nname: x\n")
	if !rare(4) {
		b.WriteString("params: {hosts: [a, b], dir: /d}\n")
	}
	b.WriteString("tasks:\n")
	keys := []string{
		"priority: 3", "trigger_rule: all_done", "timeout: 5m", "when: '{{eq .Params.dir \"/d\"}}'", "for_each: [x, y]", "for_each: '{{.Params.hosts}}'",
		"labels: {zone: a}", "exclusive: [o, \"{{.Params.dir}}\"]", "params:\n      a: [1, \"{{.Params.dir}}\"]", "retries: {limit: 2}", "node: n1",
		"resources: {disk: 1}", "matrix: {k: [1, 2]}", "concurrency: 2",
	}
	wrong := []string{
		"timeout: 5", "tiemout: 5m", "when: yes please", "per_item: [t0]", "node: '{{.Nonsense}}'", "labels: {z: '{{.Needs.t1.Result.k}}'}", "when: |\n      {{if}}",
		"params: &a {b: 1}", "params: *a", "<<: {node: n}", "id: twice", "trigger_rule: one_failed", "for_each: '{{.Params.none}}'", "needs: &n [t0]",
	}
	for k := range 1 + rng.IntN(6) {
		if rare(3) {
			fmt.Fprintf(&b, "  - {id: t%d, noop: true, needs: [%s]}\n", k, need(rng, k))
			continue
		}
		fmt.Fprintf(&b, "  - id: t%d\n    command: [echo, \"- x\n  - y\", '{{.Params.dir}}']\n", k)
		if rare(2) {
			fmt.Fprintf(&b, "    needs: [%s]\n", need(rng, k))
		}
		for rare(2) {
			fmt.Fprintf(&b, "    %s\n", keys[rng.IntN(len(keys))])
		}
		if rare(20) {
			fmt.Fprintf(&b, "    %s\n", wrong[rng.IntN(len(wrong))])
		}
	}
	if rare(5) {
		b.WriteString("concurrency: 5\n")
	}
	return []byte(b.String())
}

// need returns the name of a task before the k-th, sometimes of another or of none.
func need(rng *rand.Rand, k int) string {
	if rng.IntN(12) == 0 || k == 0 {
		k = 8
	}
	return fmt.Sprintf("t%d", rng.IntN(k))
}

// TestFaultsOfALargeDocument checks faults of the document and of the graph, each with its line.
func TestFaultsOfALargeDocument(t *testing.T) {
	t.Parallel()
	tasks := func(last string) []byte { return append(chain(10_000), last...) }
	for last, want := range map[string]string{
		"  - {id: end, noop: true, needs: [t000001, t0000x1]}\n": `in.yaml:10004:44: task "end" needs "t0000x1", which is not a task; did you mean "t000001"?`,
		"  - {id: t000007, noop: true}\n":                        `in.yaml:10004:10: task "t000007" is already declared in line 11; rename one of them`,
		"  - {id: end, noop: true, tiemout: 5m}\n":               `in.yaml:10004:27: a task has no key "tiemout"; did you mean "timeout"?`,
	} {
		assert.Equal(t, want, faults(t, tasks(last))[0].Error())
	}
}

// TestMemoryOfALargeDocument checks that the memory kept per task does not depend on the size of its
// nodes, which is 4 KB.
func TestMemoryOfALargeDocument(t *testing.T) { //nolint:paralleltest // it measures the heap of the process
	const n = 50_000
	data := chain(n)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	s, err := spec.Load("in.yaml", data)
	require.NoError(t, err)
	c, err := spec.Compile(s, nil)
	require.NoError(t, err)
	perTask := (int64(heap()) - int64(before)) / n
	assert.Less(t, perTask, int64(400), "bytes per task")
	assert.Equal(t, n, c.Graph.Len())
	runtime.KeepAlive(bytes.Clone(data[:1]))
	runtime.KeepAlive(s)
}
