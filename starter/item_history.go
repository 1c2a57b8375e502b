package starter

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
)

// ItemHistory is what became of an item, attempt by attempt. Runs keep none of it,
// so that they stay small: it is read from the history of the run's workflow.
type ItemHistory struct {
	Attempts []Attempt `json:"attempts,omitempty"`
	// Requests are what operators asked for, oldest first: of this item, or, as a
	// cancellation, of the whole run.
	Requests []ItemRequest `json:"requests,omitempty"`
	// Command is the command line of the last attempt, with its templates filled in; nil
	// where the handler runs none. Params are what the handler was given.
	Command []string        `json:"command,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	// Result is what the handler returned, or what the last attempt had printed when
	// it failed; nil if nothing was reported.
	Result *jobtype.Result `json:"result,omitempty"`
}

// Render is what a worker makes of an attempt: its command line, nil where the handler
// runs none, and its params.
type Render func(contract.ExecuteInput) (command []string, params json.RawMessage)

// Attempt is one attempt at an item.
type Attempt struct {
	Number int    `json:"number"`
	Worker string `json:"worker,omitempty"`
	// SentAt is when the attempt was given to the worker; StartedAt is zero for one
	// that was not taken, EndedAt for one that is open.
	SentAt    time.Time `json:"sent_at,omitzero"`
	StartedAt time.Time `json:"started_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	// EndedAs is completed, or the kind of the failure.
	EndedAs string `json:"ended_as,omitempty"`
	Error   string `json:"error,omitempty"`
}

// ItemRequest is one request of an operator.
type ItemRequest struct {
	At time.Time `json:"at"`
	// Action is the name of the message: cancel-job, approve, skip.
	Action string `json:"action"`
	By     string `json:"by,omitempty"`
	Note   string `json:"note,omitempty"`
}

// ItemDetail is an item with its history.
type ItemDetail struct {
	Item
	ItemHistory
}

// Detail adds its history to an item, and from it the times that its run does not keep.
func (r Runs) Detail(ctx context.Context, item Item) (ItemDetail, error) {
	history, err := r.History(ctx, item)
	history.inFlight(item)
	history.times(&item)
	return ItemDetail{Item: item, ItemHistory: history}, err
}

// times fills in when the item's last attempt that a worker took began, and when the last
// of all ended.
func (i *ItemHistory) times(item *Item) {
	n := len(i.Attempts)
	if n == 0 {
		return
	}
	for k := n - 1; k >= 0 && item.StartedAt.IsZero(); k-- {
		item.StartedAt = i.Attempts[k].StartedAt
	}
	if item.EndedAt.IsZero() && item.Ended() {
		item.EndedAt = i.Attempts[n-1].EndedAt
	}
}

// inFlight says of the open attempt where it runs and since when: a history has the start
// of an activity only once it has ended.
func (i *ItemHistory) inFlight(item Item) {
	n := len(i.Attempts)
	if n == 0 || item.Active == nil || !item.Active.Started {
		return
	}
	if last := &i.Attempts[n-1]; last.EndedAt.IsZero() && last.StartedAt.IsZero() {
		last.StartedAt, last.Worker = item.Active.StartedAt, cmp.Or(last.Worker, item.Worker)
	}
}

// History reads the attempts at an item from the history of its run, and of those
// that the run continues, for at most answerTimeout.
func (r Runs) History(ctx context.Context, item Item) (ItemHistory, error) {
	ref := item.Run
	if item.FromRun != "" {
		ref = RunRef{WorkflowID: item.FromRun}
	}
	found, err := r.histories(ctx, ref, []Item{item}, func(found map[string]*ItemHistory) bool {
		return len(found[item.ID].Attempts) >= max(item.Attempt, 1)
	})
	if err != nil {
		return *found[item.ID], fmt.Errorf("read the attempts at %s from the history of its run: %w", item.Ref(), runError(ref, err))
	}
	return *found[item.ID], nil
}

// histories reads what became of items from the history of their run and of those
// that the run continues, the newest first, until that is enough, for at most
// answerTimeout. After an error the answer has what was found.
func (r Runs) histories(ctx context.Context, ref RunRef, items []Item, enough func(map[string]*ItemHistory) bool) (map[string]*ItemHistory, error) {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	found := map[string]*ItemHistory{}
	for _, item := range items {
		found[item.ID] = &ItemHistory{}
	}
	for {
		read := newHistoryReader(r.client, ref.WorkflowID, items)
		err := read.all(limited, ref)
		for id, one := range read.found {
			one.Attempts, one.Requests = append(one.Attempts, found[id].Attempts...), append(one.Requests, found[id].Requests...)
			one.Result = cmp.Or(found[id].Result, one.Result)
			if found[id].Params != nil || found[id].Command != nil {
				one.Command, one.Params = found[id].Command, found[id].Params
			}
			found[id] = one
		}
		if err != nil || read.before == "" || enough(found) {
			for _, one := range found {
				for i := range one.Attempts {
					one.Attempts[i].Number = i + 1
				}
			}
			return found, err
		}
		// The first attempts ended before the run continued as new.
		ref.RunID = read.before
	}
}

// historyReader collects what one workflow run says of items.
type historyReader struct {
	client *Client
	found  map[string]*ItemHistory
	// workflow is the run's.
	workflow string
	// keys are ids by dedupe key, inner by the workflow of the DAG that the item is.
	keys, inner map[string]string
	// attempts are places in the attempts of an item by the event that scheduled them.
	attempts map[int64]attemptAt
	// of is what the run's group was started with.
	of contract.JobGroupInput
	// before is the workflow run that this one continues.
	before string
}

type attemptAt struct {
	of *ItemHistory
	n  int
}

func newHistoryReader(client *Client, workflowID string, items []Item) *historyReader {
	h := &historyReader{client: client, workflow: workflowID, found: map[string]*ItemHistory{}, keys: map[string]string{}, inner: map[string]string{}, attempts: map[int64]attemptAt{}}
	for _, item := range items {
		h.found[item.ID] = &ItemHistory{}
		h.inner[contract.SubDAGWorkflowID(workflowID, item.ID)] = item.ID
		if item.DedupeKey != "" {
			h.keys[item.DedupeKey] = item.ID
		}
	}
	return h
}

func (h *historyReader) all(ctx context.Context, ref RunRef) error {
	history := h.client.temporal.GetWorkflowHistory(ctx, ref.WorkflowID, ref.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return err
		}
		h.read(event)
		h.child(event)
	}
	return nil
}

// sent notes an attempt that an event has scheduled.
func (h *historyReader) sent(event *historypb.HistoryEvent, id, worker string) {
	if of := h.found[id]; of != nil {
		h.attempts[event.GetEventId()] = attemptAt{of, len(of.Attempts)}
		of.Attempts = append(of.Attempts, Attempt{Worker: worker, SentAt: rpc.Time(event.GetEventTime())})
	}
}

func (h *historyReader) read(event *historypb.HistoryEvent) {
	at := rpc.Time(event.GetEventTime())
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
		started := event.GetWorkflowExecutionStartedEventAttributes()
		h.before = started.GetContinuedExecutionRunId()
		_ = h.decode(started.GetInput(), &h.of) // A run of a DAG has another input, and jobs that have all.
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		scheduled := event.GetActivityTaskScheduledEventAttributes()
		if scheduled.GetActivityType().GetName() == contract.ExecuteActivity {
			worker, _, _, _ := contract.WorkerOfQueue(scheduled.GetTaskQueue().GetName())
			h.sent(event, contract.JobOfAttempt(scheduled.GetActivityId()), worker)
			h.given(h.found[contract.JobOfAttempt(scheduled.GetActivityId())], worker, scheduled.GetInput())
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED:
		if attempt := h.attempt(event.GetActivityTaskStartedEventAttributes().GetScheduledEventId()); attempt != nil {
			attempt.StartedAt = at
		}
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		done := event.GetActivityTaskCompletedEventAttributes()
		h.ended(at, done.GetScheduledEventId(), contract.JobCompleted, "", done.GetResult())
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		failed := event.GetActivityTaskFailedEventAttributes()
		h.ended(at, failed.GetScheduledEventId(), contract.JobFailed, failed.GetFailure().GetMessage(), failed.GetFailure().GetApplicationFailureInfo().GetDetails())
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

// given notes what the worker was given to do.
func (h *historyReader) given(of *ItemHistory, worker string, input *commonpb.Payloads) {
	var in contract.ExecuteInput
	if of == nil || h.client.render == nil || !h.decode(input, &in) || in.Adopt {
		return
	}
	in.Job.GroupID, in.Job.WorkerID = h.workflow, worker
	if len(in.Job.Settings) == 0 && len(in.Job.Argv) == 0 {
		// The settings that all jobs of a run have in common need not travel with each of them.
		in.Job.Params, in.Job.Settings, in.Job.Cluster = h.of.Spec.Params, h.of.Spec.Execute, h.of.Spec.Cluster
	}
	of.Command, of.Params = h.client.render(in)
}

// timeoutText says in a word why the server gave an attempt up.
func timeoutText(kind enumspb.TimeoutType) string {
	switch kind {
	case enumspb.TIMEOUT_TYPE_HEARTBEAT:
		return string(contract.FailureWorkerLost)
	case enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START:
		return string(contract.FailureNotTaken)
	}
	return string(contract.FailureTimeout)
}

func (h *historyReader) attempt(scheduled int64) *Attempt {
	at, known := h.attempts[scheduled]
	if !known {
		return nil
	}
	return &at.of.Attempts[at.n]
}

// ended notes the end of an attempt, in the words of its worker if it reported.
func (h *historyReader) ended(at time.Time, scheduled int64, as, message string, reported *commonpb.Payloads) {
	attempt := h.attempt(scheduled)
	if attempt == nil {
		return
	}
	attempt.EndedAt, attempt.EndedAs, attempt.Error = at, as, message
	var state contract.ExecuteState
	if h.decode(reported, &state) {
		h.attempts[scheduled].of.outcome(attempt, state)
	}
}

func (i *ItemHistory) outcome(attempt *Attempt, state contract.ExecuteState) {
	attempt.Worker = cmp.Or(attempt.Worker, state.Worker)
	attempt.EndedAs, attempt.Error = cmp.Or(string(state.Failure), contract.JobCompleted), cmp.Or(state.Message, attempt.Error)
	if !state.StartedAt.IsZero() {
		attempt.StartedAt = state.StartedAt
	}
	i.Result = &state.Result
}

// child notes the runs of DAGs inside the run: each is the attempt at an item.
func (h *historyReader) child(event *historypb.HistoryEvent) {
	at := rpc.Time(event.GetEventTime())
	switch event.GetEventType() {
	case enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		h.sent(event, h.inner[event.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowId()], "")
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

func (h *historyReader) signal(at time.Time, signal *historypb.WorkflowExecutionSignaledEventAttributes) {
	switch name := signal.GetSignalName(); name {
	case contract.SignalJobOutcome:
		// An attempt that the server had given up, or that was adopted.
		var late contract.JobOutcomeInput
		if !h.decode(signal.GetInput(), &late) {
			return
		}
		if of := h.found[late.JobID]; of != nil && len(of.Attempts) > 0 {
			last := &of.Attempts[len(of.Attempts)-1]
			last.EndedAt = at
			of.outcome(last, late.Outcome)
		}
	case contract.SignalCancelJob, contract.SignalExpireJob:
		var in contract.CancelJobInput
		if h.decode(signal.GetInput(), &in) {
			h.request(at, cmp.Or(in.JobID, h.keys[in.DedupeKey]), name, cmp.Or(in.By, signal.GetIdentity()), in.Reason)
		}
	case contract.SignalCancelGroup, contract.SignalCancelDAG:
		var in contract.CancelGroupInput // That of a DAG has the same fields.
		_ = h.decode(signal.GetInput(), &in)
		h.requestAll(at, name, cmp.Or(in.By, signal.GetIdentity()), in.Reason)
	}
}

func (h *historyReader) update(at time.Time, accepted *historypb.WorkflowExecutionUpdateAcceptedEventAttributes) {
	request := accepted.GetAcceptedRequest()
	// All updates about tasks have these fields, each some of them.
	var in struct {
		Task, By, Reason, Note string
		Tasks                  []string
	}
	if !h.decode(request.GetInput().GetArgs(), &in) {
		return
	}
	if in.Task != "" {
		in.Tasks = append(in.Tasks, in.Task)
	}
	slices.Sort(in.Tasks)
	for _, id := range slices.Compact(in.Tasks) {
		h.request(at, id, request.GetInput().GetName(), cmp.Or(in.By, request.GetMeta().GetIdentity()), cmp.Or(in.Note, in.Reason))
	}
}

// request notes what an operator asked for about one item.
func (h *historyReader) request(at time.Time, id, action, by, note string) {
	if of := h.found[id]; of != nil {
		of.Requests = append(of.Requests, ItemRequest{At: at, Action: action, By: by, Note: note})
	}
}

// requestAll notes what was asked for about the whole run.
func (h *historyReader) requestAll(at time.Time, action, by, note string) {
	for id := range h.found {
		h.request(at, id, action, by, note)
	}
}

// decode reads the first payload; false if there is none that can be read.
func (h *historyReader) decode(payloads *commonpb.Payloads, into any) bool {
	if len(payloads.GetPayloads()) == 0 {
		return false
	}
	if err := DataConverter().FromPayload(payloads.GetPayloads()[0], into); err != nil {
		h.client.logger.Debug("unreadable message in a history", "error", err)
		return false
	}
	return true
}
