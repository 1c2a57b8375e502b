package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

type historyFilter = enums.HistoryEventFilterType

var errNoFleet = errors.New("the worker registry is not running")

func fleetOptions() client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: contract.FleetWorkflowID, TaskQueue: contract.ControlQueue,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            contract.FleetSummary,
		StaticDetails:            contract.FleetDetails,
	}
}

// EnsureFleet is [contract.EnsureFleetActivity]. It starts a missing registry and subscribes in.Watch in the same
// step. A repeat changes nothing.
func (c *Control) EnsureFleet(ctx context.Context, in contract.EnsureFleetInput) error {
	var err error
	if in.Watch == nil {
		_, err = c.fleet.ExecuteWorkflow(ctx, fleetOptions(), contract.FleetWorkflow, c.startInput(ctx))
	} else {
		_, err = c.fleet.SignalWithStartWorkflow(ctx, contract.FleetWorkflowID, contract.SignalWatchFleet, *in.Watch,
			fleetOptions(), contract.FleetWorkflow, c.startInput(ctx))
	}
	if err != nil {
		return fmt.Errorf("start the worker registry: %w", err)
	}
	return nil
}

// Configure starts a missing registry, announces the control plane and sets the registry's thresholds, if its file
// has any. It returns the former thresholds. It needs a polling control plane, which answers. A request that the
// server drops is repeated until ctx ends.
func (c *Control) Configure(ctx context.Context) (contract.FleetConfig, error) {
	for {
		before, err := c.configure(ctx)
		if !rpc.NotReady(err) {
			return before, err
		}
		select {
		case <-time.After(configurePause):
		case <-ctx.Done():
			return before, err
		}
	}
}

const configurePause = 50 * time.Millisecond

func (c *Control) configure(ctx context.Context) (contract.FleetConfig, error) {
	var before contract.FleetConfig
	handle, err := c.boot.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: c.boot.NewWithStartWorkflowOperation(fleetOptions(), contract.FleetWorkflow, c.startInput(ctx)),
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateName: contract.UpdateConfigureFleet, Args: []any{c.bootInput()}, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err == nil {
		err = handle.Get(ctx, &before)
	}
	if err != nil {
		return before, fmt.Errorf("configure the worker registry: %w", err)
	}
	return before, nil
}

// A closed registry must not answer: its history has no current state.
func (c *Control) view(ctx context.Context, filter contract.WatchFleetInput) (contract.FleetView, error) {
	var view contract.FleetView
	response, err := c.fleet.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: contract.FleetWorkflowID, QueryType: contract.QueryFleet, Args: []any{filter},
		QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_OPEN,
	})
	_, missing := errors.AsType[*serviceerror.NotFound](err)
	switch {
	case missing:
		return view, errNoFleet
	case err != nil:
		return view, fmt.Errorf("ask the worker registry: %w", err)
	case response.QueryRejected != nil:
		return view, errNoFleet
	}
	if err := response.QueryResult.Get(&view); err != nil {
		return view, fmt.Errorf("read the registry's answer: %w", err)
	}
	return view, nil
}
