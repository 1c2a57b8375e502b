package ranked_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/engine/ranked"
)

// TestSetIsASortedMap compares the set with a map that is sorted each time.
func TestSetIsASortedMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, naive := ranked.NewSet[int](), map[int]int{}
		for step := range rapid.IntRange(0, 400).Draw(t, "steps") {
			id := rapid.IntRange(0, 30).Draw(t, "id")
			switch rapid.IntRange(0, 2).Draw(t, "do") {
			case 0:
				s.Remove(id)
				delete(naive, id)
			default:
				s.Add(id, step)
				naive[id] = step
			}
			ids := slices.Sorted(maps.Keys(naive))
			require.Equal(t, len(naive), s.Len())
			if rapid.Bool().Draw(t, "look") {
				first, ok := s.First()
				require.Equal(t, len(ids) > 0, ok)
				if ok {
					require.Equal(t, naive[ids[0]], first)
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "list") == 0 {
				want := make([]int, len(ids))
				for i, id := range ids {
					want[i] = naive[id]
				}
				require.Equal(t, want, s.Sorted())
			}
		}
	})
}
