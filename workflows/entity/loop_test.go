package entity_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/envtest"
	"github.com/roundsman/roundsman/workflows/entity"
)

const counter = "counter"

// count is a small entity: it counts signals and continues as new with the count.
func count(ctx workflow.Context, n int) error {
	l := entity.New(ctx, entity.Options{Name: counter})
	signals := workflow.GetSignalChannel(l.Context(), "add")
	for turns := 0; ; turns++ {
		if l.Full(entity.DefaultLimits(), true) {
			if err := l.Finish(); err != nil {
				return err
			}
			return workflow.NewContinueAsNewError(l.Context(), counter, n)
		}
		l.Flush()
		if err := l.Wait(l.Now().Add(time.Hour), func() bool { return signals.Len() > 0 }); err != nil {
			return err
		}
		for signals.ReceiveAsync(nil) {
			n++
			l.Received(1)
		}
		if turns > 1000 {
			return assert.AnError
		}
	}
}

type model struct {
	*sdktest.TestWorkflowEnvironment

	records []contract.RecordAuditInput
	timers  int
}

func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{TestWorkflowEnvironment: envtest.New()}
	m.RegisterWorkflowWithOptions(count, workflow.RegisterOptions{Name: counter})
	m.RegisterActivityWithOptions(func(_ context.Context, in contract.RecordAuditInput) error {
		m.records = append(m.records, in)
		return nil
	}, activity.RegisterOptions{Name: contract.RecordAuditActivity})
	m.SetOnTimerScheduledListener(func(string, time.Duration) { m.timers++ })
	m.SetOnTimerCanceledListener(func(string) { m.timers += 1000 })
	return m
}

func (m *model) add(at time.Duration) {
	m.RegisterDelayedCallback(func() { m.SignalWorkflow("add", nil) }, at)
}

func (m *model) end(t *testing.T) (n int) {
	t.Helper()
	m.ExecuteWorkflow(counter, 0)
	require.True(t, m.IsWorkflowCompleted())
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, m.GetWorkflowError(), &next)
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &n))
	return n
}

// TestCancelIsRecordedAndIgnored: a cancellation ends nothing. It is in the audit
// log, messages count as before, and the next run can notice another one.
func TestCancelIsRecordedAndIgnored(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.add(time.Second)
	m.RegisterDelayedCallback(m.CancelWorkflow, 1500*time.Millisecond)
	m.add(1900 * time.Millisecond)
	assert.Equal(t, 2, m.end(t), "what came after the cancellation counts")
	require.Len(t, m.records, 1)
	require.Len(t, m.records[0].Entries, 1)
	entry := m.records[0].Entries[0]
	assert.Equal(t, []string{"counter.cancel", "CANCEL_IGNORED", counter, contract.AuditOperator}, []string{entry.Action, entry.Code, entry.Object, entry.Kind})
	assert.True(t, m.records[0].Origins[0].Cancel, "who it was is read from the history")
}

// TestTheEndOfTheRunBeforeIsRecorded: a run does not continue as new before it has recorded how the run before it
// ended, and the search for that has no limit of time: a control plane may be away for days.
func TestTheEndOfTheRunBeforeIsRecorded(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	failures := 0
	m.RegisterActivityWithOptions(func(ctx context.Context, _ contract.EntityEndInput) (contract.EntityEndResult, error) {
		assert.GreaterOrEqual(t, activity.GetInfo(ctx).ScheduleToCloseTimeout, 10*time.Minute, "the environment's own limit")
		if failures++; failures < 25 {
			return contract.EntityEndResult{}, assert.AnError
		}
		return contract.EntityEndResult{Entry: &contract.AuditEntry{Action: "counter.terminate"}, Passed: []contract.AuditEntry{{Action: "before that"}}}, nil
	}, activity.RegisterOptions{Name: contract.EntityEndActivity})
	m.RegisterDelayedCallback(m.CancelWorkflow, time.Second)
	m.end(t)
	var actions []string
	for _, record := range m.records {
		for _, entry := range record.Entries {
			actions = append(actions, entry.Action)
		}
	}
	assert.ElementsMatch(t, []string{"counter.cancel", "counter.terminate", "before that"}, actions)
}

// TestWaitingWritesNothing: a hundred messages with the same deadline cost one
// timer, and none is canceled.
func TestWaitingWritesNothing(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	for i := range 100 {
		m.add(time.Duration(i+1) * time.Second)
	}
	m.RegisterDelayedCallback(func() { m.SetCurrentHistoryLength(40_000) }, 50*time.Minute)
	m.add(51 * time.Minute)
	assert.Equal(t, 101, m.end(t))
	assert.Equal(t, 1, m.timers)
}

// TestRunEndsInALull: a suggestion waits for a moment without messages.
func TestRunEndsInALull(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.RegisterDelayedCallback(func() { m.SetContinueAsNewSuggested(true) }, time.Millisecond)
	for i := range 20 {
		m.add(time.Duration(i+1) * 500 * time.Millisecond)
	}
	assert.Equal(t, 20, m.end(t))
}
