package group_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	sdktest "go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/envtest"
	"github.com/roundsman/roundsman/workflows"
)

func (b *bench) groupStatus() contract.GroupStatus {
	b.t.Helper()
	value, err := b.QueryWorkflow(contract.QueryStatus)
	require.NoError(b.t, err)
	var status contract.GroupStatus
	require.NoError(b.t, value.Get(&status))
	return status
}

// A group that waits for its lane reads no message. Then the last one counts, whatever its kind.
func TestTheLastOfPausesAndResumesCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.SetWorkerOptions(sdkworker.Options{
		Interceptors: []interceptor.WorkerInterceptor{workflows.Steering()}, DeadlockDetectionTimeout: envtest.Patience,
	})
	b.found, b.lane = proposals(2), "night"
	open := false
	b.answer = func(in contract.AdmissionRequest) *contract.AdmissionAnswer {
		if open {
			return grantAll(in)
		}
		return nil // The group repeats its request every minute.
	}
	at := func(minute int, do func()) {
		b.RegisterDelayedCallback(do, time.Duration(minute)*time.Minute+time.Second)
	}
	say := func(name string, in any) func() { return func() { b.SignalWorkflow(name, in) } }
	at(1, say(contract.SignalPause, contract.PauseInput{Note: "one"}))
	at(2, func() { assert.True(t, b.groupStatus().Paused, "it is told while the group waits") })
	at(3, say(contract.SignalResume, nil))
	at(4, func() { assert.False(t, b.groupStatus().Paused) })
	at(5, say(contract.SignalPause, contract.PauseInput{Note: "two"}))
	at(6, func() { open = true })
	at(20, func() {
		status := b.groupStatus()
		assert.Equal(t, "detecting", status.Phase, "a paused group does not detect")
		assert.True(t, status.Paused)
		assert.Equal(t, "two", status.PauseNote)
		assert.Empty(t, status.Detector)
		b.SignalWorkflow(contract.SignalPause, contract.PauseInput{Note: "three"})
		b.SignalWorkflow(contract.SignalResume, nil)
	})
	result := b.run(jobtype.Policy{})
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Positive(t, b.watched.Load(), "who detects is chosen from the newest view")
}

// cancelItem requests the end of a job. The refusal follows.
func (b *bench) cancelItem(in contract.CancelItemInput) *error {
	var refused error
	b.UpdateWorkflow(contract.UpdateCancelItem, in.Item+in.Key, &sdktest.TestUpdateCallback{
		OnAccept: func() {}, OnReject: func(err error) { refused = err }, OnComplete: func(any, error) {},
	}, in)
	return &refused
}
