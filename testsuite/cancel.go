package testsuite

import (
	"context"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

// CancelItem requests the end of an item as a person with a Temporal client does. The run may refuse it.
func CancelItem(ctx context.Context, c client.Client, run string, in contract.CancelItemInput) error {
	update, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: run, UpdateName: contract.UpdateCancelItem, Args: []any{in}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return update.Get(ctx, nil)
}
