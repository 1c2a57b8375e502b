package ready_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/dag/internal/graph"
	"github.com/roundsman/roundsman/dag/internal/ready"
)

// TestTheLeastMemberOfASet compares a set of any size with a map. Members at the borders of words and levels are drawn
// more often than others.
func TestTheLeastMemberOfASet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 63, 64, 65, 4096, 4097, 1<<18 + 1}).Draw(t, "size")
		set, want := ready.NewRankSet(n), map[graph.Index]bool{}
		member := rapid.Custom(func(t *rapid.T) graph.Index {
			near := rapid.SampledFrom([]int{0, 64, 128, 4096, 8192, 1 << 18, n}).Draw(t, "near") + rapid.IntRange(-2, 2).Draw(t, "offset")
			return graph.Index(min(max(near, 0), n-1))
		})
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			if n == 0 {
				break
			}
			if x := member.Draw(t, "member"); rapid.Bool().Draw(t, "add") {
				set.Add(x)
				want[x] = true
			} else {
				set.Remove(x)
				delete(want, x)
			}
			require.Equal(t, least(want), set.Least())
		}
		for x := set.Least(); x != graph.None; x = set.Least() {
			require.Equal(t, least(want), x)
			set.Remove(x)
			delete(want, x)
		}
		require.Empty(t, want)
	})
}

func least(set map[graph.Index]bool) graph.Index {
	if len(set) == 0 {
		return graph.None
	}
	return slices.Min(slices.Collect(maps.Keys(set)))
}

// TestAHeapIsInOrder: by priority, then by declaration. Stale entries are passed over, also those at the top.
func TestAHeapIsInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		stale := rapid.SliceOfN(rapid.Bool(), 1, 30).Draw(t, "stale")
		valid := func(stale bool) bool { return !stale }
		var heap ready.Heap
		var want []ready.Key
		for _, task := range rapid.Permutation(indices(len(stale))).Draw(t, "order") {
			k := ready.Key{Priority: rapid.Int32Range(-2, 2).Draw(t, "priority"), Task: task}
			if heap.Push(k); !stale[task] {
				want = append(want, k)
			}
			if rapid.IntRange(0, 3).Draw(t, "pops") == 0 && len(want) > 0 {
				first := slices.MinFunc(want, before)
				got, ok := ready.Peek(&heap, stale, valid)
				require.True(t, ok)
				require.Equal(t, first, got)
				heap.Pop()
				want = slices.DeleteFunc(want, func(k ready.Key) bool { return k == first })
			}
		}
		slices.SortFunc(want, before)
		for _, k := range want {
			got, ok := ready.Peek(&heap, stale, valid)
			require.True(t, ok)
			require.Equal(t, k, got)
			heap.Pop()
		}
		_, ok := ready.Peek(&heap, stale, valid)
		require.False(t, ok)
		require.Zero(t, heap.Len(), "nothing is left of the stale ones")
	})
}

func indices(n int) []graph.Index {
	all := make([]graph.Index, n)
	for k := range all {
		all[k] = graph.Index(k)
	}
	return all
}

func before(a, b ready.Key) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Task, b.Task))
}
