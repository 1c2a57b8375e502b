package ui

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"
)

type row struct {
	name string
	n    int
	at   time.Time
}

func rowSorting() Sorting[row] {
	return Sorting[row]{
		By("name", func(r row) string { return r.name }),
		By("n", func(r row) int { return r.n }),
		ByTime("at", func(r row) time.Time { return r.at }),
	}
}

// lineOf is the context of a command with the flags of a list.
func lineOf(t *testing.T, args ...string) *cli.Context {
	t.Helper()
	set := flag.NewFlagSet("list", flag.ContinueOnError)
	require.NoError(t, rowSorting().Flag().Apply(set))
	require.NoError(t, set.Parse(args))
	return cli.NewContext(cli.NewApp(), set, nil)
}

func TestSort(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	rows := []row{{"c", 1, day(2)}, {"a", 2, time.Time{}}, {"b", 1, day(1)}, {"d", 2, day(3)}}
	for written, want := range map[string]string{
		"": "cabd", "name": "abcd", "-name": "dcba", "n": "cbad", "-n,name": "adbc", "n,-name": "cbda",
		"at": "bcda", "-at": "dcba", // A row without a time is last both ways round.
	} {
		all := append([]row(nil), rows...)
		rowSorting().Sort(lineOf(t, "--sort", written), all)
		names := ""
		for _, each := range all {
			names += each.name
		}
		assert.Equal(t, want, names, written)
	}
}

func TestSortRefusesOtherFields(t *testing.T) {
	t.Parallel()
	sort, ok := rowSorting().Flag().(*SortFlag)
	require.True(t, ok)
	assert.NoError(t, sort.Action(nil, "name, -at"))
	assert.ErrorContains(t, sort.Action(nil, "nmae"), "did you mean name? It must be one of name, n, at")
	assert.ErrorContains(t, sort.Action(nil, "name,-size"), "--sort -size: must be one of name, n, at")
}
