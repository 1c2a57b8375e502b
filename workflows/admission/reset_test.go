package admission_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

// marked returns the durable state of a run in which an operator has marked a key as done.
func marked(t *testing.T, key string) []byte {
	t.Helper()
	b := newModel(t)
	b.operate(time.Second, contract.UpdateMarkDone, contract.MarkDoneInput{JobType: "scrub", DedupeKey: key}, func(_ contract.HoldResult, err error) { assert.NoError(t, err) })
	var left contract.DurableResult
	b.RegisterDelayedCallback(func() {
		answer, err := b.QueryWorkflow(contract.QueryDurable)
		require.NoError(t, err)
		require.NoError(t, answer.Get(&left))
	}, 2*time.Second)
	b.play(contract.AdmissionInput{})
	return left.Data
}

// reset returns the input of the next run of an admission that is reset and, in the same workflow task, continues as new.
func reset(t *testing.T, in contract.AdmissionInput, state ...byte) (next contract.AdmissionInput, nextState []byte) {
	t.Helper()
	b := newModel(t)
	run := "default-test-run-id"
	b.OnMutableSideEffect("run").Return(func(string) any { return run }).Maybe()
	b.RegisterDelayedCallback(func() {
		run = "after " + run
		b.SetCurrentHistoryLength(40_000)
		b.SignalWorkflow(contract.SignalAdmissionRequest, from("a"))
	}, time.Second)
	return b.play(in, state...)
}

// TestAResetOutlivesContinueAsNew: a run that ends before it has the state of the run before a reset passes the question on.
func TestAResetOutlivesContinueAsNew(t *testing.T) {
	t.Parallel()
	in, state := reset(t, contract.AdmissionInput{})
	b := newModel(t)
	b.left = map[string][]byte{"default-test-run-id": marked(t, "a")}
	var holds []string
	b.RegisterDelayedCallback(func() { holds = b.holds() }, time.Minute)
	next, _ := b.play(in, state...)
	assert.Equal(t, []string{"MARKED_DONE a"}, holds)
	assert.Empty(t, next.Previous, "it is inherited")
	require.Len(t, b.asked, 2)
	assert.NotZero(t, b.asked[1].LateSince, "those that visibility shows late are asked, too")
}

// TestTwoResetsAreInherited: a run that is reset before it has inherited leaves both questions, the newest first.
func TestTwoResetsAreInherited(t *testing.T) {
	t.Parallel()
	in, state := reset(t, contract.AdmissionInput{Previous: []string{"first"}})
	require.Equal(t, []string{"default-test-run-id"}, in.Previous, "it has inherited from the first")
	b := newModel(t)
	b.left = map[string][]byte{"second": marked(t, "b"), "first": marked(t, "a")}
	in.Previous = []string{"second", "first"}
	var holds []string
	b.RegisterDelayedCallback(func() { holds = b.holds() }, time.Minute)
	b.play(in, state...)
	assert.Equal(t, []string{"MARKED_DONE a", "MARKED_DONE b"}, holds)
	require.Len(t, b.asked, 3)
	assert.Equal(t, "second", b.asked[0].Previous)
	assert.Equal(t, "first", b.asked[1].Previous)
}

// TestARecoveryAsksAgainBeforeLateHolders: a restored recovery needs the list of holders, which the question about late
// ones does not return.
func TestARecoveryAsksAgainBeforeLateHolders(t *testing.T) {
	t.Parallel()
	in, state := reset(t, contract.AdmissionInput{})
	in.Previous, in.LateSince = nil, time.Now()
	b := newModel(t)
	b.play(in, state...)
	require.Len(t, b.asked, 2)
	assert.Zero(t, b.asked[0].LateSince)
	assert.NotZero(t, b.asked[1].LateSince)
}

// TestAResetBeforeAnEarlierReset: the history names the run before the first reset. The newest run is inherited first:
// existing records win over later ones.
func TestAResetBeforeAnEarlierReset(t *testing.T) {
	t.Parallel()
	in, state := reset(t, contract.AdmissionInput{})
	b := newModel(t)
	b.newest, b.left = "second", map[string][]byte{"default-test-run-id": marked(t, "a"), "second": marked(t, "b")}
	var holds []string
	b.RegisterDelayedCallback(func() { holds = b.holds() }, time.Minute)
	next, _ := b.play(in, state...)
	assert.Equal(t, []string{"MARKED_DONE a", "MARKED_DONE b"}, holds)
	assert.Empty(t, next.Previous, "both are inherited")
	require.Len(t, b.asked, 3)
	assert.Equal(t, []string{"default-test-run-id"}, b.asked[0].Known)
	assert.Equal(t, []string{"second", "default-test-run-id"}, b.asked[1].Known)
	assert.NotZero(t, b.asked[2].LateSince)
}

// TestHoldersThatCannotBeListed: admission grants nothing next to them. It tries again, and the view and the audit log
// have the reason.
func TestHoldersThatCannotBeListed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail  int
		at    time.Duration
		asked int
	}{"and then can": {2, 25 * time.Second, 4}, "at all": {1000, 125 * time.Second, 12}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newModel(t)
			b.unlisted = c.fail
			b.at(time.Second, wants("a", laneItem()))
			b.RegisterDelayedCallback(func() {
				answer, err := b.QueryWorkflow(contract.QueryAdmission, contract.AdmissionFilter{})
				require.NoError(t, err)
				var view contract.AdmissionView
				require.NoError(t, answer.Get(&view))
				assert.True(t, view.Recovering)
				assert.Equal(t, "too large", view.Unlisted)
				assert.Empty(t, b.told)
			}, 15*time.Second)
			b.RegisterDelayedCallback(func() { assert.Equal(t, []string{"a granted lane"}, b.told) }, c.at)
			b.play(contract.AdmissionInput{})
			assert.Len(t, b.asked, c.asked)
			require.NotEmpty(t, b.audit)
			assert.Equal(t, "HOLDERS_UNLISTED", b.audit[0].Code)
			assert.Contains(t, b.audit[0].Detail, "too large")
		})
	}
}
