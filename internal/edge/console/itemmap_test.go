package console

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
)

func TestAJobHasThePlaceOfItsNumber(t *testing.T) {
	t.Parallel()
	// Jobs of the record come after the jobs in the run.
	jobs := contract.MarkJobs(contract.MarkJobs(nil, 4, 4, contract.JobFailed), 1, 2, contract.JobCompleted)
	found := mapOf(starter.RunRef{WorkflowID: "group/a-1"}, jobs)
	require.Len(t, found.Map, 4)
	state := func(i int) string { return found.States[found.Map[i]] }
	assert.Equal(t, []string{"completed", "completed", "failed"}, []string{state(0), state(1), state(3)})
	assert.EqualValues(t, contract.JobMapUnknown, found.Map[2])
	assert.Equal(t, explain.RoleFailed, found.Roles[found.Map[3]])
	assert.Equal(t, map[string]int{"completed": 2, "failed": 1}, found.Counts)
}

func TestFailuresHaveTheirWorkersAndTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 24, 2, 51, 0, 0, time.UTC)
	var items []starter.Item
	for i := range 31 {
		items = append(items, starter.Item{
			ID: contract.JobID(i + 1), DedupeKey: "volume-" + strconv.Itoa(i), Worker: "stor-17", EndedAt: at.Add(time.Duration(30-i) * time.Minute),
			Error: "disk_full: /data2 has 1." + strconv.Itoa(i) + " GiB free, volume-" + strconv.Itoa(i) + " needs 4.0 GiB",
		})
	}
	items = slices.Insert(items, 31, starter.Item{ID: "job-00032", Worker: "stor-17", Error: "disk_full: /data2 has 1.5 GiB free, KEY needs 4.0 GiB"}) // Its end is not known.
	items = append(items, starter.Item{ID: "job-00099", Worker: "stor-04", Error: "exited with status 3"}, starter.Item{ID: "job-00100", Worker: "stor-05", Error: "exited with status 4"})
	found := failuresOf(starter.RunRef{WorkflowID: "group/a-1"}, items, 40)
	require.Len(t, found.Causes, 3)
	first := found.Causes[0]
	assert.Equal(t, 32, first.Count)
	assert.Equal(t, "disk_full: /data2 has 1.0 GiB free, KEY needs 4.0 GiB", first.Message)
	assert.Equal(t, []string{"stor-17"}, first.Workers)
	assert.Equal(t, at, first.First)
	assert.Equal(t, at.Add(30*time.Minute), first.Last)
	assert.Len(t, first.Items, 32)
	require.Len(t, first.Actions, 1, "all are on one worker")
	assert.Equal(t, "roundsman pause stor-17", first.Actions[0].Command)
	assert.Empty(t, found.Causes[1].Actions)
	assert.Equal(t, 6, found.Uncounted)
	assert.Equal(t, 40, found.Failed)
	assert.Equal(t, []int{1, 1}, []int{found.Causes[1].Count, found.Causes[2].Count}, "an exit status is no amount")

	unplaced := items[28:32:32]
	unplaced[0].Worker = ""
	assert.Empty(t, failuresOf(starter.RunRef{WorkflowID: "group/a-1"}, unplaced, 4).Causes[0].Actions, "one of four was on no worker")
}

// The chain is the longest by duration; tasks without times count last.
func TestTheLongestChain(t *testing.T) {
	t.Parallel()
	needs := [][]int{{}, {0}, {0}, {1, 2}, {3}, {}, {5}}
	after := make([][]int, len(needs))
	for i, of := range needs {
		for _, need := range of {
			after[need] = append(after[need], i)
		}
	}
	took := []int{4, 9, 18, 0, 0, 20, 0}
	of := func(all [][]int) func(int) []int { return func(i int) []int { return all[i] } }
	path := chain(len(needs), of(needs), of(after), func(i int) time.Duration { return time.Duration(took[i]) * time.Minute })
	assert.Equal(t, []int{0, 2, 3, 4}, path)
	assert.Equal(t, []int{0, 1, 1, 2, 3, 0, 1}, layers(len(needs), of(needs), of(after)))
	assert.Empty(t, chain(0, of(nil), of(nil), nil))
}
