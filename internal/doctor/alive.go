package doctor

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// livesFor is the greatest age of the last heartbeat of a control plane that lives.
const livesFor = 3 * starter.DefaultHeartbeatInterval

// judgeSilence distinguishes an absent control plane, one that lives but answers no query, and one that the server does not
// list. The server lists the polls of an ended process for minutes; a heartbeat proves that it lives.
func judgeSilence(ctx context.Context, c *starter.Client, plane *Check, down *starter.ControlPlaneDownError) {
	plane.Found = down.What()
	if down.Unlisted != nil {
		plane.Help(hinted("look at the load, the disk and the log of the server and its database, then run doctor again"))
		return
	}
	plane.Code = contract.CodeControlPlaneDown
	if !down.Polls() {
		return
	}
	plane.Help(explain.Remedy{Wait: true, Hint: "look at its load", Actions: []action.Action{do(action.StartServer)}})
	beat, err := lastBeat(ctx, c)
	if err != nil || time.Since(beat) > livesFor {
		return // It is slow, or has just ended.
	}
	plane.Code = ""
	plane.Found = fmt.Sprintf("it lives, its last heartbeat was at %s, but %s has not been answered for %s: it is overloaded, or the server passes no queries on",
		beat.UTC().Format(time.RFC3339), down.Asked, explain.Span(down.Waited))
	plane.Help(explain.Remedy{Wait: true, Hint: "look at the load and the log of the control plane, and of the server"})
}

// lastBeat returns the time of the last heartbeat of a control plane.
func lastBeat(ctx context.Context, c *starter.Client) (last time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	service := c.Temporal().WorkflowService()
	listed, err := service.ListWorkers(ctx, &workflowservice.ListWorkersRequest{Namespace: c.Namespace(), Query: "TaskQueue = '" + contract.ControlQueue + "'"})
	if err != nil {
		return last, fmt.Errorf("list the control planes: %w", err)
	}
	for _, worker := range rpc.WorkerEntries(listed) {
		described, err := service.DescribeWorker(ctx, &workflowservice.DescribeWorkerRequest{Namespace: c.Namespace(), WorkerInstanceKey: worker.GetWorkerInstanceKey()})
		if err != nil {
			continue // An ended process may not be listed any more.
		}
		if at := rpc.Time(described.GetWorkerInfo().GetWorkerHeartbeat().GetHeartbeatTime()); at.After(last) {
			last = at
		}
	}
	return last, nil
}
