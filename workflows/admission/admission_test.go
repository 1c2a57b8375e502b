package admission_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/envtest"
	"github.com/roundsman/roundsman/workflows"
)

type model struct {
	*sdktest.TestWorkflowEnvironment
	t  *testing.T
	mu sync.Mutex
	// running lists the groups that the recovery finds; told lists the sent grants, refusals and losses.
	running []string
	told    []string
	fences  []int64
	gone    map[string]bool
	audit   []contract.AuditEntry
	asked   []contract.AskHoldersInput
	// left has the durable states of the runs before resets.
	left map[string][]byte
	// newest is the newest closed run. unlisted counts the lists of running groups that fail.
	newest   string
	unlisted int
	// ended is the end of the runs before, passed lists the runs whose end was queried.
	ended  contract.EntityEndResult
	passed []string
}

func newModel(t *testing.T) *model {
	t.Helper()
	b := &model{TestWorkflowEnvironment: envtest.New(), t: t, gone: map[string]bool{}}
	workflows.Register(b.TestWorkflowEnvironment)
	b.RegisterActivityWithOptions(func(_ context.Context, in contract.RecordAuditInput) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.audit = append(b.audit, in.Entries...)
		return nil
	}, activity.RegisterOptions{Name: contract.RecordAuditActivity})
	b.RegisterActivityWithOptions(func(_ context.Context, in contract.EntityEndInput) (contract.EntityEndResult, error) {
		b.passed = append(b.passed, in.Passed...)
		return b.ended, nil
	}, activity.RegisterOptions{Name: contract.EntityEndActivity})
	b.RegisterActivityWithOptions(func(_ context.Context, in contract.AskHoldersInput) (contract.AskHoldersResult, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.asked = append(b.asked, in)
		if !in.LateSince.IsZero() {
			return contract.AskHoldersResult{}, nil
		}
		if b.unlisted > 0 {
			b.unlisted--
			return contract.AskHoldersResult{}, temporal.NewNonRetryableApplicationError("too large", "BlobSize", nil)
		}
		from := in.Previous
		if from != "" && b.newest != "" && !slices.Contains(in.Known, b.newest) {
			from = b.newest
		}
		return contract.AskHoldersResult{WorkflowIDs: b.running, Inherited: contract.Inherited{From: from, Data: b.left[from]}}, nil
	}, activity.RegisterOptions{Name: contract.AskHoldersActivity})
	b.RegisterActivityWithOptions(func(context.Context) (contract.WatchHoldersResult, error) {
		return contract.WatchHoldersResult{}, nil
	}, activity.RegisterOptions{Name: contract.WatchHoldersActivity})
	b.OnActivity(contract.WatchHoldersActivity, mock.Anything).Return(contract.WatchHoldersResult{}, nil).After(24 * time.Hour).Maybe()
	b.OnSignalExternalWorkflow(mock.Anything, mock.Anything, "", contract.SignalAdmissionAnswer, mock.Anything).Return(
		func(_, id, _, _ string, arg any) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.gone[id] {
				return &temporal.UnknownExternalWorkflowExecutionError{}
			}
			answer, ok := arg.(contract.AdmissionAnswer)
			if !ok {
				return fmt.Errorf("an answer was expected, not %T", arg)
			}
			b.note(answer)
			return nil
		}).Maybe()
	return b
}

func (b *model) note(answer contract.AdmissionAnswer) {
	for _, grant := range answer.Granted {
		b.told = append(b.told, fmt.Sprintf("%s granted %s", answer.Holder.WorkflowID, grant.ID))
		b.fences = append(b.fences, grant.Fence)
	}
	for _, refusal := range answer.Refused {
		b.told = append(b.told, fmt.Sprintf("%s refused %s: %s", answer.Holder.WorkflowID, refusal.ID, refusal.Code))
	}
	for _, lost := range answer.Lost {
		b.told = append(b.told, fmt.Sprintf("%s lost %s", answer.Holder.WorkflowID, lost.ID))
	}
}

func (b *model) at(after time.Duration, in contract.AdmissionRequest) {
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalAdmissionRequest, in) }, after)
}

func from(id string) contract.AdmissionRequest {
	return contract.AdmissionRequest{
		Holder: contract.AdmissionHolder{WorkflowID: id, FirstRunID: "first"}, JobType: id, Grace: jobtype.Duration(30 * time.Second),
	}
}

func wants(id string, items ...contract.AdmissionItem) contract.AdmissionRequest {
	in := from(id)
	in.Items = items
	return in
}

func laneItem() contract.AdmissionItem { return contract.AdmissionItem{ID: "lane", Lane: "default"} }

// play runs admission for one hour of workflow time, from the given state, or until it continues
// as new. The cancellation at the end makes it continue as new.
func (b *model) play(in contract.AdmissionInput, state ...byte) (next contract.AdmissionInput, nextState []byte) {
	b.t.Helper()
	b.RegisterDelayedCallback(b.CancelWorkflow, time.Hour)
	b.ExecuteWorkflow(contract.AdmissionWorkflow, in, state)
	require.True(b.t, b.IsWorkflowCompleted())
	var continued *workflow.ContinueAsNewError
	require.ErrorAs(b.t, b.GetWorkflowError(), &continued)
	require.NoError(b.t, converter.GetDefaultDataConverter().FromPayloads(continued.Input, &next, &nextState))
	return next, nextState
}

func TestAdmissionSpeaksWithHolders(t *testing.T) {
	t.Parallel()
	b := newModel(t)
	b.gone["dead"] = true
	b.at(time.Second, wants("a", laneItem()))
	b.at(2*time.Second, wants("dead", laneItem()))
	b.at(3*time.Second, wants("z", laneItem()))
	b.at(4*time.Second, wants("a", laneItem()))
	release := from("a")
	release.ReleaseAll = true
	b.at(5*time.Second, release)
	b.at(6*time.Second, contract.AdmissionRequest{})
	b.at(7*time.Second, wants("y", contract.AdmissionItem{ID: "k", Keys: []byte("odd")}))
	b.at(8*time.Second, wants("z", contract.AdmissionItem{ID: "db", Pools: []contract.AdmissionAmount{{Pool: "db", N: 2}}}))
	b.play(contract.AdmissionInput{})
	assert.Equal(t, []string{"a granted lane", "a granted lane", "z granted lane", "y refused k: INVALID", "z refused db: TOO_LARGE"}, b.told,
		"a holder that does not exist does not keep the lane, a request without a holder is ignored")
	assert.Equal(t, b.fences[0], b.fences[1], "a repeat gets the same grant")
	assert.Greater(t, b.fences[2], b.fences[1])
}

func TestAdmissionRecoversBeforeItGrants(t *testing.T) {
	t.Parallel()
	b := newModel(t)
	b.running = []string{"holds", "waits"}
	asserted := from("holds")
	asserted.Reassert = true
	asserted.Held = []contract.AdmissionHeld{{AdmissionItem: laneItem(), Fence: 1 << 62}}
	b.at(time.Second, wants("waits", laneItem()))
	b.at(10*time.Second, asserted)
	again := wants("waits", laneItem())
	again.Reassert = true
	b.at(11*time.Second, again)
	b.at(12*time.Second, wants("k", contract.AdmissionItem{ID: "k", Keys: make([]byte, 8)}))
	release := from("holds")
	release.ReleaseAll = true
	b.RegisterDelayedCallback(func() { b.told = append(b.told, "released") }, 19*time.Second)
	b.at(20*time.Second, release)
	b.play(contract.AdmissionInput{})
	assert.Equal(t, []string{"k granted k", "released", "waits granted lane"}, b.told)
	assert.Greater(t, b.fences[0], int64(1<<62), "fences continue above what was asserted")
	require.Len(t, b.asked, 2)
	assert.Zero(t, b.asked[0].LateSince)
	assert.NotZero(t, b.asked[1].LateSince, "those that visibility shows late are asked, too")
}

func TestAdmissionContinuesAsNewWithoutLosingAWaiter(t *testing.T) {
	t.Parallel()
	b := newModel(t)
	b.at(time.Second, wants("a", laneItem()))
	b.at(2*time.Second, wants("b", laneItem(), contract.AdmissionItem{ID: "k", Keys: []byte("12345678")}))
	b.RegisterDelayedCallback(func() { b.SetCurrentHistoryLength(40_000) }, 3*time.Second)
	b.at(4*time.Second, wants("c", laneItem(), contract.AdmissionItem{ID: "free", Lane: "free"}))
	in, state := b.play(contract.AdmissionInput{})
	assert.NotContains(t, b.told, "c granted free", "what is sent by a run that ends with it may never arrive")

	second := newModel(t)
	release := from("a")
	release.ReleaseAll = true
	second.at(time.Second, release)
	second.at(2*time.Second, wants("b", contract.AdmissionItem{ID: "k"}))
	release = from("b")
	release.ReleaseAll = true
	second.at(3*time.Second, release)
	second.play(in, state...)
	assert.Equal(t, []string{"c granted free", "b granted lane", "b granted k", "c granted lane"}, second.told)
	assert.Equal(t, b.fences[1], second.fences[2])
}

func TestPoolIsResized(t *testing.T) {
	t.Parallel()
	b := newModel(t)
	item := contract.AdmissionItem{ID: "db", Pools: []contract.AdmissionAmount{{Pool: "db", N: 3, Size: 3}}}
	b.at(time.Second, wants("a", item))
	b.at(2*time.Second, wants("b", item))
	answered := false
	b.RegisterDelayedCallback(func() {
		b.UpdateWorkflow(contract.UpdateResizePool, "1", &sdktest.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { assert.NoError(t, err) },
			OnComplete: func(result any, err error) {
				answered = true
				assert.NoError(t, err)
				pool, ok := result.(contract.AdmissionPool)
				assert.True(t, ok)
				assert.Equal(t, 6, pool.Used)
			},
		}, contract.ResizePoolInput{Pool: "db", Size: 6, By: "ann"})
	}, 3*time.Second)
	b.play(contract.AdmissionInput{})
	assert.True(t, answered)
	assert.Equal(t, []string{"a granted db", "b granted db"}, b.told)
}

// A suggestion to continue as new waits for a pause: a request that arrives while a run ends
// delays all others.
func TestAdmissionContinuesAsNewWhenItIsQuiet(t *testing.T) {
	t.Parallel()
	b := newModel(t)
	b.RegisterDelayedCallback(func() { b.SetContinueAsNewSuggested(true) }, time.Second)
	b.at(2*time.Second, wants("a", laneItem()))
	in, _ := b.play(contract.AdmissionInput{})
	assert.Equal(t, []string{"a granted lane"}, b.told, "the answer is delivered before")
	assert.Empty(t, in.Undelivered)

	large := newModel(t)
	large.RegisterDelayedCallback(func() { large.SetCurrentHistorySize(16 << 20) }, time.Second)
	large.at(2*time.Second, wants("a", laneItem()))
	large.play(contract.AdmissionInput{})
	assert.Empty(t, large.told, "it cannot wait any longer")
}

// Answers beyond the number that the server accepts at once are sent in batches. Here they go to
// requesters that waited for the recovery.
func TestAdmissionTellsMoreThanAreTakenAtOnce(t *testing.T) {
	t.Parallel()
	const rounds, each = 2, 300
	b := newModel(t)
	b.running = []string{"silent"}
	for round := range rounds {
		b.RegisterDelayedCallback(func() {
			for i := range each {
				item := contract.AdmissionItem{ID: "k", Keys: fmt.Appendf(nil, "%08d", round*each+i)}
				b.SignalWorkflow(contract.SignalAdmissionRequest, wants(fmt.Sprintf("group/%d-%d", round, i), item))
			}
		}, time.Duration(round+1)*time.Second)
	}
	b.play(contract.AdmissionInput{})
	assert.Len(t, b.told, rounds*each)
}
