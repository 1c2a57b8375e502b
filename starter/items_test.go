package starter

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter/pastjobs"
)

// The group reports such a job as running; only the server reports it as not taken.
func TestAssignedIsWhatNobodyHasTaken(t *testing.T) {
	t.Parallel()
	views := itemsOfJobs([]pastjobs.Job{
		{JobView: contract.JobView{JobID: "job-00001", State: contract.JobRunning}},
		{JobView: contract.JobView{JobID: "job-00002", State: contract.JobRunning}},
		{JobView: contract.JobView{JobID: "job-00003", State: contract.JobRunning}},
		{JobView: contract.JobView{JobID: "job-00004", State: contract.JobCanceled}},
		{JobView: contract.JobView{JobID: "job-00005", State: contract.JobPending}},
	})
	active := []ActiveItem{{ID: "job-00002", Started: true}, {ID: "job-00001"}, {ID: "job-00004"}}
	var states []string
	for _, job := range mergeActive(Snapshot{Active: active}, views) {
		states = append(states, job.State)
	}
	assert.Equal(t, []string{contract.JobAssigned, contract.JobRunning, contract.JobRunning, contract.JobCanceled, contract.JobPending}, states, "the third is a DAG, which has no activity")
}

func TestOnlyOneOfAssignedAndRunningIsToldApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		states []string
		apart  bool
	}{
		{nil, false},
		{[]string{contract.JobAssigned}, true},
		{[]string{contract.JobCompleted, contract.JobRunning}, true},
		{[]string{contract.JobAssigned, contract.JobRunning}, false},
		{[]string{contract.JobPending}, false},
	} {
		assert.Equal(t, c.apart, ItemFilter{States: c.states}.selectsAssigned(), c.states)
	}
	for _, state := range ItemStates() {
		ended := map[string]bool{contract.JobCompleted: true, contract.JobWarning: true, contract.JobFailed: true, contract.JobCanceled: true, contract.JobStale: true, contract.JobExpired: true, contract.JobNotStarted: true, "upstream_failed": true, "skipped": true}
		assert.Equal(t, ended[state], Item{State: state}.Ended(), state)
	}
}

func TestListsClipNeeds(t *testing.T) {
	t.Parallel()
	many := make([]string, 100_000)
	few := []string{"a", "b"}
	items := Listed([]Item{{ID: "gather", Needs: many}, {ID: "next", Needs: few}})
	assert.Len(t, items[0].Needs, ListedNeeds)
	assert.Equal(t, 100_000-ListedNeeds, items[0].NeedsLeftOut)
	assert.Equal(t, Item{ID: "next", Needs: few}, items[1])
}

// TestAKeyOfADAGMeansOneTask: with several matches nothing is chosen.
func TestAKeyOfADAGMeansOneTask(t *testing.T) {
	t.Parallel()
	tasks := func(n int) (items []Item) {
		for i := range n {
			items = append(items, Item{ID: fmt.Sprintf("t%d.sda", i), Kind: "command"})
		}
		return items
	}
	one, err := OfKey("dag/d/x", "sda", tasks(1), 1)
	require.NoError(t, err)
	assert.Equal(t, ItemRef{Run: RunRef{WorkflowID: "dag/d/x"}, ID: "t0.sda"}, one.Ref())
	_, err = OfKey("dag/d/x", "sda", tasks(2), 2)
	require.ErrorAs(t, err, new(*InvalidError))
	require.EqualError(t, err, "the key sda means 2 tasks: write RUN/TASK for one of them:\n  dag/d/x/t0.sda\n  dag/d/x/t1.sda")
	_, err = OfKey("dag/d/x", "sda", tasks(10), 12)
	require.ErrorContains(t, err, "dag/d/x/t9.sda\n  and 2 more")
	_, err = OfKey("dag/d/x", "sda", nil, 0)
	require.ErrorIs(t, err, ErrNotFound)
	one, err = OfKey("group/g-1", "k", []Item{{ID: "job-00001", Kind: KindJob}, {ID: "job-00002", Kind: KindJob}}, 2)
	require.NoError(t, err)
	assert.Equal(t, "job-00001", one.ID, "the key of a job is that of one active job")
}

func TestAStaleJobCountsAsFailed(t *testing.T) {
	t.Parallel()
	_, progress := countsOfGroup(contract.GroupCounts{Accepted: 5, Completed: 1, Failed: 2, Stale: 1}, 0, 1)
	assert.Equal(t, Progress{Total: 5, Ended: 4, Running: 1, Failed: 3}, *progress)
}

// TestAnEntryWithSeveralTasksIsNamedInTheError: its id is in the DAG file, so "does not exist" alone would mislead.
func TestAnEntryWithSeveralTasksIsNamedInTheError(t *testing.T) {
	t.Parallel()
	ref := ItemRef{Run: RunRef{WorkflowID: "dag/d/x"}, ID: "visit"}
	err := ref.missing([]Item{{ID: "visit.db1"}, {ID: "visit.db2"}}, 12)
	require.ErrorIs(t, err, ErrNotFound)
	require.EqualError(t, err, "a single task dag/d/x/visit does not exist: name one of its 12, such as visit.db1; see `roundsman jobs dag/d/x`")
	require.EqualError(t, ref.missing(nil, 0), "task dag/d/x/visit does not exist: see `roundsman jobs dag/d/x`")
}
