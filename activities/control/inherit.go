package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

// Bounds of queries of an ended run: each replays its whole history.
const (
	inheritAttempts = 3
	inheritTimeout  = 3 * time.Second
	maxPassed       = 100
)

// inheritance reports whether an entity is running and, if not, returns the state of the newest run that can be
// queried. A run that ended before its first workflow task has only its start input. An unreadable state does not
// prevent the start: it is returned as the Fault.
func (c *Control) inheritance(ctx context.Context, workflowID string) (running bool, inherited contract.Inherited, err error) {
	described, err := c.runs.DescribeWorkflowExecution(ctx, workflowID, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return false, inherited, nil
	}
	if err != nil {
		return false, inherited, fmt.Errorf("look whether %s runs: %w", workflowID, err)
	}
	info := described.GetWorkflowExecutionInfo()
	if status := info.GetStatus(); status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING || status == enums.WORKFLOW_EXECUTION_STATUS_PAUSED {
		return true, inherited, nil
	}
	inherited, err = c.left(ctx, workflowID, info.GetExecution().GetRunId())
	return false, inherited, err
}

func (c *Control) left(ctx context.Context, workflowID, runID string) (inherited contract.Inherited, err error) {
	inherited.From = runID
	for range maxPassed {
		known := c.birthOf(ctx, workflowID, runID)
		inherited.Passed = append(inherited.Passed, runID)
		if !known.unborn {
			result, err := c.asked(ctx, workflowID, runID)
			if err == nil || ctx.Err() != nil {
				inherited.Data, inherited.From = result.Data, runID
				inherited.Passed = newest(append(inherited.Passed, result.Passed...))
				return inherited, ctx.Err()
			}
			inherited.Fault = cmp.Or(inherited.Fault, err.Error())
		}
		inherited.Passed = newest(append(inherited.Passed, known.inherited.Passed...))
		if len(known.inherited.Data) > 0 {
			inherited.Data, inherited.From = known.inherited.Data, known.inherited.From
			inherited.Fault = cmp.Or(inherited.Fault, known.inherited.Fault)
		}
		next := cmp.Or(known.continued, known.inherited.From)
		if len(inherited.Data) > 0 || next == "" || !known.unborn {
			return inherited, nil
		}
		runID = next
	}
	inherited.Fault = cmp.Or(inherited.Fault, fmt.Sprintf("the last %d runs were ended before their first workflow task", maxPassed))
	return inherited, nil
}

func newest(runs []string) (kept []string) {
	for _, run := range runs {
		if len(kept) < maxPassed && !slices.Contains(kept, run) {
			kept = append(kept, run)
		}
	}
	return kept
}

type birth struct {
	unborn bool
	// continued is the run that it continues as new; inherited is in its start input.
	continued string
	inherited contract.Inherited
}

func (c *Control) birthOf(ctx context.Context, workflowID, runID string) (known birth) {
	events := c.runs.GetWorkflowHistory(ctx, workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events != nil && events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return birth{}
		}
		if started := event.GetWorkflowExecutionStartedEventAttributes(); started != nil {
			known.unborn, known.continued = true, started.GetContinuedExecutionRunId()
			var in struct {
				Inherited contract.Inherited `json:"inherited"`
			}
			if payloads := started.GetInput().GetPayloads(); len(payloads) > 0 && c.converter.FromPayload(payloads[0], &in) == nil {
				known.inherited = in.Inherited
			}
		}
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			known.unborn = false
			return known
		}
	}
	return known
}

func (c *Control) asked(ctx context.Context, workflowID, runID string) (result contract.DurableResult, err error) {
	for range inheritAttempts {
		if result, err = c.durableOf(ctx, workflowID, runID); err == nil || ctx.Err() != nil {
			return result, err
		}
	}
	return result, err
}

func (c *Control) durableOf(ctx context.Context, workflowID, runID string) (result contract.DurableResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, inheritTimeout)
	defer cancel()
	response, err := c.fleet.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: workflowID, RunID: runID, QueryType: contract.QueryDurable,
	})
	if err != nil {
		return result, fmt.Errorf("ask %s, which has ended: %w", workflowID, err)
	}
	if err := response.QueryResult.Get(&result); err != nil {
		return result, fmt.Errorf("read the answer of %s: %w", workflowID, err)
	}
	return result, nil
}
