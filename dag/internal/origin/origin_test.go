package origin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/dag/internal/graph"
	"github.com/roundsman/roundsman/dag/internal/origin"
	"github.com/roundsman/roundsman/dag/internal/wire"
)

const magic = "TST1"

// read decodes the origins of n tasks.
func read(t require.TestingT, buf []byte, n int) (origin.Runs, error) {
	in, err := wire.Unseal(wire.Sealed(append([]byte(magic), buf...)), magic)
	require.NoError(t, err)
	return origin.Read(in, n), in.End()
}

// TestOriginsAreThoseLastSet, through encodings, growth and tasks that run again.
func TestOriginsAreThoseLastSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var runs origin.Runs
		want := make([]string, rapid.IntRange(1, 9).Draw(t, "tasks"))
		// All origins are set before anything else happens, and by then the number of tasks is known.
		for k := range want {
			if want[k] = rapid.SampledFrom([]string{"", "first", "second"}).Draw(t, "run"); want[k] != "" {
				runs.Set(graph.Index(k), len(want), want[k])
			}
		}
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				k := rapid.IntRange(0, len(want)-1).Draw(t, "task")
				runs.Clear(graph.Index(k))
				want[k] = ""
			case 1:
				added := rapid.IntRange(1, 3).Draw(t, "added")
				runs.Extend(added)
				want = slices.Concat(want, make([]string, added))
			default:
				buf := runs.AppendTo(nil, len(want))
				back, err := read(t, buf, len(want))
				require.NoError(t, err)
				require.Equal(t, buf, back.AppendTo(nil, len(want)))
				runs = back
			}
			for k := range want {
				require.Equal(t, want[k], runs.Of(graph.Index(k)))
			}
		}
	})
}

// TestDamagedOriginsAreRefused: a hostile encoding names no run outside its list.
func TestDamagedOriginsAreRefused(t *testing.T) {
	t.Parallel()
	encoded := func(ids []string, of ...int64) []byte {
		buf := []byte{byte(len(ids))}
		for _, id := range ids {
			buf = wire.AppendBytes(buf, []byte(id))
		}
		return wire.AppendRuns(buf, len(of), func(i int) int64 { return of[i] })
	}
	for name, buf := range map[string][]byte{
		"a run that is not listed": encoded([]string{"first"}, 1, 2), "a negative number": encoded([]string{"first"}, -1, 0), "an empty id": encoded([]string{""}, 1, 1),
		"too few tasks": encoded([]string{"first"}, 1), "too many tasks": encoded([]string{"first"}, 1, 0, 1), "no ids": {9},
		"a long id": encoded([]string{strings.Repeat("x", origin.MaxRunIDLength+1)}, 1, 1),
	} {
		_, err := read(t, buf, 2)
		require.ErrorIs(t, err, wire.ErrCorrupt, name)
	}
	longest := strings.Repeat("x", origin.MaxRunIDLength)
	runs, err := read(t, encoded([]string{longest, "first"}, 1, 2), 2)
	require.NoError(t, err)
	require.Equal(t, longest+" first", fmt.Sprint(runs.Of(0), " ", runs.Of(1)))
}
