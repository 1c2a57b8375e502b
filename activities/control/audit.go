package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/auditlog"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	// mostMissed bounds the newest runs that are looked at if none of the known ones is listed.
	mostMissed = 10
	// endsAtOnce is the number of histories that are read at once.
	endsAtOnce = 8
)

type recorderClient struct {
	Runs
	Fleet
}

// RecordAudit is [contract.RecordAuditActivity]. It completes the sender of a message from the server's record, if
// found. Entries have ids, so a repeat changes nothing.
func (c *Control) RecordAudit(ctx context.Context, in contract.RecordAuditInput) error {
	for i, identity := range c.senders(ctx, in.Origins) {
		if i < 0 || i >= len(in.Entries) {
			continue
		}
		actor, from := auditlog.ParseIdentity(identity)
		entry := &in.Entries[i]
		entry.Actor = cmp.Or(entry.Actor, actor)
		entry.From = cmp.Or(entry.From, from)
		if entry.Via == "" {
			entry.Via, entry.Auth = auditlog.Origin(identity)
		}
	}
	for i := range in.Entries {
		// For a terminated run only the sender's identity is available.
		if entry := &in.Entries[i]; entry.Kind == contract.AuditOperator && entry.Actor == "" {
			entry.Via, entry.Auth = auditlog.Origin(entry.From)
			entry.Actor, entry.From = auditlog.ParseIdentity(entry.From)
		}
	}
	err := auditlog.Record(ctx, recorderClient{c.runs, c.fleet}, contract.AuditRecord{Entries: in.Entries, Keep: c.auditEntries, MaxAge: c.auditAge})
	if _, refused := errors.AsType[*serviceerror.InvalidArgument](err); refused {
		// A retry would be refused for ever, and the sender waits.
		return temporal.NewNonRetryableApplicationError(err.Error(), "Refused", err)
	}
	return err
}

// AdoptAudit is [contract.AdoptAuditActivity]. It changes nothing.
func (c *Control) AdoptAudit(ctx context.Context, in contract.AdoptAuditInput) (contract.AdoptAuditResult, error) {
	var result contract.AdoptAuditResult
	previous := in.Previous
	if previous == "" {
		if in.First {
			return result, nil
		}
		found, err := c.closedRun(ctx, contract.AuditWorkflowID, in.RunID)
		if err != nil || found == "" {
			return result, err
		}
		previous = found
	}
	answer, err := c.fleet.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: contract.AuditWorkflowID, RunID: previous, QueryType: contract.QueryAuditLog,
	})
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return result, nil
	}
	if err != nil {
		return result, fmt.Errorf("query the entries of run %s of the audit log: %w", previous, err)
	}
	if err := answer.QueryResult.Get(&result.Log); err != nil {
		return result, fmt.Errorf("read the entries of run %s of the audit log: %w", previous, err)
	}
	if result.Entry, err = c.howItEnded(ctx, contract.AuditWorkflowID, previous); err != nil && activity.GetInfo(ctx).Attempt >= contract.AdoptAuditAttempts {
		return result, nil // The log is worth more than the entry about its end.
	}
	return result, err
}

// EntityEnd is [contract.EntityEndActivity]. If two processes started runs after the same ended one, an earlier run
// is missing in in.Passed.
func (c *Control) EntityEnd(ctx context.Context, in contract.EntityEndInput) (contract.EntityEndResult, error) {
	var result contract.EntityEndResult
	closed, err := c.closedRuns(ctx, in.WorkflowID, in.RunID)
	if err != nil {
		return result, err
	}
	missed := missedOf(closed, in.Passed)
	entries, err := c.endsOf(ctx, in.WorkflowID, slices.Concat(missed, in.Passed))
	if err != nil {
		return result, err
	}
	for i, entry := range entries {
		switch {
		case entry == nil:
		case i == 0 && len(missed) > 0:
			result.Entry = entry
		default:
			result.Passed = append(result.Passed, *entry)
		}
	}
	return result, nil
}

// endsOf is howItEnded for several runs.
func (c *Control) endsOf(ctx context.Context, workflowID string, runs []string) ([]*contract.AuditEntry, error) {
	entries := make([]*contract.AuditEntry, len(runs))
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(endsAtOnce)
	for i, run := range runs {
		reads.Go(func() (err error) {
			entries[i], err = c.howItEnded(ctx, workflowID, run)
			return err
		})
	}
	return entries, reads.Wait()
}

// missedOf returns the closed runs that are newer than the oldest one in passed and missing there.
func missedOf(closed, passed []string) []string {
	known := min(len(closed), 1)
	if len(passed) > 0 {
		known = min(len(closed), mostMissed)
		for i, run := range closed {
			if slices.Contains(passed, run) {
				known = i
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(closed[:known]), func(run string) bool { return slices.Contains(passed, run) })
}

func (c *Control) closedRun(ctx context.Context, workflowID, asking string) (string, error) {
	closed, err := c.closedRuns(ctx, workflowID, asking)
	if err != nil || len(closed) == 0 {
		return "", err
	}
	return closed[0], nil
}

func (c *Control) closedRuns(ctx context.Context, workflowID, asking string) ([]string, error) {
	runs := rpc.ClosedRuns{
		Lists: func(ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
			return c.raw.WorkflowService().ListWorkflowExecutions(ctx, request)
		},
		Namespace: activity.GetInfo(ctx).Namespace, WorkflowID: workflowID, Asking: asking, Lag: c.visibilityLag, Most: maxPassed + mostMissed,
	}
	return runs.List(ctx)
}

// howItEnded returns nil if the server no longer has the run, or if the entity continued.
func (c *Control) howItEnded(ctx context.Context, workflowID, runID string) (*contract.AuditEntry, error) {
	events := c.runs.GetWorkflowHistory(ctx, workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	if !events.HasNext() {
		return nil, nil
	}
	last, err := events.Next()
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how run %s of %s ended: %w", runID, workflowID, err)
	}
	if last.GetWorkflowExecutionContinuedAsNewEventAttributes() != nil {
		return nil, nil
	}
	entry := &contract.AuditEntry{
		ID: "ended|" + runID, At: last.GetEventTime().AsTime(), Kind: contract.AuditOperator,
		Object: workflowID, Action: workflowID + contract.AuditEnded, Detail: "its run ended: " + last.GetEventType().String(),
	}
	if terminated := last.GetWorkflowExecutionTerminatedEventAttributes(); terminated != nil {
		entry.Action, entry.Detail = workflowID+contract.AuditTerminated, terminated.GetReason()
		entry.Actor, entry.From = auditlog.ParseIdentity(terminated.GetIdentity())
		entry.Via, entry.Auth = auditlog.Origin(terminated.GetIdentity())
	}
	if last.GetWorkflowExecutionCanceledEventAttributes() != nil {
		entry.Action, entry.Detail = workflowID+".cancel", ""
		origin := contract.AuditOrigin{WorkflowID: workflowID, RunID: runID, EventID: last.GetEventId(), Cancel: true}
		if identity, found := c.senders(ctx, []contract.AuditOrigin{origin})[origin.Entry]; found {
			entry.Actor, entry.From = auditlog.ParseIdentity(identity)
			entry.Via, entry.Auth = auditlog.Origin(identity)
		}
	}
	return entry, nil
}
