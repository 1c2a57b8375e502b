package run

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestARegisterIsAListWithoutItsCost compares the register with a list that is searched.
func TestARegisterIsAListWithoutItsCost(t *testing.T) {
	t.Parallel()
	type entry struct {
		id    string
		value int
	}
	rapid.Check(t, func(t *rapid.T) {
		var r register[entry]
		var naive []entry
		for step := range rapid.IntRange(0, 60).Draw(t, "steps") {
			id := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "id"))
			at := slices.IndexFunc(naive, func(e entry) bool { return e.id == id })
			if rapid.Bool().Draw(t, "put") {
				r.put(id, entry{id, step})
				if at >= 0 {
					naive[at].value = step
				} else {
					naive = append(naive, entry{id, step})
				}
			} else {
				r.remove(id)
				naive = slices.DeleteFunc(naive, func(e entry) bool { return e.id == id })
			}
			require.Equal(t, len(naive), r.len())
			require.ElementsMatch(t, naive, r.all())
			require.True(t, slices.Equal(naive, r.all()), "%v, not %v", r.all(), naive)
			at = slices.IndexFunc(naive, func(e entry) bool { return e.id == id })
			require.Equal(t, at >= 0, r.has(id))
			if got, known := r.get(id); known {
				require.Equal(t, naive[at], got)
			}
		}
	})
}
