package audit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/audit"
	"github.com/roundsman/roundsman/testsuite/envtest"
	"github.com/roundsman/roundsman/workflows"
)

// auditBench is the log in the time-skipping environment.
type auditBench struct {
	*sdktest.TestWorkflowEnvironment
	t *testing.T
	// adopted is the result of each adoption, inputs are those of all.
	adopted contract.AdoptAuditResult
	fault   error
	inputs  []contract.AdoptAuditInput
	// origins are those of the entries that the log records about itself.
	origins []contract.AuditOrigin
}

func newAuditBench(t *testing.T) *auditBench {
	t.Helper()
	b := &auditBench{TestWorkflowEnvironment: envtest.New(), t: t}
	workflows.Register(b.TestWorkflowEnvironment)
	b.RegisterActivityWithOptions(func(_ context.Context, in contract.AdoptAuditInput) (contract.AdoptAuditResult, error) {
		b.inputs = append(b.inputs, in)
		return b.adopted, b.fault
	}, activity.RegisterOptions{Name: contract.AdoptAuditActivity})
	b.RegisterActivityWithOptions(func(_ context.Context, in contract.RecordAuditInput) error {
		b.origins = append(b.origins, in.Origins...)
		b.SignalWorkflow(contract.SignalRecord, contract.AuditRecord{Entries: in.Entries})
		return nil
	}, activity.RegisterOptions{Name: contract.RecordAuditActivity})
	return b
}

func (b *auditBench) at(after time.Duration, record contract.AuditRecord) {
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalRecord, record) }, after)
}

func did(id, action string) contract.AuditEntry {
	return contract.AuditEntry{ID: id, Kind: contract.AuditOperator, Actor: "ann", Action: action, Object: "group/x"}
}

// play runs the log for an hour of its time.
func (b *auditBench) play(in contract.AuditInput, log []byte) {
	b.t.Helper()
	b.RegisterDelayedCallback(func() {
		b.SetContinueAsNewSuggested(true)
		b.SignalWorkflow(contract.SignalRecord, contract.AuditRecord{})
	}, time.Hour)
	b.ExecuteWorkflow(contract.AuditWorkflow, in, log)
	require.True(b.t, b.IsWorkflowCompleted())
	var next *workflow.ContinueAsNewError
	require.ErrorAs(b.t, b.GetWorkflowError(), &next)
}

func (b *auditBench) page(filter contract.AuditFilter) contract.AuditPage {
	b.t.Helper()
	answer, err := b.QueryWorkflow(contract.QueryAudit, filter)
	require.NoError(b.t, err)
	var page contract.AuditPage
	require.NoError(b.t, answer.Get(&page))
	return page
}

func actions(page contract.AuditPage) []string {
	var list []string
	for _, entry := range page.Entries {
		list = append(list, entry.Action)
	}
	return list
}

func TestAuditRecordsOnceAndAnswers(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	b.at(time.Second, contract.AuditRecord{Entries: []contract.AuditEntry{did("1", "job.cancel"), {Kind: contract.AuditScheduler, Action: "refused", Code: "SURPLUS", JobType: "scrub"}}})
	b.at(2*time.Second, contract.AuditRecord{Entries: []contract.AuditEntry{did("1", "job.cancel"), did("2", "pool.resize")}})
	b.at(3*time.Second, contract.AuditRecord{Entries: []contract.AuditEntry{did("3", "worker.drain")}, Keep: 3})
	b.play(contract.AuditInput{Previous: "before"}, nil)
	page := b.page(contract.AuditFilter{})
	assert.Equal(t, []string{"refused", "pool.resize", "worker.drain"}, actions(page))
	assert.Equal(t, 3, page.Limit)
	assert.Equal(t, int64(1), page.Dropped)
	assert.Equal(t, []string{"pool.resize", "worker.drain"}, actions(b.page(contract.AuditFilter{Kind: contract.AuditOperator})))
	assert.Equal(t, []string{"refused"}, actions(b.page(contract.AuditFilter{JobType: "scrub"})))
	assert.Equal(t, []string{"pool.resize"}, actions(b.page(contract.AuditFilter{Actor: "ann", Limit: 1, Before: 4})))
	require.Len(t, b.inputs, 1)
	assert.Equal(t, "before", b.inputs[0].Previous)
}

func TestAuditTakesOverTheLogBefore(t *testing.T) {
	t.Parallel()
	before := audit.New(0)
	before.Record(time.Now(), did("1", "job.cancel"))
	log, err := before.Encode(audit.MaxEncoded)
	require.NoError(t, err)
	b := newAuditBench(t)
	ended := did("ended", "audit.terminate")
	b.adopted = contract.AdoptAuditResult{Log: log, Entry: &ended}
	b.at(0, contract.AuditRecord{Entries: []contract.AuditEntry{did("1", "job.cancel"), did("2", "pool.resize")}})
	b.play(contract.AuditInput{}, nil)
	assert.Equal(t, []string{"job.cancel", "audit.terminate", "pool.resize"}, actions(b.page(contract.AuditFilter{})))
}

func TestAuditContinuesWithoutTheLogBefore(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	b.fault = temporal.NewNonRetryableApplicationError("no such run", "gone", errors.New("gone"))
	b.at(time.Second, contract.AuditRecord{Entries: []contract.AuditEntry{did("1", "pool.resize")}})
	b.play(contract.AuditInput{}, nil)
	page := b.page(contract.AuditFilter{})
	require.Equal(t, []string{"noticed", "pool.resize"}, actions(page))
	assert.Equal(t, "LOG_LOST", page.Entries[0].Code)
	assert.Contains(t, page.Entries[0].Detail, "no such run")
}

func TestAuditContinuesAsNew(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	for i := range 50 {
		b.at(time.Second, contract.AuditRecord{Entries: []contract.AuditEntry{did(fmt.Sprint(i), fmt.Sprintf("action-%d", i))}, Keep: 40})
	}
	b.RegisterDelayedCallback(func() { b.SetContinueAsNewSuggested(true) }, 2*time.Second)
	b.at(3*time.Second, contract.AuditRecord{Entries: []contract.AuditEntry{did("last", "last")}})
	b.play(contract.AuditInput{Keep: 100}, nil)
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, b.GetWorkflowError(), &next)
	var in contract.AuditInput
	var log []byte
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in, &log))

	second := newAuditBench(t)
	second.at(time.Second, contract.AuditRecord{Entries: []contract.AuditEntry{did("last", "last"), did("new", "new")}})
	second.play(in, log)
	assert.Empty(t, second.inputs, "there is nothing to take over")
	page := second.page(contract.AuditFilter{})
	assert.Equal(t, 40, page.Kept)
	assert.Equal(t, int64(12), page.Dropped)
	assert.Equal(t, []string{"last", "new"}, actions(page)[38:])
}

// A cancellation of the log ends nothing: it is an entry with its origin, and the
// entries that come after it are recorded.
func TestAuditSurvivesACancellation(t *testing.T) {
	t.Parallel()
	b := newAuditBench(t)
	b.at(time.Second, contract.AuditRecord{Entries: []contract.AuditEntry{did("1", "job.cancel")}})
	b.RegisterDelayedCallback(b.CancelWorkflow, 2*time.Second)
	b.at(2100*time.Millisecond, contract.AuditRecord{Entries: []contract.AuditEntry{did("2", "pool.resize")}})
	b.play(contract.AuditInput{}, nil)
	assert.ElementsMatch(t, []string{"job.cancel", "audit.cancel", "pool.resize"}, actions(b.page(contract.AuditFilter{})))
	require.Len(t, b.origins, 1)
	assert.True(t, b.origins[0].Cancel, "the sender is read from the history")
}
