package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/audit"
	"github.com/roundsman/roundsman/workflows/recorder"
)

const (
	// auditEvents is the length of the history at which the log continues as new,
	// if the server has not suggested it before.
	auditEvents = 10_000
	// adoptLimit is how long a new log tries to take over the one before it. What
	// is recorded meanwhile waits.
	adoptLimit = 2 * time.Minute
)

// Audit is the one audit log of a namespace. It lives for ever, as a chain of
// runs; log is what the run before left, and an argument of its own because
// bytes inside a JSON document would grow by a third.
//
// Whoever records first starts it. One that comes after a run that somebody
// ended takes that run's log over while the server still has it, and notes who
// ended it.
//
// It fails only on a bug.
func Audit(ctx workflow.Context, in contract.AuditInput, log []byte) error {
	a := &auditRun{ctx: ctx, log: audit.New(in.Keep), records: workflow.GetSignalChannel(ctx, contract.SignalRecord)}
	if err := a.listen(); err != nil {
		return err
	}
	if err := a.open(in, log); err != nil {
		return err
	}
	for {
		a.collect()
		workflow.SetCurrentDetails(ctx, a.details())
		if info := workflow.GetInfo(ctx); info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() >= auditEvents {
			return a.continueAsNew()
		}
		if err := workflow.Await(ctx, func() bool { return a.records.Len() > 0 }); err != nil {
			return err
		}
	}
}

// auditRun is the log between its core and Temporal.
type auditRun struct {
	ctx     workflow.Context
	log     *audit.Log
	records workflow.ReceiveChannel
}

func (a *auditRun) listen() error {
	err := workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryAudit, func(filter contract.AuditFilter) (contract.AuditPage, error) {
		return auditPage(a.log.Page(audit.Filter(filter))), nil
	}, workflow.QueryHandlerOptions{Description: "What operators did, and what was refused or delayed: filtered, a page at a time."})
	if err != nil {
		return err
	}
	return workflow.SetQueryHandlerWithOptions(a.ctx, contract.QueryAuditLog, func() ([]byte, error) {
		return a.log.Encode(audit.MaxEncoded)
	}, workflow.QueryHandlerOptions{Description: "The whole log as bytes. The log that comes after this one asks."})
}

// open takes up what was there before.
func (a *auditRun) open(in contract.AuditInput, log []byte) error {
	if len(log) > 0 {
		return a.takeUp(in, log)
	}
	if in.Continued {
		return nil
	}
	var before contract.AdoptAuditResult
	err := callAdoptAudit(a.ctx, contract.AdoptAuditInput{
		Previous: in.Previous, First: in.First, RunID: workflow.GetInfo(a.ctx).WorkflowExecution.RunID,
	}).Get(a.ctx, &before)
	if err != nil {
		if temporal.IsCanceledError(err) {
			return err
		}
		workflow.GetLogger(a.ctx).Error("The log before this one cannot be taken over.", "error", err)
		a.note(contract.AuditEntry{
			Kind: contract.AuditScheduler, Action: recorder.Noticed, Code: "LOG_LOST", Object: contract.AuditWorkflowID,
			Detail: "the log before this one could not be read, and this one starts anew: " + err.Error(),
		})
		return nil
	}
	if len(before.Log) > 0 {
		if err := a.takeUp(in, before.Log); err != nil {
			return err
		}
	}
	if before.Entry != nil {
		a.note(*before.Entry)
	}
	return nil
}

func (a *auditRun) takeUp(in contract.AuditInput, log []byte) error {
	restored, err := audit.Decode(log)
	if err != nil {
		return temporal.NewNonRetryableApplicationError("the audit log cannot go on", "BadState", err)
	}
	a.log = restored
	a.log.SetLimit(in.Keep)
	return nil
}

func (a *auditRun) note(entry contract.AuditEntry) {
	a.log.Record(workflow.Now(a.ctx), audit.Entry(entry))
}

// collect takes in all that has come. A signal that cannot be decoded is logged
// and dropped by the SDK.
func (a *auditRun) collect() {
	for {
		var in contract.AuditRecord
		if !a.records.ReceiveAsync(&in) {
			return
		}
		a.log.SetLimit(in.Keep)
		for _, entry := range in.Entries {
			a.note(entry)
		}
	}
}

// continueAsNew hands everything to the next run. What came with this very task
// was taken before.
func (a *auditRun) continueAsNew() error {
	log, err := a.log.Encode(audit.MaxEncoded)
	if err != nil {
		return fmt.Errorf("continue as new: %w", err)
	}
	return workflow.NewContinueAsNewError(a.ctx, contract.AuditWorkflow, contract.AuditInput{Keep: a.log.Limit(), Continued: true}, log)
}

// shownEntries is how many of the newest entries the Web UI shows.
const shownEntries = 20

// details is what the Web UI shows: the newest entries, the newest first.
func (a *auditRun) details() string {
	text := fmt.Sprintf("%d entries, at most %d are kept; %d older ones were dropped\n", a.log.Len(), a.log.Limit(), a.log.Dropped())
	for _, e := range slices.Backward(a.log.Page(audit.Filter{Limit: shownEntries}).Entries) {
		text += fmt.Sprintf("\n- %s %s **%s** %s", e.At.UTC().Format(time.DateTime), cmp.Or(e.Actor, e.Kind), strings.TrimSpace(e.Action+" "+e.Code), e.Object)
	}
	return text
}

func auditPage(page audit.Page) contract.AuditPage {
	wire := contract.AuditPage{Entries: make([]contract.AuditEntry, len(page.Entries)), More: page.More, Kept: page.Kept, Dropped: page.Dropped, Limit: page.Limit}
	for i, entry := range page.Entries {
		wire.Entries[i] = contract.AuditEntry(entry)
	}
	return wire
}
