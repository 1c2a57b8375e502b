package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	// interval bounds the time for which the lane of a terminated group stays taken.
	interval = 2 * time.Second
	// idle is the watcher's stay without holders: another start costs history, a look costs one query.
	idle = 5 * time.Minute
)

// Watched is the part of the SDK's client that reads holders.
type Watched interface {
	QueryWorkflowWithOptions(ctx context.Context, request *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error)
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
}

// Requester is the part of the SDK's client that sends requests to running groups.
type Requester interface {
	ListWorkflow(ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error)
	SignalWorkflow(ctx context.Context, workflowID, runID, signalName string, arg any) error
}

// Temporal is the required part of the SDK's client.
type Temporal interface {
	Watched
	Requester
}

// Activities has the activities as methods.
type Activities struct {
	temporal        Temporal
	namespace       string
	interval, pause time.Duration
	late            []time.Duration
}

// New returns the activities of the namespace that c works in.
func New(c Temporal, namespace string) *Activities {
	return &Activities{temporal: c, namespace: namespace, interval: interval, pause: pause, late: latePauses()}
}

// Registry is where activities are registered: a worker or a test environment.
type Registry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Register registers the activities under their names.
func Register(r Registry, a *Activities) {
	r.RegisterActivityWithOptions(a.WatchHolders, activity.RegisterOptions{Name: contract.WatchHoldersActivity})
	r.RegisterActivityWithOptions(a.AskHolders, activity.RegisterOptions{Name: contract.AskHoldersActivity})
}

// WatchHolders is [contract.WatchHoldersActivity]. It queries the holders from admission, so a new holder costs no
// history, and returns as soon as one has ended. During a recovery holders are listed without a first run, and it
// looks twice as often.
//
// If the control plane stops, it returns an error that is retried, so the next control plane continues within a second.
func (a *Activities) WatchHolders(ctx context.Context) (contract.WatchHoldersResult, error) {
	var result contract.WatchHoldersResult
	busy := time.Now()
	ticker := time.NewTicker(a.interval)
	defer ticker.Stop()
	for {
		activity.RecordHeartbeat(ctx)
		holders, err := a.holders(ctx)
		if err != nil {
			return result, err
		}
		ticker.Reset(a.pace(holders))
		if len(holders) > 0 {
			busy = time.Now()
		} else if time.Since(busy) > idle {
			return result, nil
		}
		for _, holder := range holders {
			activity.RecordHeartbeat(ctx) // With many holders, the look may exceed the heartbeat timeout.
			ended, err := a.ended(ctx, holder)
			if err != nil {
				return result, err
			}
			if ended {
				result.Closed = append(result.Closed, holder)
			}
		}
		if len(result.Closed) > 0 {
			return result, nil
		}
		if err := rpc.NextEvent(ctx, ticker.C); err != nil {
			return result, err
		}
	}
}

func (a *Activities) holders(ctx context.Context) ([]contract.AdmissionHolder, error) {
	response, err := a.temporal.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: contract.AdmissionWorkflowID, QueryType: contract.QueryHolders,
		QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_OPEN,
	})
	if err != nil {
		return nil, fmt.Errorf("query the holders of admission: %w", err)
	}
	if response.QueryRejected != nil {
		return nil, nil
	}
	var holders []contract.AdmissionHolder
	if err := response.QueryResult.Get(&holders); err != nil {
		return nil, fmt.Errorf("read the holders: %w", err)
	}
	return holders, nil
}

func (a *Activities) pace(holders []contract.AdmissionHolder) time.Duration {
	if slices.ContainsFunc(holders, func(h contract.AdmissionHolder) bool { return h.FirstRunID == "" }) {
		return a.interval / 2
	}
	return a.interval
}

// Another workflow may have the holder's id by now; a reset keeps the first run.
func (a *Activities) ended(ctx context.Context, holder contract.AdmissionHolder) (bool, error) {
	answer, err := a.temporal.DescribeWorkflowExecution(ctx, holder.WorkflowID, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("describe %s: %w", holder.WorkflowID, err)
	}
	info := answer.GetWorkflowExecutionInfo()
	open := info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING || info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_PAUSED
	same := holder.FirstRunID == "" || info.GetFirstRunId() == holder.FirstRunID
	return !open || !same, nil
}
