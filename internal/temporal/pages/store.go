package pages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/roundsman/roundsman/contract"
)

// never is the delay of a page's start, which keeps it one event without a workflow task.
const never = 5 * 365 * 24 * time.Hour

// ErrLost is returned for a missing page.
var ErrLost = errors.New("the page is lost")

// Client is the part of the SDK's client that a store uses.
type Client interface {
	ExecuteWorkflow(ctx context.Context, options client.StartWorkflowOptions, workflow any, args ...any) (client.WorkflowRun, error)
	WorkflowService() workflowservice.WorkflowServiceClient
}

// Store writes and reads pages.
type Store struct {
	client    Client
	namespace string
	converter converter.DataConverter
}

// NewStore returns the store of a namespace. c must be the converter of the client.
func NewStore(client Client, namespace string, c converter.DataConverter) *Store {
	return &Store{client: client, namespace: namespace, converter: c}
}

// Put stores a page of a run and returns its name. A repetition has no effect.
func (s *Store) Put(ctx context.Context, run string, data []byte) (string, error) {
	return s.put(ctx, run, data, nil)
}

const ofState = "state"

// PutState is [Store.Put] for a part of a state. Only the next workflow run reads it.
func (s *Store) PutState(ctx context.Context, run string, data []byte) (string, error) {
	return s.put(ctx, run, data, map[string]any{ofState: true})
}

func (s *Store) put(ctx context.Context, run string, data []byte, memo map[string]any) (string, error) {
	page := contract.PageName(data)
	_, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: contract.PageWorkflowID(run, page), TaskQueue: contract.PageQueue, StartDelay: never,
		// A closed page is written again for a run that was reset.
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            "a page of " + run, Memo: memo,
	}, contract.PageWorkflow, data)
	if err != nil {
		return "", fmt.Errorf("write a page of %s: %w", run, err)
	}
	return page, nil
}

// Get reads a page of a run, open or closed. The error for a missing page wraps [ErrLost].
func (s *Store) Get(ctx context.Context, run, page string) ([]byte, error) {
	id := contract.PageWorkflowID(run, page)
	first, err := s.firstEvent(ctx, &commonpb.WorkflowExecution{WorkflowId: id})
	if err != nil {
		return nil, err
	}
	var data []byte
	input := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if err := s.converter.FromPayloads(input, &data); err != nil {
		return nil, fmt.Errorf("read %s: %w", id, err)
	}
	if contract.PageName(data) != page {
		return nil, fmt.Errorf("read %s: its bytes are not those that were written: %w", id, ErrLost)
	}
	return data, nil
}

func (s *Store) firstEvent(ctx context.Context, of *commonpb.WorkflowExecution) (*historypb.HistoryEvent, error) {
	history, err := s.client.WorkflowService().GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: s.namespace, Execution: of, MaximumPageSize: 1,
	})
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil, fmt.Errorf("read %s: %w", of.GetWorkflowId(), ErrLost)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", of.GetWorkflowId(), err)
	}
	events := history.GetHistory().GetEvents()
	if len(events) == 0 {
		return nil, fmt.Errorf("read %s: the server returned no event", of.GetWorkflowId())
	}
	return events[0], nil
}

func (s *Store) statePages(run string, input *commonpb.Payloads) (ids []string, err error) {
	var in struct{ State, Carry contract.StatePages }
	if len(input.GetPayloads()) > 0 {
		if err := s.converter.FromPayload(input.GetPayloads()[0], &in); err != nil {
			return nil, fmt.Errorf("read the input of %s: %w", run, err)
		}
	}
	for _, page := range slices.Concat(in.State.Pages, in.Carry.Pages) {
		ids = append(ids, contract.PageWorkflowID(run, page))
	}
	return ids, nil
}

// Close closes pages of a run. They can be read until the retention of the namespace has passed.
func (s *Store) Close(ctx context.Context, run string, pages []string) error {
	for _, page := range pages {
		if err := s.end(ctx, contract.PageWorkflowID(run, page), "its run does not need it any more"); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) end(ctx context.Context, workflowID, reason string) error {
	_, err := s.client.WorkflowService().TerminateWorkflowExecution(ctx, &workflowservice.TerminateWorkflowExecutionRequest{
		Namespace: s.namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID}, Reason: reason, Identity: "roundsman",
	})
	if _, ended := errors.AsType[*serviceerror.NotFound](err); err != nil && !ended {
		return fmt.Errorf("close %s: %w", workflowID, err)
	}
	return nil
}
