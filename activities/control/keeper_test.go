package control_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
)

// TestKeeperStartsWhatWasEnded: within seconds, with its state, and only once.
func TestKeeperStartsWhatWasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		running := run{status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING}
		f := &temporal{durable: []byte("sizes of "), runs: map[string]run{
			contract.AdmissionWorkflowID: {status: enums.WORKFLOW_EXECUTION_STATUS_TERMINATED},
			contract.FleetWorkflowID:     {status: enums.WORKFLOW_EXECUTION_STATUS_PAUSED},
			contract.AuditWorkflowID:     running,
		}}
		ctx, stop := context.WithCancel(t.Context())
		go control.New(f, contract.FleetConfig{}).Keep(ctx, slog.New(slog.DiscardHandler))
		after := func(pause time.Duration, look func()) {
			time.Sleep(pause)
			synctest.Wait()
			f.mu.Lock()
			defer f.mu.Unlock()
			look()
		}
		after(1900*time.Millisecond, func() { assert.Empty(t, f.started) })
		after(200*time.Millisecond, func() {
			assert.Equal(t, []any{contract.AdmissionInput{Inherited: contract.Inherited{Data: []byte("sizes of run-admission"), From: "run-admission", Passed: []string{"run-admission"}}}}, f.started)
			f.runs[contract.AdmissionWorkflowID] = running
			f.runs[contract.AuditWorkflowID] = run{status: enums.WORKFLOW_EXECUTION_STATUS_TERMINATED}
		})
		after(2*time.Second, func() {
			assert.Len(t, f.started, 3, "the audit log has two arguments")
			assert.Equal(t, []string{contract.SignalRecord}, f.signals)
			f.runs[contract.AuditWorkflowID] = running
		})
		after(time.Minute, func() { assert.Len(t, f.started, 3) })
		stop()
		synctest.Wait()
	})
}

// TestKeeperLeavesAnAuditLogAloneThatNobodyNeeded: the log begins with its first entry.
func TestKeeperLeavesAnAuditLogAloneThatNobodyNeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &temporal{}
		ctx, stop := context.WithCancel(t.Context())
		go control.New(f, contract.FleetConfig{}).Keep(ctx, slog.New(slog.DiscardHandler))
		time.Sleep(2100 * time.Millisecond)
		stop()
		synctest.Wait()
		assert.Len(t, f.started, 2, "admission and the registry")
		assert.Empty(t, f.signals)
	})
}

// TestANotifierThatWasEndedIsStartedWithItsQueue: a running one is left alone.
func TestANotifierThatWasEndedIsStartedWithItsQueue(t *testing.T) {
	t.Parallel()
	f := &temporal{durable: []byte("queue of "), runs: map[string]run{
		contract.NotificationsWorkflowID: {status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING},
	}}
	c := control.New(f, contract.FleetConfig{}, control.WithNotifications(true))
	require.NoError(t, c.EnsureNotifications(t.Context()))
	assert.Empty(t, f.started)
	f.runs[contract.NotificationsWorkflowID] = run{status: enums.WORKFLOW_EXECUTION_STATUS_TERMINATED}
	require.NoError(t, c.EnsureNotifications(t.Context()))
	assert.Equal(t, []any{contract.NotificationsInput{Inherited: contract.Inherited{Data: []byte("queue of run-notifications"), From: "run-notifications", Passed: []string{"run-notifications"}}}}, f.started)
}
