package window

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPartsAreTheDays: over a century, compiled days are the written ones.
func TestPartsAreTheDays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		texts := []string{"mon", "sat-sun", "last", "first sun", "last fri", "third tue", "15", "31", "-2", "-31", "2026-12-24", "2028-02-29"}
		written := rapid.SliceOfN(rapid.SampledFrom(texts), 1, 4).Draw(rt, "days")
		parts, err := Parts(written)
		require.NoError(rt, err)
		read, err := readDays(written)
		require.NoError(rt, err)
		from := time.Date(rapid.IntRange(2000, 2100).Draw(rt, "year"), 1, 1, 0, 0, 0, 0, time.UTC)
		for date := from; date.Year() == from.Year(); date = date.AddDate(0, 0, 1) {
			is := slices.ContainsFunc(parts, func(p Part) bool {
				return (len(p.Years) == 0 || slices.Contains(p.Years, date.Year())) && slices.Contains(p.Months, int(date.Month())) &&
					slices.Contains(p.Days, date.Day()) && slices.Contains(p.Weekdays, int(date.Weekday()))
			})
			require.Equal(rt, read.has(date), is, fmt.Sprint(date, written))
		}
	})
}

func TestRarest(t *testing.T) {
	t.Parallel()
	require.Equal(t, 28, Rarest([]string{"last"}))
	require.Equal(t, 7, Rarest([]string{"sun"}))
	require.Equal(t, 1, Rarest([]string{"last", "1"}))
}
