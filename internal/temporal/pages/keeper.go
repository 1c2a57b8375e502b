package pages

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
)

const (
	sweepEvery = 10 * time.Minute
	// The pages of submitted jobs are written before the run starts.
	young     = time.Hour
	listSize  = 500
	maxFaults = 5
)

// Describer looks up runs. The SDK's client implements it.
type Describer interface {
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
}

// Keeper closes pages whose run has ended, and pages of states that their run has left.
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

// Sweep closes the open pages whose run has ended or never began, and those of replaced states. The error names the
// first faults.
func (k *Keeper) Sweep(ctx context.Context, now time.Time) (closed int, err error) {
	needs := map[string]need{}
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
			if _, known := needs[run]; !known {
				if needs[run], err = k.needsOf(ctx, run, now.Sub(info.GetStartTime().AsTime()) > young); err != nil {
					failed(err)
				}
			}
			if needs[run].has(info) {
				continue
			}
			if err := k.store.end(ctx, id, "its run does not need it any more"); err != nil {
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

type need struct {
	none bool
	// since is the start of the workflow run before the current one. Earlier states are obsolete.
	since time.Time
	// inForce are the ids of the pages of the current state. An earlier state may have had the same part.
	inForce []string
}

func (n need) has(page *workflowpb.WorkflowExecutionInfo) bool {
	_, state := page.GetMemo().GetFields()[ofState]
	old := state && page.GetStartTime().AsTime().Before(n.since)
	return !n.none && (!old || slices.Contains(n.inForce, page.GetExecution().GetWorkflowId()))
}

func (k *Keeper) needsOf(ctx context.Context, run string, old bool) (need, error) {
	described, err := k.runs.DescribeWorkflowExecution(ctx, run, "")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return need{none: old}, nil
	}
	if err != nil {
		return need{}, fmt.Errorf("look whether %s runs: %w", run, err)
	}
	info := described.GetWorkflowExecutionInfo()
	if status := info.GetStatus(); status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && status != enums.WORKFLOW_EXECUTION_STATUS_PAUSED {
		return need{none: true}, nil
	}
	first, err := k.store.firstEvent(ctx, info.GetExecution())
	if err != nil {
		return need{}, err
	}
	begun := first.GetWorkflowExecutionStartedEventAttributes()
	before := begun.GetContinuedExecutionRunId()
	if before == "" {
		return need{}, nil
	}
	inForce, err := k.store.statePages(run, begun.GetInput())
	if err != nil {
		return need{}, err
	}
	described, err = k.runs.DescribeWorkflowExecution(ctx, run, before)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); err != nil && !gone {
		return need{}, fmt.Errorf("look when %s continued: %w", run, err)
	}
	return need{since: described.GetWorkflowExecutionInfo().GetStartTime().AsTime(), inForce: inForce}, nil
}
