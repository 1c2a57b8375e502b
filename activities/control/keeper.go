package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/auditlog"
)

// Others wait for a terminated entity for twice keepInterval at most.
const keepInterval = 2 * time.Second

// Keep starts ended entities until ctx ends. Several control planes may do so at once: a start finds an existing run.
// Faults are logged and retried with the next look.
func (c *Control) Keep(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(keepInterval)
	defer ticker.Stop()
	faults := map[string]string{}
	registry := &chain{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, id := range c.kept() {
			fault := ""
			if err := c.keep(ctx, id, registry, log); err != nil && ctx.Err() == nil {
				fault = err.Error()
			}
			if fault != "" && faults[id] == "" {
				log.Warn("A workflow that serves all cannot be looked after.", "workflow", id, "error", fault)
			}
			faults[id] = fault
		}
	}
}

func (c *Control) kept() []string {
	ids := []string{contract.AdmissionWorkflowID, contract.FleetWorkflowID, contract.AuditWorkflowID}
	if c.notifies {
		ids = append(ids, contract.NotificationsWorkflowID)
	}
	return ids
}

// due means that the registry was missing since the first run.
type chain struct {
	first string
	due   bool
}

func (c *Control) keep(ctx context.Context, id string, registry *chain, log *slog.Logger) error {
	info, missing, err := c.look(ctx, id)
	if err != nil {
		return err
	}
	if !missing {
		if id == contract.FleetWorkflowID {
			return c.announce(ctx, info.GetFirstRunId(), registry)
		}
		return nil
	}
	log.Warn("A workflow that serves all does not run. It is started.", "workflow", id)
	switch id {
	case contract.AdmissionWorkflowID:
		return c.EnsureAdmission(ctx, contract.EnsureAdmissionInput{})
	case contract.FleetWorkflowID:
		registry.due = true
		return c.EnsureFleet(ctx, contract.EnsureFleetInput{})
	case contract.NotificationsWorkflowID:
		return c.EnsureNotifications(ctx)
	}
	return auditlog.Ensure(ctx, recorderClient{c.runs, c.fleet}, c.auditEntries)
}

// The first registry that the keeper sees has the announcement already.
func (c *Control) announce(ctx context.Context, first string, registry *chain) error {
	if registry.due || registry.first != "" && registry.first != first {
		if _, err := c.configure(ctx); err != nil {
			return err
		}
	}
	*registry = chain{first: first}
	return nil
}

// An audit log without a first entry is not missing.
func (c *Control) look(ctx context.Context, id string) (*workflowpb.WorkflowExecutionInfo, bool, error) {
	described, err := c.runs.DescribeWorkflowExecution(ctx, id, "")
	if _, never := errors.AsType[*serviceerror.NotFound](err); never {
		return nil, id != contract.AuditWorkflowID, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("look whether %s runs: %w", id, err)
	}
	info := described.GetWorkflowExecutionInfo()
	status := info.GetStatus()
	return info, status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && status != enums.WORKFLOW_EXECUTION_STATUS_PAUSED, nil
}
