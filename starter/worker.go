package starter

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

// reportTimeout bounds the answer of a worker's process, which normally takes milliseconds.
const reportTimeout = 3 * time.Second

// SilentWorkerError reports that a worker's process does not answer.
type SilentWorkerError struct {
	ID    string
	Cause error
}

// Error implements error.
func (e *SilentWorkerError) Error() string {
	return fmt.Sprintf("the process of worker %s does not answer within %s: it may have ended, hang, or be cut off from the server", e.ID, reportTimeout)
}

// Unwrap returns the cause.
func (e *SilentWorkerError) Unwrap() error { return e.Cause }

// Ask queries the worker's process, without registry and control plane. Silence gives a [*SilentWorkerError].
func (w Workers) Ask(ctx context.Context, id string) (contract.WorkerReport, error) {
	return ask[contract.WorkerReport](ctx, w.client, id, contract.QueryReport)
}

// Usage queries the worker's process for its slots in the last hours. Silence gives a [*SilentWorkerError].
func (w Workers) Usage(ctx context.Context, id string) (contract.WorkerUsage, error) {
	return ask[contract.WorkerUsage](ctx, w.client, id, contract.QueryWorkerUsage)
}

// Refresh makes the worker read its settings from the registry at once, and returns its state.
func (w Workers) Refresh(ctx context.Context, id string) (contract.WorkerReport, error) {
	return ask[contract.WorkerReport](ctx, w.client, id, contract.QueryRefresh)
}

// Log queries the worker's process for the output of an attempt. Silence gives a [*SilentWorkerError].
func (w Workers) Log(ctx context.Context, id string, in contract.LogQueryInput) (contract.LogQueryResult, error) {
	return ask[contract.LogQueryResult](ctx, w.client, id, contract.QueryLog, in)
}

// Artifact requests the artifacts of an attempt, or a part of one, from the worker's own process.
func (w Workers) Artifact(ctx context.Context, id string, in contract.ArtifactQueryInput) (contract.ArtifactQueryResult, error) {
	return ask[contract.ArtifactQueryResult](ctx, w.client, id, contract.QueryArtifact, in)
}

func ask[T any](ctx context.Context, c *Client, id, query string, in ...any) (report T, err error) {
	limited, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	response, err := c.temporal.QueryWorkflowWithOptions(limited, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: contract.WorkerWorkflowID(id), QueryType: query, Args: in, QueryRejectCondition: enumspb.QUERY_REJECT_CONDITION_NONE,
	})
	switch {
	case err != nil:
	case response.QueryRejected != nil:
		err = c.rejected(limited, RunRef{WorkflowID: contract.WorkerWorkflowID(id)}, response.QueryRejected.GetStatus())
	default:
		err = response.QueryResult.Get(&report)
	}
	switch {
	case err == nil:
		return report, nil
	case ctx.Err() != nil:
		return report, fmt.Errorf("query worker %s: %w", id, context.Cause(ctx))
	}
	return report, &SilentWorkerError{ID: id, Cause: err}
}

// Resize changes the capacity of a worker, which applies the new caps within a minute.
func (w Workers) Resize(ctx context.Context, in contract.ResizeWorkerInput) (contract.WorkerDetail, error) {
	after, err := update[contract.WorkerDetail](ctx, w.client, fleetRef(), contract.UpdateResizeWorker, in)
	if err != nil {
		return after, fmt.Errorf("resize worker %s: %w", in.ID, err)
	}
	return after, nil
}
