package control

import (
	"context"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

// EnsureNotifications starts a missing notifier with the undelivered notifications of the previous one.
func (c *Control) EnsureNotifications(ctx context.Context) error {
	if !c.notifies {
		return nil
	}
	running, inherited, err := c.inheritance(ctx, contract.NotificationsWorkflowID)
	if err != nil {
		return fmt.Errorf("start the notifier: %w", err)
	}
	if running {
		return nil
	}
	_, err = c.fleet.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: contract.NotificationsWorkflowID, TaskQueue: contract.ControlQueue,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "who is told of what",
		StaticDetails:            "Watches runs, approvals and workers, and notifies the receivers of the control plane's configuration\n\n`roundsman receivers`",
	}, contract.NotificationsWorkflow, contract.NotificationsInput{Inherited: inherited})
	if err != nil {
		return fmt.Errorf("start the notifier: %w", err)
	}
	return nil
}
