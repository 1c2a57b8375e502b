package itemlist

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/starter"
)

func TestItemsWithoutAValueComeLast(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	items := []starter.Item{
		{ID: "a", State: "pending"},
		{ID: "b", State: "running", Worker: "n2", Attempt: 2, StartedAt: ago(5)},
		{ID: "c", State: "completed", Worker: "n1", Attempt: 1, StartedAt: ago(9), EndedAt: ago(8)},
		{ID: "d", DedupeKey: "0", State: "failed", Worker: "n3", Attempt: 3, StartedAt: ago(20), EndedAt: ago(10)},
	}
	for sort, wanted := range map[string]string{
		ByKey: "dabc", descending + ByKey: "cbad",
		ByState: "cdab", descending + ByState: "badc",
		ByWorker: "cbda", descending + ByWorker: "dbca",
		ByAttempt: "cbda", descending + ByAttempt: "dbca",
		ByTook: "cbda", descending + ByTook: "dbca",
		ByEnded: "dcab", descending + ByEnded: "cdab",
	} {
		sorted := slices.Clone(items)
		slices.SortStableFunc(sorted, order(sort, now))
		got := ""
		for _, item := range sorted {
			got += item.ID
		}
		assert.Equal(t, wanted, got, sort)
	}
}

func TestATextNamesAnItem(t *testing.T) {
	t.Parallel()
	group, dag := starter.RunRef{WorkflowID: "group/scrub-1"}, starter.RunRef{WorkflowID: "dag/steps/1"}
	for text, wanted := range map[string]string{"12": "job-00012", "job-00012": "job-00012", "job-12": "job-00012", "disk-12": "", "0": "", "-1": ""} {
		assert.Equal(t, wanted, idOf(group, text), text)
	}
	assert.Equal(t, "load.#2", idOf(dag, "load.#2"))
}

func TestItemsOfATime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	filter := Filter{Since: ago(10), Until: ago(5)}
	for name, row := range map[string]struct {
		item starter.Item
		ran  bool
	}{
		"not begun": {starter.Item{}, false}, "before": {starter.Item{StartedAt: ago(20), EndedAt: ago(11)}, false}, "until the beginning": {starter.Item{StartedAt: ago(20), EndedAt: ago(10)}, true},
		"around": {starter.Item{StartedAt: ago(20), EndedAt: ago(1)}, true}, "still runs": {starter.Item{StartedAt: ago(20)}, true}, "after": {starter.Item{StartedAt: ago(4)}, false},
	} {
		assert.Equal(t, row.ran, filter.ran(row.item), name)
	}
	assert.True(t, Filter{}.ran(starter.Item{}))
}
