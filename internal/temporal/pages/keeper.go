package pages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
)

const (
	sweepEvery = 10 * time.Minute
	// young is the age below which the run of a page need not exist: the pages of submitted jobs
	// are written before the run starts.
	young = time.Hour
	// listSize is the number of pages in one list request.
	listSize = 500
	// maxFaults bounds the faults that a sweep returns.
	maxFaults = 5
)

// Describer looks up runs. The SDK's client implements it.
type Describer interface {
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
}

// Keeper closes pages whose run has ended.
type Keeper struct {
	store  *Store
	runs   Describer
	logger *slog.Logger
}

// NewKeeper returns a keeper. A namespace may have several.
func NewKeeper(store *Store, runs Describer, logger *slog.Logger) *Keeper {
	return &Keeper{store: store, runs: runs, logger: logger}
}

// Keep sweeps until ctx ends, at random moments, so that several keepers take turns.
func (k *Keeper) Keep(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepEvery/2 + rand.N(sweepEvery)):
		}
		closed, err := k.Sweep(ctx, time.Now())
		if closed > 0 {
			k.logger.Info("Pages that their runs had left were closed.", "pages", closed)
		}
		if err != nil && ctx.Err() == nil {
			k.logger.Warn("Pages of runs that ended cannot be closed. The next sweep tries again.", "error", err)
		}
	}
}

// Sweep closes the open pages whose run has ended or never began. A page that cannot be closed does not keep it from
// the others; the error names the first ones.
func (k *Keeper) Sweep(ctx context.Context, now time.Time) (closed int, err error) {
	over := map[string]bool{}
	var faults []error
	failed := func(err error) {
		if len(faults) < maxFaults {
			faults = append(faults, err)
		}
	}
	for token := []byte(nil); ; {
		page, err := k.store.client.WorkflowService().ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: k.store.namespace, PageSize: listSize, NextPageToken: token,
			Query: fmt.Sprintf("WorkflowType = '%s' AND %s", contract.PageWorkflow, contract.QueryOpen),
		})
		if err != nil {
			return closed, errors.Join(append(faults, fmt.Errorf("list the open pages: %w", err))...)
		}
		for _, info := range page.GetExecutions() {
			id := info.GetExecution().GetWorkflowId()
			run, ok := contract.RunOfPage(id)
			if !ok {
				continue
			}
			if _, known := over[run]; !known {
				if over[run], err = k.isOver(ctx, run, now.Sub(info.GetStartTime().AsTime()) > young); err != nil {
					failed(err)
				}
			}
			if !over[run] {
				continue
			}
			if err := k.store.end(ctx, id, "its run has ended"); err != nil {
				failed(err)
				continue
			}
			closed++
		}
		if token = page.GetNextPageToken(); len(token) == 0 || ctx.Err() != nil {
			return closed, errors.Join(faults...)
		}
	}
}

// isOver describes the run, since visibility may lag.
func (k *Keeper) isOver(ctx context.Context, run string, old bool) (bool, error) {
	described, err := k.runs.DescribeWorkflowExecution(ctx, run, "")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return old, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether %s runs: %w", run, err)
	}
	status := described.GetWorkflowExecutionInfo().GetStatus()
	return status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && status != enums.WORKFLOW_EXECUTION_STATUS_PAUSED, nil
}
