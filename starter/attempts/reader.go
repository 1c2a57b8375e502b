package attempts

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/temporal/codec"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
)

// Item names an item of the run that is read.
type Item struct{ ID, DedupeKey string }

// Reader collects the attempts at items from the history of one workflow run.
type Reader struct {
	// Found has the items by ID.
	Found map[string]*ItemHistory
	// Before is the ID of the previous workflow run; empty for the first one.
	Before string
	// Proposal reads the proposal of a job from its page. Nil: it cannot be read.
	Proposal func(contract.ProposalRef) (jobtype.Proposal, error)

	render      Render
	logger      *slog.Logger
	workflow    string
	keys, inner map[string]string
	attempts    map[int64]place
	of          contract.JobGroupInput
}

type place struct {
	of   *ItemHistory
	n    int
	lost *Attempt
}

// NewReader makes a reader of the history of a workflow. A nil render finds no command lines.
func NewReader(workflowID string, items []Item, render Render, logger *slog.Logger) *Reader {
	h := &Reader{workflow: workflowID, render: render, logger: logger, Found: map[string]*ItemHistory{}, keys: map[string]string{}, inner: map[string]string{}, attempts: map[int64]place{}}
	for _, item := range items {
		h.Found[item.ID] = &ItemHistory{}
		h.inner[contract.SubDAGWorkflowID(workflowID, item.ID)] = item.ID
		if item.DedupeKey != "" {
			h.keys[item.DedupeKey] = item.ID
		}
	}
	return h
}

func (h *Reader) sent(event *historypb.HistoryEvent, id, worker string, n int) {
	if of := h.Found[id]; of != nil {
		h.attempts[event.GetEventId()] = place{of: of, n: len(of.Attempts)}
		of.Attempts = append(of.Attempts, Attempt{Number: n, Worker: worker, SentAt: rpc.Time(event.GetEventTime())})
	}
}

// The activity of an adoption continues an attempt.
func (h *Reader) scheduled(event *historypb.HistoryEvent, activity *historypb.ActivityTaskScheduledEventAttributes) {
	worker, _, _, _ := contract.WorkerOfQueue(activity.GetTaskQueue().GetName())
	id, n, adoption := contract.ParseAttemptID(activity.GetActivityId())
	of := h.Found[id]
	if of == nil {
		return
	}
	if k := of.find(n); adoption && k >= 0 {
		h.attempts[event.GetEventId()] = place{of: of, n: k, lost: new(of.Attempts[k])}
		of.Attempts[k].EndedAt, of.Attempts[k].EndedAs, of.Attempts[k].Error = time.Time{}, "", ""
		return
	}
	h.sent(event, id, worker, n)
	h.given(of, worker, activity.GetInput())
}

// Read takes the next event of the history.
func (h *Reader) Read(event *historypb.HistoryEvent) {
	h.read(event)
	h.child(event)
}

func (h *Reader) read(event *historypb.HistoryEvent) {
	at := rpc.Time(event.GetEventTime())
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		started := event.GetWorkflowExecutionStartedEventAttributes()
		h.Before = started.GetContinuedExecutionRunId()
		_ = h.decode(started.GetInput(), &h.of) // A run of a DAG has another input; its jobs have all settings.
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		scheduled := event.GetActivityTaskScheduledEventAttributes()
		if scheduled.GetActivityType().GetName() == contract.ExecuteActivity {
			h.scheduled(event, scheduled)
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		if attempt := h.attempt(event.GetActivityTaskStartedEventAttributes().GetScheduledEventId()); attempt != nil && attempt.StartedAt.IsZero() {
			attempt.StartedAt = at
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		done := event.GetActivityTaskCompletedEventAttributes()
		h.ended(at, done.GetScheduledEventId(), contract.JobCompleted, "", done.GetResult())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		failed := event.GetActivityTaskFailedEventAttributes()
		as, info := contract.JobFailed, failed.GetFailure().GetApplicationFailureInfo()
		if info.GetType() == string(contract.FailureWorkerLost) {
			as = info.GetType() // The control plane has given it up.
		}
		h.ended(at, failed.GetScheduledEventId(), as, failed.GetFailure().GetMessage(), info.GetDetails())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		canceled := event.GetActivityTaskCanceledEventAttributes()
		h.ended(at, canceled.GetScheduledEventId(), contract.JobCanceled, "", canceled.GetDetails())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		timedOut := event.GetActivityTaskTimedOutEventAttributes()
		h.ended(at, timedOut.GetScheduledEventId(), timeoutText(timedOut.GetFailure().GetTimeoutFailureInfo().GetTimeoutType()), "", nil)
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		h.signal(at, event.GetWorkflowExecutionSignaledEventAttributes())
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
		h.requestAll(at, "cancel", event.GetWorkflowExecutionCancelRequestedEventAttributes().GetIdentity(), "")
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
		h.update(at, event.GetWorkflowExecutionUpdateAcceptedEventAttributes())
	}
}

func (h *Reader) given(of *ItemHistory, worker string, input *commonpb.Payloads) {
	var in contract.ExecuteInput
	if h.render == nil || !h.decode(input, &in) || in.Adopt {
		return
	}
	if in.Ref != nil {
		if h.Proposal == nil {
			return
		}
		p, err := h.Proposal(*in.Ref)
		if err != nil {
			h.logger.Debug("The proposal of a job cannot be read.", "error", err)
			return
		}
		in = in.Proposed(p)
	}
	in.Job.GroupID, in.Job.WorkerID = h.workflow, worker
	if len(in.Job.Settings) == 0 && len(in.Job.Argv) == 0 {
		// Common settings of all jobs are only in the input of the run.
		in.Job.Params, in.Job.Settings, in.Job.Cluster = h.of.Spec.Params, h.of.Spec.Execute, h.of.Spec.Cluster
	}
	of.Rendered = h.render(in)
}

func timeoutText(kind enumspb.TimeoutType) string {
	switch kind {
	case enumspb.TIMEOUT_TYPE_HEARTBEAT:
		return string(contract.FailureWorkerLost)
	case enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		return string(contract.FailureNotTaken)
	}
	return string(contract.FailureTimeout)
}

func (h *Reader) attempt(scheduled int64) *Attempt {
	at, known := h.attempts[scheduled]
	if !known {
		return nil
	}
	return &at.of.Attempts[at.n]
}

func (h *Reader) ended(at time.Time, scheduled int64, as, message string, reported *commonpb.Payloads) {
	attempt := h.attempt(scheduled)
	if attempt == nil {
		return
	}
	var state contract.ExecuteState
	known := h.decode(reported, &state)
	if lost := h.attempts[scheduled].lost; lost != nil {
		failed := cmp.Or(string(state.Failure), as)
		switch {
		case attempt.EndedAs != "":
			return // Its worker has delivered the outcome.
		case failed == string(contract.FailureNotRunning), failed == string(contract.FailureNotTaken):
			*attempt = *lost
			return
		}
	}
	attempt.EndedAt, attempt.EndedAs, attempt.Error = at, as, message
	if known {
		h.attempts[scheduled].of.outcome(attempt, state)
	}
}

func (h *Reader) child(event *historypb.HistoryEvent) {
	at := rpc.Time(event.GetEventTime())
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		h.sent(event, h.inner[event.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowId()], "", 0)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
		if attempt := h.attempt(event.GetChildWorkflowExecutionStartedEventAttributes().GetInitiatedEventId()); attempt != nil {
			attempt.StartedAt = at
		}
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
		h.ended(at, event.GetChildWorkflowExecutionCompletedEventAttributes().GetInitiatedEventId(), contract.JobCompleted, "", nil)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:
		failed := event.GetChildWorkflowExecutionFailedEventAttributes()
		h.ended(at, failed.GetInitiatedEventId(), contract.JobFailed, failed.GetFailure().GetMessage(), nil)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED:
		h.ended(at, event.GetChildWorkflowExecutionCanceledEventAttributes().GetInitiatedEventId(), contract.JobCanceled, "", nil)
	case enumspb.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED:
		h.ended(at, event.GetChildWorkflowExecutionTerminatedEventAttributes().GetInitiatedEventId(), contract.JobFailed, "its run was terminated", nil)
	}
}

func (h *Reader) signal(at time.Time, signal *historypb.WorkflowExecutionSignaledEventAttributes) {
	switch name := signal.GetSignalName(); name {
	case contract.SignalJobOutcome:
		var late contract.JobOutcomeInput
		if !h.decode(signal.GetInput(), &late) {
			return
		}
		// An outcome counts until another attempt starts.
		of := h.Found[contract.JobOfAttempt(late.JobID)]
		if of != nil && len(of.Attempts) > 0 && (late.Attempt == 0 || of.find(late.Attempt) == len(of.Attempts)-1) {
			last := &of.Attempts[len(of.Attempts)-1]
			last.EndedAt = at
			of.outcome(last, late.Outcome)
		}
	case contract.SignalCancelRun:
		var in contract.CancelRunInput
		_ = h.decode(signal.GetInput(), &in)
		h.requestAll(at, name, cmp.Or(in.By, signal.GetIdentity()), in.Reason)
	}
}

func (h *Reader) update(at time.Time, accepted *historypb.WorkflowExecutionUpdateAcceptedEventAttributes) {
	request := accepted.GetAcceptedRequest()
	// All updates about items have these fields, each some of them.
	var in struct {
		Task, Item, Key, By, Reason, Note string
		Tasks                             []string
	}
	if !h.decode(request.GetInput().GetArgs(), &in) {
		return
	}
	if one := cmp.Or(in.Task, in.Item, h.keys[in.Key]); one != "" {
		in.Tasks = append(in.Tasks, one)
	}
	slices.Sort(in.Tasks)
	for _, id := range slices.Compact(in.Tasks) {
		h.request(at, id, request.GetInput().GetName(), cmp.Or(in.By, request.GetMeta().GetIdentity()), cmp.Or(in.Note, in.Reason))
	}
}

func (h *Reader) request(at time.Time, id, action, by, note string) {
	if of := h.Found[id]; of != nil {
		of.Requests = append(of.Requests, ItemRequest{At: at, Action: action, Did: explain.DidRequest(action), By: by, Note: note})
	}
}

func (h *Reader) requestAll(at time.Time, action, by, note string) {
	for id := range h.Found {
		h.request(at, id, action, by, note)
	}
}

func (h *Reader) decode(payloads *commonpb.Payloads, into any) bool {
	if len(payloads.GetPayloads()) == 0 {
		return false
	}
	if err := codec.DataConverter().FromPayload(payloads.GetPayloads()[0], into); err != nil {
		h.logger.Debug("unreadable message in a history", "error", err)
		return false
	}
	return true
}
