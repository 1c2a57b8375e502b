package recall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/workflows"
)

var errNotBegun = errors.New("it has not begun")

// Run implements [starter.Recall]. A run that has not read its state is in that of the run before.
func Run(ctx context.Context, temporal client.Client, ref starter.RunRef) (starter.Recalled, error) {
	for {
		events, err := history(ctx, temporal, ref)
		if err != nil {
			return starter.Recalled{}, err
		}
		state, err := of(events)
		if err == nil {
			if _, refused := state.Query(contract.QueryStatus); starter.NotReady(refused) {
				err = errNotBegun
			}
		}
		if before := events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(); errors.Is(err, errNotBegun) && before != "" {
			ref.RunID = before
			continue
		}
		return state, err
	}
}

func of(events []*historypb.HistoryEvent) (starter.Recalled, error) {
	at, events := decided(events)
	if at.IsZero() {
		return starter.Recalled{}, errNotBegun
	}
	state := &state{}
	if err := state.replay(&historypb.History{Events: events}); err != nil {
		return starter.Recalled{}, fmt.Errorf("its history does not replay with this version: %w", err)
	}
	return starter.Recalled{At: at, Query: state.query}, nil
}

func history(ctx context.Context, temporal client.Client, ref starter.RunRef) ([]*historypb.HistoryEvent, error) {
	var events []*historypb.HistoryEvent
	read := temporal.GetWorkflowHistory(ctx, ref.WorkflowID, ref.RunID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for read.HasNext() {
		event, err := read.Next()
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", ref, err)
		}
		events = append(events, event)
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("the history of %s is empty", ref)
	}
	return events, nil
}

// decided returns the time of the last ended workflow task, and the events up to it: later decisions are unknown.
func decided(events []*historypb.HistoryEvent) (time.Time, []*historypb.HistoryEvent) {
	for last, event := range slices.Backward(events) {
		if event.GetEventType() != enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			continue
		}
		next := slices.IndexFunc(events[last:], func(e *historypb.HistoryEvent) bool {
			return e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_STARTED
		})
		if next >= 0 {
			events = events[:last+next]
		}
		return event.GetEventTime().AsTime(), events
	}
	return time.Time{}, nil
}

type state struct {
	interceptor.WorkerInterceptorBase
	interceptor.WorkflowInboundInterceptorBase

	ctx workflow.Context
}

// InterceptWorkflow implements [interceptor.WorkerInterceptor].
func (s *state) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	s.Next = next
	return s
}

// ExecuteWorkflow implements [interceptor.WorkflowInboundInterceptor].
func (s *state) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	s.ctx = ctx
	return s.Next.ExecuteWorkflow(ctx, in)
}

// The SDK turns panics of the workflow into errors.
func (s *state) replay(of *historypb.History) error {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter:            starter.DataConverter(),
		Interceptors:             []interceptor.WorkerInterceptor{workflows.Steering(), s},
		DisableDeadlockDetection: true, // This machine may be slow.
	})
	if err != nil {
		return err
	}
	workflows.Register(replayer)
	started := of.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	if err := replayer.ReplayWorkflowHistoryWithOptions(nil, of, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()},
	}); err != nil {
		return err
	}
	if s.ctx == nil {
		return errNotBegun
	}
	return nil
}

func (s *state) query(name string, args ...any) (any, error) {
	return s.HandleQuery(s.ctx, &interceptor.HandleQueryInput{QueryType: name, Args: args})
}
