package fleet

import (
	"context"
	"sync"

	commonpb "go.temporal.io/api/common/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
)

const recallers = 8

// A terminated registry has lost its workers, and each reads the registry only once a minute.
func (o *Observer) recall(ctx context.Context, strangers []contract.Incarnation) {
	var group sync.WaitGroup
	for first := range min(recallers, len(strangers)) {
		group.Go(func() {
			for i := first; i < len(strangers) && ctx.Err() == nil; i += recallers {
				if err := o.askToLook(ctx, strangers[i].ID); err != nil {
					activity.GetLogger(ctx).Debug("A worker that is not registered does not answer.", "worker", strangers[i].ID, "error", err)
				}
			}
		})
	}
	group.Wait()
}

func (o *Observer) askToLook(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := o.service.QueryWorkflow(ctx, &workflowservice.QueryWorkflowRequest{
		Namespace: o.namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: contract.WorkerWorkflowID(id)},
		Query: &querypb.WorkflowQuery{QueryType: contract.QueryRefresh},
	})
	return err
}
