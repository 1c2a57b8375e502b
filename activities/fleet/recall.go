package fleet

import (
	"context"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	querypb "go.temporal.io/api/query/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
)

// A registry that was terminated has lost its workers. Each of them asks within a
// minute whether it is known; the observer, which sees them beat, asks them to do so
// now. And it is the first to learn that a registry is gone, because the server
// cancels it.
const (
	// recallers is how many processes are asked at once.
	recallers = 8
	// ensureTimeout bounds the start of a registry that is gone.
	ensureTimeout = 10 * time.Second
)

// recall asks the processes that beat without being registered to look at the
// registry. It is a courtesy: one that does not answer looks within a minute.
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

// ended starts the registry if it is gone, when the observation was canceled, and
// returns err. It also is canceled if the registry wants another observation, or
// continues as new; then the registry runs, and nothing happens.
func (o *Observer) ended(ctx context.Context, err error) error {
	if ctx.Err() == nil || o.ensure == nil {
		return err
	}
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return err
	default:
	}
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), ensureTimeout)
	defer cancel()
	if fault := o.ensure(detached); fault != nil {
		activity.GetLogger(ctx).Warn("A registry that may be gone cannot be started.", "error", fault)
	}
	return err
}
