package control

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

// WithPlane names this control plane. undeclared: its file has no thresholds, so the applied ones stay.
func WithPlane(plane contract.ControlPlane, undeclared bool) Option {
	return func(control *Control) { control.plane, control.undeclared = &plane, undeclared }
}

func (c *Control) bootInput() contract.ConfigureFleetInput {
	return contract.ConfigureFleetInput{FleetConfig: c.config, Undeclared: c.undeclared, Plane: c.plane}
}

// A control plane without thresholds uses those of the last registry.
func (c *Control) startInput(ctx context.Context) contract.FleetInput {
	config := c.config
	if c.undeclared {
		if info, missing, err := c.look(ctx, contract.FleetWorkflowID); err == nil && missing && info != nil {
			config = c.thresholdsOf(ctx, info.GetExecution().GetRunId())
		}
	}
	return contract.FleetInput{Config: &config}
}

// Missing returns the thresholds for a registry that has none, in the context of the registry's activity.
func (c *Control) Missing(ctx context.Context) contract.FleetConfig {
	if !c.undeclared {
		return c.config
	}
	last, err := c.closedRun(ctx, contract.FleetWorkflowID, activity.GetInfo(ctx).WorkflowExecution.RunID)
	if err != nil || last == "" {
		return c.config
	}
	return c.thresholdsOf(ctx, last)
}

// Applied returns the thresholds in force, or this control plane's if the registry does not respond.
func (c *Control) Applied(ctx context.Context) contract.FleetConfig {
	now, err := c.askThresholds(ctx, "")
	if err != nil || !now.Configured {
		return c.config
	}
	return now.Config
}

func (c *Control) thresholdsOf(ctx context.Context, runID string) contract.FleetConfig {
	for range inheritAttempts {
		if last, err := c.askThresholds(ctx, runID); err == nil && last.Configured {
			return last.Config
		}
		if ctx.Err() != nil {
			break
		}
	}
	return c.config
}

func (c *Control) askThresholds(ctx context.Context, runID string) (last contract.ThresholdsResult, err error) {
	ctx, cancel := context.WithTimeout(ctx, inheritTimeout)
	defer cancel()
	response, err := c.fleet.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: contract.FleetWorkflowID, RunID: runID, QueryType: contract.QueryThresholds,
	})
	if err != nil {
		return last, fmt.Errorf("ask the registry for its thresholds: %w", err)
	}
	return last, response.QueryResult.Get(&last)
}
