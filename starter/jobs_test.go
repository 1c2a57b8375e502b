package starter

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
)

// TestAssignedIsWhatNobodyHasTaken: to its group such a job runs, only the server
// knows better.
func TestAssignedIsWhatNobodyHasTaken(t *testing.T) {
	t.Parallel()
	views := []contract.JobView{
		{JobID: "job-00001", State: stateRunning},
		{JobID: "job-00002", State: stateRunning},
		{JobID: "job-00003", State: stateRunning},
		{JobID: "job-00004", State: stateCanceled},
		{JobID: "job-00005", State: statePending},
	}
	active := []ActiveJob{{JobID: "job-00002", Started: true}, {JobID: "job-00001"}, {JobID: "job-00004"}}
	var states []string
	for _, job := range mergeActive(RunRef{}, views, active) {
		states = append(states, job.State)
	}
	assert.Equal(t, []string{stateAssigned, stateRunning, stateRunning, stateCanceled, statePending}, states, "the third is a DAG, which has no activity")
}

func TestOnlyOneOfAssignedAndRunningIsToldApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		states []string
		apart  bool
	}{
		{nil, false},
		{[]string{stateAssigned}, true},
		{[]string{stateCompleted, stateRunning}, true},
		{[]string{stateAssigned, stateRunning}, false},
		{[]string{statePending}, false},
	} {
		assert.Equal(t, c.apart, JobFilter{States: c.states}.tellsAssigned(), c.states)
	}
	for _, state := range JobStates() {
		ended := map[string]bool{stateCompleted: true, stateFailed: true, stateCanceled: true, stateStale: true, stateExpired: true, stateNotStarted: true}
		assert.Equal(t, !ended[state], cancelable(state), state)
	}
}
