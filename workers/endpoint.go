package workers

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

const (
	// endpointLife is half of the shortest retention of closed workflows.
	endpointLife = 12 * time.Hour
	// endpointTimeout bounds the workflow itself: it must not stay open if no process serves it.
	endpointTimeout = time.Minute
	openTimeout     = 10 * time.Second
	// nudgeTimeout bounds the query to the replaced process.
	nudgeTimeout  = 3 * time.Second
	endpointRetry = 10 * time.Second
)

// See [contract.WorkerWorkflow].
type endpoint struct {
	client  client.Client
	node    *Node
	worker  worker.Worker
	started bool
}

func newEndpoint(c client.Client, n *Node) *endpoint {
	d := &endpoint{client: c, node: n}
	d.worker = worker.New(c, contract.WorkerControlQueue(n.options.ID, n.instance), worker.Options{
		Identity:                               n.Identity(),
		BuildID:                                n.options.Version, //nolint:staticcheck // as in newWorker
		LocalActivityWorkerOnly:                true,
		MaxConcurrentWorkflowTaskExecutionSize: 2,
		MaxConcurrentWorkflowTaskPollers:       2, // the SDK's minimum
		WorkerStopTimeout:                      time.Second,
		OnFatalError:                           n.fail,
	})
	own := &answers{describe: n.Report, look: n.Refresh, attempt: n.Attempt, used: n.Usage, log: n.jobs.Log, artifact: n.jobs.Artifact}
	d.worker.RegisterWorkflowWithOptions(own.open, workflow.RegisterOptions{Name: contract.WorkerWorkflow})
	return d
}

func (d *endpoint) start() error {
	if err := d.worker.Start(); err != nil {
		return err
	}
	d.started = true
	return nil
}

func (d *endpoint) stop() {
	if d.started {
		d.worker.Stop()
	}
}

// stayOpen opens the endpoint, and reopens it before the server deletes it.
func (d *endpoint) stayOpen(ctx context.Context) {
	if d.node.options.TakeOver {
		d.nudgePredecessor(ctx)
	}
	for {
		wait := endpointLife
		if err := d.open(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			d.node.options.Logger.Warn("requests for this worker's jobs get no answer, trying again", "worker", d.node.options.ID, "error", err)
			wait = endpointRetry
		}
		if rpc.Wait(ctx, wait) != nil {
			return
		}
	}
}

// nudgePredecessor ends the replaced process at once instead of within a minute. Its errors are harmless.
func (d *endpoint) nudgePredecessor(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, nudgeTimeout)
	defer cancel()
	_, err := d.client.QueryWorkflow(ctx, contract.WorkerWorkflowID(d.node.options.ID), "", contract.QueryRefresh)
	d.node.options.Logger.Debug("notified the replaced process", "worker", d.node.options.ID, "error", err)
}

func (d *endpoint) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	_, err := d.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                       contract.WorkerWorkflowID(d.node.options.ID),
		TaskQueue:                contract.WorkerControlQueue(d.node.options.ID, d.node.instance),
		WorkflowExecutionTimeout: endpointTimeout,
		// An open one belongs to a dead incarnation.
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
		StaticSummary:            fmt.Sprintf("answers for %s", d.node.Identity()),
		StaticDetails: fmt.Sprintf("It ends at once; its query `report` is answered by the process as long as that lives\n\n"+
			"`roundsman show %s`", d.node.options.ID),
	}, contract.WorkerWorkflow)
	return err
}
