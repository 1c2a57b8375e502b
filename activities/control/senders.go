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
	// originEvents bounds the search for messages, which were received a moment ago.
	originEvents = 10_000
	// originPage is the largest page of a server; it logs a warning for larger requests.
	originPage = 256
	// originShare: 1/originShare of an activity's time is for the search. An entry without its sender is better than none.
	originShare = 2
)

// senders reads each history once for all messages in it: one reading per message exceeded the activity's time for a
// burst of messages.
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

// Servers up to 1.32 write their own name as the sender of a reset.
func resetter(identity string) string {
	if identity == "history-resetter" || identity == "history-service" {
		return ""
	}
	return identity
}
