package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/recorder"
	"github.com/roundsman/roundsman/internal/waiting"
)

const (
	// originEvents is how far back in a history the message is looked for that an
	// operator's entry comes from. It was read a moment ago.
	originEvents = 3000
	originPage   = 200
	// visibilityLooks is how often visibility is asked for an earlier log.
	visibilityLooks = 3
)

// recorderClient is what recording needs, put together from the ports.
type recorderClient struct {
	Runs
	Fleet
}

// RecordAudit is [contract.RecordAuditActivity]. What a message does not say of
// its sender it takes from the server's record of the message; an entry whose
// message cannot be found is recorded without. Entries have ids, so a repeat
// changes nothing.
func (c *Control) RecordAudit(ctx context.Context, in contract.RecordAuditInput) error {
	for _, origin := range in.Origins {
		if origin.Entry < 0 || origin.Entry >= len(in.Entries) {
			continue
		}
		identity, err := c.senderOf(ctx, origin)
		if err != nil {
			activity.GetLogger(ctx).Warn("The sender of a message is not known.", "workflow", origin.WorkflowID, "error", err)
			continue
		}
		actor, from := recorder.ParseIdentity(identity)
		entry := &in.Entries[origin.Entry]
		if entry.Actor == "" {
			entry.Actor = actor
		}
		if entry.From == "" {
			entry.From = from
		}
		if entry.Via == "" {
			entry.Via, entry.Auth = recorder.Origin(identity)
		}
	}
	for i := range in.Entries {
		// What is known of the sender of a terminated run is only its identity.
		if entry := &in.Entries[i]; entry.Kind == contract.AuditOperator && entry.Actor == "" {
			entry.Via, entry.Auth = recorder.Origin(entry.From)
			entry.Actor, entry.From = recorder.ParseIdentity(entry.From)
		}
	}
	err := recorder.Record(ctx, recorderClient{c.runs, c.fleet}, contract.AuditRecord{Entries: in.Entries, Keep: c.auditEntries})
	if _, refused := errors.AsType[*serviceerror.InvalidArgument](err); refused {
		// It would be refused for ever, and the sender waits.
		return temporal.NewNonRetryableApplicationError(err.Error(), "Refused", err)
	}
	return err
}

// senderOf reads the history backwards from where the message was read.
func (c *Control) senderOf(ctx context.Context, origin contract.AuditOrigin) (string, error) {
	request := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: activity.GetInfo(ctx).Namespace, MaximumPageSize: originPage,
		Execution: &commonpb.WorkflowExecution{WorkflowId: origin.WorkflowID, RunId: origin.RunID},
	}
	back := origin.Back
	for seen := 0; seen < originEvents; {
		page, err := c.raw.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, request)
		if err != nil {
			return "", fmt.Errorf("read the history of %s: %w", origin.WorkflowID, err)
		}
		for _, event := range page.GetHistory().GetEvents() {
			seen++
			identity, found := senderIn(event, origin)
			switch {
			case !found || event.GetEventId() > origin.EventID && origin.UpdateID == "":
			case back > 0:
				back--
			default:
				return identity, nil
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.GetNextPageToken()) == 0 {
			break
		}
	}
	return "", errors.New("the message is not in the history")
}

// senderIn reports whether the event is such a message, and who sent it.
func senderIn(event *historypb.HistoryEvent, origin contract.AuditOrigin) (identity string, found bool) {
	signaled := event.GetWorkflowExecutionSignaledEventAttributes()
	updated := event.GetWorkflowExecutionUpdateAcceptedEventAttributes()
	canceled := event.GetWorkflowExecutionCancelRequestedEventAttributes()
	failed := event.GetWorkflowTaskFailedEventAttributes()
	switch {
	case origin.Signal != "" && signaled != nil:
		return signaled.GetIdentity(), signaled.GetSignalName() == origin.Signal
	case origin.UpdateID != "" && updated != nil:
		meta := updated.GetAcceptedRequest().GetMeta()
		return meta.GetIdentity(), meta.GetUpdateId() == origin.UpdateID
	case origin.Cancel && canceled != nil:
		return canceled.GetIdentity(), true
	case origin.Reset && failed.GetCause() == enums.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW:
		return resetter(failed.GetIdentity()), true
	}
	return "", false
}

// resetter is the identity of a reset's sender. Servers up to 1.32 write their own
// name instead.
func resetter(identity string) string {
	if identity == "history-resetter" || identity == "history-service" {
		return ""
	}
	return identity
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
		return result, fmt.Errorf("ask run %s of the audit log for what it has: %w", previous, err)
	}
	if err := answer.QueryResult.Get(&result.Log); err != nil {
		return result, fmt.Errorf("read what run %s of the audit log has: %w", previous, err)
	}
	result.Entry = c.howItEnded(ctx, contract.AuditWorkflowID, previous)
	return result, nil
}

// EntityEnd is [contract.EntityEndActivity]. It changes nothing.
func (c *Control) EntityEnd(ctx context.Context, in contract.EntityEndInput) (contract.EntityEndResult, error) {
	found, err := c.closedRun(ctx, in.WorkflowID, in.RunID)
	if err != nil || found == "" {
		return contract.EntityEndResult{}, err
	}
	return contract.EntityEndResult{Entry: c.howItEnded(ctx, in.WorkflowID, found)}, nil
}

// closedRun finds the newest closed run of an entity but the asking one. Visibility
// lags, so it looks more than once before it believes that there is none.
func (c *Control) closedRun(ctx context.Context, workflowID, asking string) (string, error) {
	for look := 1; ; look++ {
		found, err := c.listedRun(ctx, workflowID, asking)
		if err != nil || found != "" || look == visibilityLooks {
			return found, err
		}
		if err := waiting.Next(ctx, time.After(c.visibilityLag)); err != nil {
			return "", err
		}
	}
}

func (c *Control) listedRun(ctx context.Context, workflowID, asking string) (string, error) {
	listed, err := c.raw.WorkflowService().ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: activity.GetInfo(ctx).Namespace, PageSize: 10,
		Query: fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'", workflowID),
	})
	if err != nil {
		return "", fmt.Errorf("look for earlier runs of %s: %w", workflowID, err)
	}
	for _, execution := range listed.GetExecutions() {
		if id := execution.GetExecution().GetRunId(); id != asking {
			return id, nil
		}
	}
	return "", nil
}

// howItEnded says who ended a run of an entity; nil if that is not known.
func (c *Control) howItEnded(ctx context.Context, workflowID, runID string) *contract.AuditEntry {
	events := c.runs.GetWorkflowHistory(ctx, workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	if !events.HasNext() {
		return nil
	}
	last, err := events.Next()
	if err != nil {
		return nil
	}
	entry := &contract.AuditEntry{
		ID: "ended|" + runID, At: last.GetEventTime().AsTime(), Kind: contract.AuditOperator,
		Object: workflowID, Action: workflowID + ".end", Detail: "its run ended: " + last.GetEventType().String(),
	}
	if terminated := last.GetWorkflowExecutionTerminatedEventAttributes(); terminated != nil {
		entry.Action, entry.Detail = workflowID+".terminate", terminated.GetReason()
		entry.Actor, entry.From = recorder.ParseIdentity(terminated.GetIdentity())
		entry.Via, entry.Auth = recorder.Origin(terminated.GetIdentity())
	}
	if last.GetWorkflowExecutionCanceledEventAttributes() != nil {
		entry.Action, entry.Detail = workflowID+".cancel", ""
		identity, err := c.senderOf(ctx, contract.AuditOrigin{WorkflowID: workflowID, RunID: runID, EventID: last.GetEventId(), Cancel: true})
		if err == nil {
			entry.Actor, entry.From = recorder.ParseIdentity(identity)
			entry.Via, entry.Auth = recorder.Origin(identity)
		}
	}
	return entry
}
