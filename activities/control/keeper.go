package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/auditlog"
)

// keepInterval is how often the keeper looks at the entities. It bounds how long the
// others wait for one that was terminated: twice that, with the start.
const keepInterval = 2 * time.Second

// Keep makes sure, until ctx ends, that admission, the registry and the audit log
// run: it looks at each every two seconds and starts the one that was ended. Several
// control planes may do so at once: a start finds the run of the other one. Faults are
// logged, and met again at the next look.
func (c *Control) Keep(ctx context.Context, log *slog.Logger) {
	ticker := time.NewTicker(keepInterval)
	defer ticker.Stop()
	faults := map[string]string{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, id := range c.kept() {
			fault := ""
			if err := c.keep(ctx, id, log); err != nil && ctx.Err() == nil {
				fault = err.Error()
			}
			if fault != "" && faults[id] == "" {
				log.Warn("A workflow that serves all cannot be looked after.", "workflow", id, "error", fault)
			}
			faults[id] = fault
		}
	}
}

// kept are the entities that are looked after. The notifier is one where the control
// plane has receivers.
func (c *Control) kept() []string {
	ids := []string{contract.AdmissionWorkflowID, contract.FleetWorkflowID, contract.AuditWorkflowID}
	if c.notifies {
		ids = append(ids, contract.NotificationsWorkflowID)
	}
	return ids
}

// keep starts one entity if it does not run.
func (c *Control) keep(ctx context.Context, id string, log *slog.Logger) error {
	missing, err := c.missing(ctx, id)
	if err != nil || !missing {
		return err
	}
	log.Warn("A workflow that serves all does not run. It is started.", "workflow", id)
	switch id {
	case contract.AdmissionWorkflowID:
		return c.EnsureAdmission(ctx, contract.EnsureAdmissionInput{})
	case contract.FleetWorkflowID:
		return c.EnsureFleet(ctx, contract.EnsureFleetInput{})
	case contract.NotificationsWorkflowID:
		return c.EnsureNotifications(ctx)
	}
	return auditlog.Ensure(ctx, recorderClient{c.runs, c.fleet}, c.auditEntries)
}

// missing reports whether an entity does not run. An audit log that nobody needed
// yet is not missing.
func (c *Control) missing(ctx context.Context, id string) (bool, error) {
	described, err := c.runs.DescribeWorkflowExecution(ctx, id, "")
	if _, never := errors.AsType[*serviceerror.NotFound](err); never {
		return id != contract.AuditWorkflowID, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether %s runs: %w", id, err)
	}
	status := described.GetWorkflowExecutionInfo().GetStatus()
	return status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING && status != enums.WORKFLOW_EXECUTION_STATUS_PAUSED, nil
}
