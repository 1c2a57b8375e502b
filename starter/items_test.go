package starter

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

// The group reports such a job as running; only the server reports it as not taken.
func TestAssignedIsWhatNobodyHasTaken(t *testing.T) {
	t.Parallel()
	views := itemsOfJobs([]contract.JobView{
		{JobID: "job-00001", State: contract.JobRunning},
		{JobID: "job-00002", State: contract.JobRunning},
		{JobID: "job-00003", State: contract.JobRunning},
		{JobID: "job-00004", State: contract.JobCanceled},
		{JobID: "job-00005", State: contract.JobPending},
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
