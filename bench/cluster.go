package main

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/activities/admission"
	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/activities/fleet"
	"github.com/roundsman/roundsman/bench/bare"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/workers"
	"github.com/roundsman/roundsman/workflows"
)

// cluster is a server, a control plane in this process, and worker processes.
type cluster struct {
	server   *testsuite.Server
	client   *starter.Client
	temporal client.Client
	control  *workers.Control
	bare     worker.Worker
	children []*exec.Cmd
}

// startCluster starts the server with state in memory, and n worker processes.
func startCluster(ctx context.Context, b *bench, n, slots int) (*cluster, error) {
	server, err := b.launch()
	if err != nil {
		return nil, err
	}
	c := &cluster{server: server}
	if err := c.startControl(ctx); err != nil {
		c.stop()
		return nil, err
	}
	for i := range n {
		if err := c.startChild(ctx, b, fmt.Sprintf("node-%d", i), slots); err != nil {
			c.stop()
			return nil, err
		}
	}
	if err := c.awaitWorkers(ctx, n); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *cluster) startControl(ctx context.Context) error {
	dialed, err := starter.Dial(ctx, starter.Options{Address: c.server.Address(), Identity: "bench-control"})
	if err != nil {
		return err
	}
	c.client, c.temporal = dialed, dialed.Temporal()
	observer := fleet.NewObserver(c.temporal.WorkflowService(), dialed.Namespace(), fleet.Fixed{})
	activities := control.New(c.temporal, contract.FleetConfig{})
	c.control, err = workers.NewControl(c.temporal, workers.ControlOptions{Register: []func(worker.Registry){
		func(r worker.Registry) { workflows.Register(r) },
		func(r worker.Registry) { fleet.Register(r, observer) },
		func(r worker.Registry) { control.Register(r, activities) },
		func(r worker.Registry) { admission.Register(r, admission.New(c.temporal, dialed.Namespace())) },
	}})
	if err != nil {
		return err
	}
	if err := c.control.Start(ctx); err != nil {
		return err
	}
	c.bare = worker.New(c.temporal, bare.Queue, worker.Options{DisableRegistrationAliasing: true})
	c.bare.RegisterWorkflowWithOptions(bare.Fanout, workflow.RegisterOptions{Name: bare.Workflow})
	c.bare.RegisterWorkflowWithOptions(chain, workflow.RegisterOptions{Name: chainWorkflow})
	c.bare.RegisterWorkflowWithOptions(asker, workflow.RegisterOptions{Name: askerWorkflow})
	c.bare.RegisterWorkflowWithOptions(echo, workflow.RegisterOptions{Name: echoWorkflow})
	return c.bare.Start()
}

// startChild starts this program as a worker process with extra flags.
func (c *cluster) startChild(ctx context.Context, b *bench, id string, slots int, extra ...string) error {
	return c.startRole(ctx, b, "node", id, append([]string{"-slots", fmt.Sprint(slots)}, extra...)...)
}

// startRole starts this program in a role.
func (c *cluster) startRole(ctx context.Context, b *bench, role, id string, extra ...string) error {
	child, err := startSelf(ctx, b, append([]string{"-child", role, "-id", id, "-address", c.server.Address()}, extra...)...)
	if err == nil {
		c.children = append(c.children, child)
	}
	return err
}

// awaitWorkers waits until n workers are fresh.
func (c *cluster) awaitWorkers(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		fresh := c.fresh(ctx, func(contract.WorkerView) bool { return true })
		if fresh >= n {
			return nil
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d workers are fresh after a minute: %w", fresh, n, err)
		}
	}
}

// fresh returns the number of fresh workers that match; 0 without an answer.
func (c *cluster) fresh(ctx context.Context, match func(contract.WorkerView) bool) int {
	answer, err := c.temporal.QueryWorkflow(ctx, contract.FleetWorkflowID, "", contract.QueryFleet)
	var view contract.FleetView
	if err != nil || answer.Get(&view) != nil {
		return 0
	}
	return lists.Count(view.Workers, func(w contract.WorkerView) bool { return w.Fresh && match(w) })
}

func (c *cluster) stop() {
	for _, child := range c.children {
		_ = child.Process.Signal(syscall.SIGTERM)
	}
	for _, child := range c.children {
		_ = child.Wait()
	}
	if c.bare != nil {
		c.bare.Stop()
	}
	if c.control != nil {
		_ = c.control.Stop(context.Background())
	}
	if c.client != nil {
		c.client.Close()
	}
	c.server.Stop()
}
