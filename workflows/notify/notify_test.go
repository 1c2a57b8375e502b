package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/roundsman/roundsman/testsuite/envtest"
	"github.com/roundsman/roundsman/workflows"
)

type model struct {
	*sdktest.TestWorkflowEnvironment

	t *testing.T
	// mu guards watched and tried: activities run in goroutines of their own, and one may start
	// while the workflow ends.
	mu sync.Mutex
	// watched holds the inputs of the watcher; results holds its return values. After the last
	// result the watcher fails for good or, without any result, runs until canceled.
	watched []contract.WatchEventsInput
	results []contract.WatchEventsResult
	tried   []string
	fails   func(contract.Delivery) contract.DeliverResult
}

func newModel(t *testing.T) *model {
	t.Helper()
	m := &model{TestWorkflowEnvironment: envtest.New(), t: t}
	workflows.Register(m.TestWorkflowEnvironment)
	m.RegisterActivityWithOptions(func(ctx context.Context, in contract.WatchEventsInput) (contract.WatchEventsResult, error) {
		m.mu.Lock()
		m.watched = append(m.watched, in)
		n := len(m.watched)
		m.mu.Unlock()
		if n <= len(m.results) {
			return m.results[n-1], nil
		} else if len(m.results) > 0 {
			return contract.WatchEventsResult{}, temporal.NewNonRetryableApplicationError("it cannot watch", "", nil)
		}
		<-ctx.Done()
		return contract.WatchEventsResult{State: json.RawMessage(`"last"`), Receivers: in.Receivers}, nil
	}, activity.RegisterOptions{Name: contract.WatchEventsActivity})
	m.RegisterActivityWithOptions(func(_ context.Context, in contract.Delivery) (contract.DeliverResult, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.tried = append(m.tried, fmt.Sprintf("%s<%s %d", in.Receiver, in.ID, in.Attempts))
		return m.fails(in), nil
	}, activity.RegisterOptions{Name: contract.DeliverActivity})
	m.RegisterActivityWithOptions(func(context.Context, contract.EntityEndInput) (contract.EntityEndResult, error) {
		return contract.EntityEndResult{}, nil
	}, activity.RegisterOptions{Name: contract.EntityEndActivity})
	return m
}

// end makes the notifier continue as new and returns its next input.
func (m *model) end() contract.NotificationsInput {
	m.t.Helper()
	require.True(m.t, m.IsWorkflowCompleted())
	var next *workflow.ContinueAsNewError
	require.ErrorAs(m.t, m.GetWorkflowError(), &next)
	var in contract.NotificationsInput
	require.NoError(m.t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	return in
}

func notice(id string, to ...string) contract.Notice {
	return contract.Notice{To: to, Notification: contract.Notification{ID: id, Event: contract.NotifyFailed}}
}

// TestNotifierDeliversAndContinues: a dead receiver is retried and delays no other, and waiting
// notifications are passed to the next run.
func TestNotifierDeliversAndContinues(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	known := []contract.ReceiverInfo{{Name: "dead", Kind: "webhook"}, {Name: "ops", Kind: "smtp"}}
	m.results = []contract.WatchEventsResult{
		{State: json.RawMessage(`1`), Receivers: known, Notices: []contract.Notice{notice("a", "dead", "ops")}},
		{State: json.RawMessage(`2`), Receivers: known, Notices: []contract.Notice{notice("a", "dead", "ops"), notice("b", "ops")}},
	}
	m.fails = func(d contract.Delivery) contract.DeliverResult {
		if d.Receiver == "dead" {
			return contract.DeliverResult{Error: "HTTP 503"}
		}
		return contract.DeliverResult{}
	}
	m.RegisterDelayedCallback(func() {
		m.SetContinueAsNewSuggested(true)
		m.UpdateWorkflow(contract.UpdateTestNotification, "u", &sdktest.TestUpdateCallback{
			OnReject: func(error) {}, OnAccept: func() {}, OnComplete: func(any, error) {},
		}, contract.TestNotificationInput{Receiver: "ops"})
	}, 18*time.Second)
	m.ExecuteWorkflow(contract.NotificationsWorkflow, contract.NotificationsInput{})
	in := m.end()
	m.mu.Lock()
	defer m.mu.Unlock()
	assert.Subset(t, m.tried, []string{"dead<a 0", "dead<a 1", "dead<a 2", "ops<a 0", "ops<b 0"})
	assert.JSONEq(t, `1`, string(m.watched[1].State), "the watcher resumes where it was")
	assert.True(t, in.Continued)
	assert.JSONEq(t, `2`, string(in.Watch.State))
	require.Len(t, in.Queue.Receivers, 2)
	assert.Len(t, in.Queue.Receivers[0].Waiting, 1, "the dead one's")
	assert.GreaterOrEqual(t, in.Queue.Receivers[1].Sent, 2)
}

// TestNotifierTakesOverFromOneThatWasEnded: waiting notifications are delivered, and the watcher
// continues at its former position. Unreadable state is reported.
func TestNotifierTakesOverFromOneThatWasEnded(t *testing.T) {
	t.Parallel()
	former := newModel(t)
	known := []contract.ReceiverInfo{{Name: "dead", Kind: "webhook"}}
	former.results = []contract.WatchEventsResult{{State: json.RawMessage(`1`), Receivers: known, Notices: []contract.Notice{notice("a", "dead")}}}
	former.fails = func(contract.Delivery) contract.DeliverResult { return contract.DeliverResult{Error: "HTTP 503"} }
	former.RegisterDelayedCallback(func() { former.SetContinueAsNewSuggested(true) }, 7*time.Second)
	former.ExecuteWorkflow(contract.NotificationsWorkflow, contract.NotificationsInput{})
	former.end()
	answer, err := former.QueryWorkflow(contract.QueryDurable)
	require.NoError(t, err)
	var left contract.DurableResult
	require.NoError(t, answer.Get(&left))

	for _, c := range []struct {
		data  []byte
		tried []string
		fault string
	}{
		{left.Data, []string{"dead<a 2"}, ""},
		{[]byte("{"), nil, "cannot be read"},
	} {
		next := newModel(t)
		next.results = []contract.WatchEventsResult{{State: json.RawMessage(`2`), Receivers: known}}
		next.fails = func(contract.Delivery) contract.DeliverResult { return contract.DeliverResult{} }
		next.RegisterDelayedCallback(func() { next.SetContinueAsNewSuggested(true); next.CancelWorkflow() }, time.Minute)
		next.ExecuteWorkflow(contract.NotificationsWorkflow, contract.NotificationsInput{Inherited: contract.Inherited{Data: c.data, From: "former"}})
		in := next.end()
		assert.Equal(t, c.tried, next.tried)
		assert.Empty(t, in.Inherited.Data, "it does not travel for ever")
		answer, err := next.QueryWorkflow(contract.QueryNotifications)
		require.NoError(t, err)
		var view contract.NotificationsView
		require.NoError(t, answer.Get(&view))
		assert.Equal(t, "former", view.Inherited.From)
		if c.fault == "" {
			assert.Equal(t, `1`, string(next.watched[0].State))
			assert.Empty(t, view.Inherited.Fault)
		}
		assert.Contains(t, view.Inherited.Fault, c.fault)
	}
}

func TestUnknownReceiverIsNotTested(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	var refusal error
	m.RegisterDelayedCallback(func() {
		m.UpdateWorkflow(contract.UpdateTestNotification, "u", &sdktest.TestUpdateCallback{
			OnReject: func(error) {}, OnAccept: func() {}, OnComplete: func(_ any, err error) { refusal = err },
		}, contract.TestNotificationInput{Receiver: "nobody"})
	}, 100*time.Millisecond)
	m.RegisterDelayedCallback(func() { m.SetCurrentHistoryLength(20_000) }, 200*time.Millisecond)
	m.RegisterDelayedCallback(m.CancelWorkflow, 300*time.Millisecond)
	m.ExecuteWorkflow(contract.NotificationsWorkflow, contract.NotificationsInput{})
	m.end()
	require.ErrorContains(t, refusal, "there is no receiver nobody")
	m.mu.Lock()
	defer m.mu.Unlock()
	assert.Empty(t, m.tried)
}

// TestAnEndNotRecordedYetTravels: a notifier that must continue as new before it has learned how the one before it
// ended passes the task on.
func TestAnEndNotRecordedYetTravels(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.OnActivity(contract.EntityEndActivity, mock.Anything, mock.Anything).Return(contract.EntityEndResult{}, nil).After(time.Hour)
	m.SetCurrentHistoryLength(10_000)
	m.ExecuteWorkflow(contract.NotificationsWorkflow, contract.NotificationsInput{Inherited: contract.Inherited{From: "before", Passed: []string{"before"}}})
	assert.Equal(t, []string{"before"}, m.end().Inherited.Passed)
}
