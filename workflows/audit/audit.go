// Package audit is the workflow of the audit log, one per namespace: the log of
// internal/engine/audit, kept across runs. See docs/adr/0015-audit.md.
package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/audit"
	"github.com/roundsman/roundsman/workflows/entity"
	"github.com/roundsman/roundsman/workflows/recorder"
)

const shownEntries = 20

func limits() entity.Limits {
	l := entity.DefaultLimits()
	l.Events, l.Messages = 10_000, 4_000
	return l
}

// Workflow is the one audit log of a namespace. log is a separate argument because JSON would make its bytes a third longer.
//
// The first client that records starts it. After a termination the next run adopts the log if the server still has
// it. A cancellation ends nothing, and is an entry. Workflow fails only on a bug.
func Workflow(ctx workflow.Context, in contract.AuditInput, log []byte) error {
	r := &run{loop: entity.New(ctx, entity.Options{Name: contract.AuditWorkflowID, Audit: in.Audit, Continued: true}), log: audit.New(in.Keep)}
	r.ctx = r.loop.Context()
	r.records = workflow.GetSignalChannel(r.ctx, contract.SignalRecord)
	if err := r.listen(); err != nil {
		return err
	}
	if err := r.open(in, log); err != nil {
		return err
	}
	for {
		r.collect()
		r.showDetails()
		if r.loop.Full(limits(), r.records.Len() == 0) {
			return r.continueAsNew()
		}
		r.loop.Flush()
		if err := r.loop.Wait(time.Time{}, func() bool { return r.records.Len() > 0 }); err != nil {
			return err
		}
	}
}

type run struct {
	ctx     workflow.Context
	loop    *entity.Loop
	log     *audit.Log
	records workflow.ReceiveChannel
	details string
}

func (r *run) listen() error {
	err := workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryAudit, r.queryPage,
		workflow.QueryHandlerOptions{Description: "The operators' actions, refusals and delays: filtered, a page at a time."})
	if err != nil {
		return err
	}
	return workflow.SetQueryHandlerWithOptions(r.ctx, contract.QueryAuditLog, r.queryLog,
		workflow.QueryHandlerOptions{Description: "The whole log as bytes, for the log that comes after this one."})
}

func (r *run) queryPage(filter contract.AuditFilter) (contract.AuditPage, error) {
	return r.log.Page(filter), nil
}

func (r *run) queryLog() ([]byte, error) { return r.log.Encode(audit.MaxEncoded) }

func (r *run) open(in contract.AuditInput, log []byte) error {
	if len(log) > 0 {
		return r.resume(in, log)
	}
	if in.Continued {
		return nil
	}
	var before contract.AdoptAuditResult
	err := callAdoptAudit(r.ctx, contract.AdoptAuditInput{
		Previous: in.Previous, First: in.First, RunID: workflow.GetInfo(r.ctx).WorkflowExecution.RunID,
	}).Get(r.ctx, &before)
	if err != nil {
		workflow.GetLogger(r.ctx).Error("The log before this one cannot be taken over.", "error", err)
		r.note(contract.AuditEntry{
			Kind: contract.AuditScheduler, Action: recorder.Noticed, Code: "LOG_LOST", Object: contract.AuditWorkflowID,
			Detail: "the log before this one could not be read, and this one starts empty: " + err.Error(),
		})
		return nil
	}
	if len(before.Log) > 0 {
		if err := r.resume(in, before.Log); err != nil {
			return err
		}
	}
	if before.Entry != nil {
		r.note(*before.Entry)
	}
	return nil
}

func (r *run) resume(in contract.AuditInput, log []byte) error {
	restored, err := audit.Decode(log)
	if err != nil {
		return temporal.NewNonRetryableApplicationError("the audit log cannot continue: its state cannot be read", "BadState", err)
	}
	r.log = restored
	r.log.SetLimit(in.Keep)
	return nil
}

func (r *run) note(entry contract.AuditEntry) { r.log.Record(workflow.Now(r.ctx), entry) }

func (r *run) collect() {
	for {
		var in contract.AuditRecord
		if !r.records.ReceiveAsync(&in) {
			return
		}
		r.loop.Received(1)
		r.log.SetLimit(in.Keep)
		r.log.SetMaxAge(in.MaxAge.Std())
		for _, entry := range in.Entries {
			r.note(entry)
		}
	}
}

func (r *run) continueAsNew() error {
	r.collect()
	log, err := r.log.Encode(audit.MaxEncoded)
	if err != nil {
		return fmt.Errorf("continue as new: %w", err)
	}
	in := contract.AuditInput{Keep: r.log.Limit(), Continued: true, Audit: r.loop.Audit.State()}
	return workflow.NewContinueAsNewError(r.ctx, contract.AuditWorkflow, in, log)
}

func (r *run) showDetails() {
	text := fmt.Sprintf("%d entries, at most %d are kept; %d older ones were dropped\n", r.log.Len(), r.log.Limit(), r.log.Dropped())
	for _, e := range slices.Backward(r.log.Page(contract.AuditFilter{Limit: shownEntries}).Entries) {
		text += fmt.Sprintf("\n- %s %s **%s** %s", e.At.UTC().Format(time.DateTime), cmp.Or(e.Actor, e.Kind), strings.TrimSpace(e.Action+" "+e.Code), e.Object)
	}
	if text != r.details {
		r.details = text
		workflow.SetCurrentDetails(r.ctx, text)
	}
}
