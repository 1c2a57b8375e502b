package workerview

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/reboot"
	"github.com/roundsman/roundsman/starter"
)

// TestManyFailedJobsOfARunAreOneRequest: they are searched, however many there are.
func TestManyFailedJobsOfARunAreOneRequest(t *testing.T) {
	t.Parallel()
	scrub, fsck := starter.RunRef{WorkflowID: "group/scrub/1"}, starter.RunRef{WorkflowID: "group/fsck/1"}
	var items []starter.Item
	for n := range 3 * mostAsked {
		items = append(items, starter.Item{Run: scrub, ID: fmt.Sprintf("job-%05d", n), State: contract.JobFailed, Worker: "node-a", Attempt: 1})
	}
	items = append(
		items,
		starter.Item{Run: fsck, ID: "job-00001", State: contract.JobPending, Attempt: 2},
		starter.Item{Run: fsck, ID: "job-00002", State: contract.JobRunning, Worker: "node-a", Attempt: 2},
		starter.Item{Run: fsck, ID: "job-00003", State: contract.JobFailed, Worker: "node-b", Attempt: 1},
		starter.Item{Run: fsck, ID: "job-00004", State: contract.JobCompleted, Worker: "node-a", Attempt: 1},
	)
	recorded := suspects(items, "node-a")
	require.Len(t, recorded, 2)
	assert.Len(t, recorded[0], 3*mostAsked)
	require.Len(t, recorded[1], 1)
	assert.Equal(t, "job-00001", recorded[1][0].ID)
}

// TestAJobThatIsLostBetweenTheSearchesIsListedOnce: no verdict counts it twice.
func TestAJobThatIsLostBetweenTheSearchesIsListedOnce(t *testing.T) {
	t.Parallel()
	of := func(run, job string, lost bool) reboot.NodeAttempt {
		return reboot.NodeAttempt{Run: run, Job: job, Lost: lost}
	}
	assert.Equal(t,
		[]reboot.NodeAttempt{of("group/scrub/1", "job-00002", false), of("group/fsck/1", "job-00001", false), of("group/scrub/1", "job-00001", true), of("group/scrub/1", "job-00003", true)},
		withLost(
			[]reboot.NodeAttempt{of("group/scrub/1", "job-00001", false), of("group/scrub/1", "job-00002", false), of("group/fsck/1", "job-00001", false)},
			[]reboot.NodeAttempt{of("group/scrub/1", "job-00001", true), of("group/scrub/1", "job-00003", true)},
		))
}

// TestASearchThatMayHaveLeftOutItemsIsNotWhole: a worker is free only if all items were searched.
func TestASearchThatMayHaveLeftOutItemsIsNotWhole(t *testing.T) {
	t.Parallel()
	require.NoError(t, leftOut(maxSearched-1, maxSearched-1))
	require.ErrorIs(t, leftOut(maxSearched, 0), errManyOpen)
	require.ErrorIs(t, leftOut(1, maxSearched), errManyOpen)
}
