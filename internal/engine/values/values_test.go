package values_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/values"
)

func TestNumbersBecomePoints(t *testing.T) {
	t.Parallel()
	var run values.Run
	run.Take("shop", json.RawMessage(`{"exit_code":0,"bytes":1200,"ratio":-0.5,"ok":true,"name":"7","list":[1],"huge":1e999,"nested":{"a":1}}`))
	run.Take("shop", json.RawMessage(`not json`))
	run.Take("shop", nil)
	run.Take(strings.Repeat("k", contract.MaxValueKey+1), json.RawMessage(`{"bytes":1}`))
	run.Take("line\nbreak", json.RawMessage(`{"bytes":1}`))
	run.Take("", json.RawMessage(`{"`+strings.Repeat("n", contract.MaxValueName+1)+`":1,"n":2}`))
	assert.Equal(t, []values.Point{{"shop", "bytes", 1200}, {"shop", "ratio", -0.5}, {"", "n", 2}}, run.Points)
	assert.Equal(t, 3, run.Dropped)
}

func TestOwnDataIsBounded(t *testing.T) {
	t.Parallel()
	assert.Empty(t, (&values.Run{}).Take("k", json.RawMessage(`{"exit_code":0,"summary":"done"}`)))
	assert.JSONEq(t, `{"bytes":12,"path":"<a>"}`, (&values.Run{}).Take("k", json.RawMessage(`{"path":"<a>","exit_code":0,"bytes":12}`)))
	assert.Empty(t, (&values.Run{}).Take("k", json.RawMessage(`{"x":"`+strings.Repeat("x", contract.MaxJobData)+`"}`)))
}

func TestTrends(t *testing.T) {
	t.Parallel()
	var known *contract.Values
	for n := 1; n <= 12; n++ {
		run := values.Run{Points: []values.Point{{"shop", "bytes", float64(100 * n)}}}
		if n == 12 {
			run.Points = append(run.Points, values.Point{"new", "bytes", 1})
		}
		if n == 3 {
			run.Points = append(run.Points, values.Point{"old", "bytes", 3})
		}
		if n == 8 {
			run.Points = append(run.Points, values.Point{"rare", "bytes", 0})
		}
		known = values.Extend(known, run, time.Time{})
	}
	trends := values.TrendsOf(known)
	require.Len(t, trends, 4)
	assert.Equal(t, []string{"new", "old", "rare", "shop"}, []string{trends[0].Key, trends[1].Key, trends[2].Key, trends[3].Key})
	assert.Nil(t, trends[0].Change)
	assert.False(t, trends[1].Current)
	assert.Equal(t, []float64{300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200}, trends[3].Points)
	assert.InDelta(t, 1200.0, trends[3].Last, 0)
	assert.InDelta(t, (1200.0-700)/700*100, *trends[3].Change, 1e-9, "against the median of the nine before")
	known = values.Extend(known, values.Run{Points: []values.Point{{"shop", "bytes", 1}}}, time.Unix(1, 0))
	assert.Len(t, known.Series, 3, "old ended: ten runs without it")
	assert.Same(t, known, values.Extend(known, values.Run{}, time.Unix(2, 0)), "a run without numbers changes nothing")
}

// TestSeriesAreBounded: at most MaxSeries, sorted, known ones keep their places, and each number has a series or
// is counted as dropped.
func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var known *contract.Values
		for range rapid.IntRange(1, 15).Draw(t, "runs") {
			var run values.Run
			keys := rapid.SliceOfNDistinct(rapid.IntRange(0, 300), 0, 250, rapid.ID).Draw(t, "keys")
			for _, key := range keys {
				run.Take(fmt.Sprint(key), json.RawMessage(`{"n":1}`))
			}
			next := values.Extend(known, run, time.Time{})
			if len(keys) == 0 {
				require.Equal(t, known, next)
				continue
			}
			require.LessOrEqual(t, len(next.Series), contract.MaxSeries)
			current := 0
			for _, s := range next.Series {
				require.LessOrEqual(t, len(s.Points), contract.MaxPoints)
				require.Less(t, next.Runs-s.Run, int64(contract.MaxPoints))
				if s.Run == next.Runs {
					current++
				}
			}
			require.Equal(t, len(keys), current+next.Dropped)
			require.True(t, slices.IsSortedFunc(next.Series, func(a, b contract.ValueSeries) int { return strings.Compare(a.Key, b.Key) }))
			if known != nil {
				for _, s := range known.Series {
					if next.Runs-s.Run < contract.MaxPoints {
						require.True(t, slices.ContainsFunc(next.Series, func(n contract.ValueSeries) bool { return n.Key == s.Key }))
					}
				}
			}
			known = next
		}
	})
}

func TestARunIsBounded(t *testing.T) {
	t.Parallel()
	var run values.Run
	for n := range 5000 {
		run.Take(fmt.Sprint(n), json.RawMessage(`{"n":1}`))
	}
	assert.Len(t, run.Points, 1000)
	assert.Equal(t, 4000, run.Dropped)
	encoded, err := json.Marshal(values.Extend(nil, run, time.Time{}))
	require.NoError(t, err)
	assert.Less(t, len(encoded), 16<<10)
}
