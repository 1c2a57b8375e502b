package control

import (
	"context"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
)

const (
	// originEvents is how far back in a history messages are looked for. They were
	// read a moment ago, or while many others were.
	originEvents = 10_000
	// originPage is the largest page that a server gives; it logs a warning when more is asked for.
	originPage = 256
	// originShare is the part of an activity's time in which senders are looked for:
	// an entry without its sender is worth more than none.
	originShare = 2
)

// senders finds the identities of the senders, by entry. It reads each history once for
// all messages that are looked for in it: with one reading for each, a burst of
// messages took longer than the activity may, and was never recorded.
func (c *Control) senders(ctx context.Context, origins []contract.AuditOrigin) map[int]string {
	if deadline, has := ctx.Deadline(); has {
		bounded, cancel := context.WithTimeout(ctx, time.Until(deadline)/originShare)
		defer cancel()
		ctx = bounded
	}
	type run struct{ workflow, run string }
	byRun := map[run][]contract.AuditOrigin{}
	for _, origin := range origins {
		of := run{origin.WorkflowID, origin.RunID}
		byRun[of] = append(byRun[of], origin)
	}
	found := map[int]string{}
	for of, open := range byRun {
		execution := &commonpb.WorkflowExecution{WorkflowId: of.workflow, RunId: of.run}
		lost, err := c.sendersIn(ctx, execution, open, found)
		if lost > 0 {
			activity.GetLogger(ctx).Warn("The senders of messages are not known.", "workflow", of.workflow, "messages", lost, "error", err)
		}
	}
	return found
}

// sendersIn reads one history backwards from its end and returns how many messages it
// did not find.
func (c *Control) sendersIn(ctx context.Context, execution *commonpb.WorkflowExecution, open []contract.AuditOrigin, senders map[int]string) (lost int, err error) {
	request := &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: activity.GetInfo(ctx).Namespace, MaximumPageSize: originPage, Execution: execution,
	}
	for seen := 0; len(open) > 0 && seen < originEvents; {
		page, err := c.raw.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, request)
		if err != nil {
			return len(open), err
		}
		for _, event := range page.GetHistory().GetEvents() {
			seen++
			open = without(open, event, senders)
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.GetNextPageToken()) == 0 {
			break
		}
	}
	return len(open), nil
}

// without notes the sender of the message that the event is, and returns the messages
// that are still looked for.
func without(open []contract.AuditOrigin, event *historypb.HistoryEvent, senders map[int]string) []contract.AuditOrigin {
	kept := open[:0]
	for _, origin := range open {
		identity, found := senderIn(event, origin)
		switch {
		case !found || event.GetEventId() > origin.EventID && origin.UpdateID == "":
		case origin.Back > 0:
			origin.Back--
		default:
			senders[origin.Entry] = identity
			continue
		}
		kept = append(kept, origin)
	}
	return kept
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
