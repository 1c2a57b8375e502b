package workers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/joblog"
	"github.com/roundsman/roundsman/internal/temporal/codec"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/internal/temporal/registry"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
)

// maxPollers bounds the open polls of one queue.
const maxPollers = 5

// Node is one node worker. Start it once and stop it once.
type Node struct {
	capacity

	options  NodeOptions
	instance string
	jobs     *jobs.Activities
	registry *registrar
	claim    *claim

	workers   []worker.Worker
	endpoint  *endpoint
	notifier  *notifier
	heartbeat *heartbeat

	// accepted means that the registry listed this incarnation in its last answer.
	accepted, stopping atomic.Bool
	// started are the workers that poll. Only Start writes it.
	started []worker.Worker
	refresh chan struct{}

	failed chan error
	// loops has the registration and all that ends with it.
	loops loops
	// beats ends after everything else: while the node drains, its jobs are its own.
	beats    loops
	stopOnce sync.Once
	stopErr  error
}

type capacity struct {
	executeSlots, detectSlots *slots
	gates                     *gates
}

// NewNode builds a node worker on c, which must outlive the node. It claims the worker id on this node if there is a
// data directory: call Stop in any case.
func NewNode(c client.Client, options NodeOptions) (*Node, error) {
	options = options.WithDefaults().clone()
	if err := options.Validate(); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	id, err := stableID(options.ID, options.DataDir)
	if err != nil {
		return nil, err
	}
	options.ID = id
	instance, err := randomName(6)
	if err != nil {
		return nil, err
	}
	n := &Node{options: options, instance: instance, failed: make(chan error, 1), refresh: make(chan struct{}, 1)}
	if err := n.assemble(c); err != nil {
		n.claim.release()
		return nil, err
	}
	return n, nil
}

func (n *Node) assemble(c client.Client) error {
	outbox, outputs, err := n.openData()
	if err != nil {
		return err
	}
	handlers := make(map[string]jobtype.Handler, len(n.options.Handlers))
	executeCaps, detectCaps := map[string]int{}, map[string]int{}
	for _, handler := range n.options.Handlers {
		d := handler.Descriptor()
		handlers[d.Name] = handler
		executeCaps[d.Name], detectCaps[d.Name] = d.MaxExecuteConcurrency, d.MaxDetectConcurrency
	}
	server := jobs.NewServer(c, pages.NewStore(c, n.options.Namespace, codec.DataConverter()))
	n.jobs, err = jobs.New(jobs.Options{
		Handlers: handlers, WorkerID: n.options.ID, WorkerLabels: n.options.Labels, Instance: n.instance, Server: server, Pages: server, Runs: server,
		Outbox: outbox, Outputs: outputs, CancelGrace: n.options.CancelGrace, Logger: n.options.Logger,
	})
	if err != nil {
		return err
	}
	n.registry = &registrar{
		registry: registry.New(c), registration: registrationOf(n.options, n.options.ID, n.instance),
		wait: rpc.Wait, warn: n.options.Logger.Warn,
	}
	if n.claim != nil {
		n.registry.dead = n.claim.dead
	}
	n.executeSlots, n.detectSlots = newSlots(n.options.MaxExecute), newSlots(n.options.MaxDetect)
	n.gates = &gates{
		worker: n.options.ID, instance: n.instance, others: n.jobs.Others,
		execute: newGate(n.options.MaxExecute, executeCaps), detect: newGate(n.options.MaxDetect, detectCaps),
		held: n.executeSlots.Held, kept: n.keptFromWork, stopping: n.stopping.Load,
	}
	n.executeSlots.answer(contract.WorkerQueue(n.options.ID, n.instance), n.gates.execute.Waiting)
	n.detectSlots.answer(contract.WorkerDetectQueue(n.options.ID, n.instance), n.gates.detect.Waiting)
	n.notifier = &notifier{
		refused: &n.gates.refused, gate: n.gates.execute, others: n.jobs.Others, worker: n.options.ID, instance: n.instance, logger: n.options.Logger,
		signal: func(ctx context.Context, workflow string, in contract.WorkerRoomInput) error {
			return c.SignalWorkflow(ctx, workflow, "", contract.SignalWorkerRoom, in)
		},
	}
	n.heartbeat = &heartbeat{
		service: c.WorkflowService(), namespace: n.options.Namespace, worker: n.registry.registration, started: time.Now(),
		sdk: n.options.HeartbeatInterval, changed: make(chan struct{}, 1), stopping: n.stopping.Load, debug: n.options.Logger.Debug,
	}
	n.endpoint = newEndpoint(c, n)
	return n.buildWorkers(c)
}

func (n *Node) openData() (*jobs.Outbox, *joblog.Archive, error) {
	if n.options.DataDir == "" {
		return nil, nil, nil
	}
	dir := filepath.Join(n.options.DataDir, "workers")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("data directory: %w", err)
	}
	held, err := takeClaim(dir, n.options.ID, n.instance)
	if err != nil {
		return nil, nil, err
	}
	n.claim = held
	outputs, err := joblog.OpenArchive(filepath.Join(dir, n.options.ID+".outputs"))
	if err != nil {
		return nil, nil, err
	}
	outbox, err := jobs.OpenOutbox(filepath.Join(dir, n.options.ID+".outbox"), n.options.Logger)
	return outbox, outputs, err
}

func (n *Node) buildWorkers(c client.Client) error {
	execute, err := n.newWorker(c, contract.WorkerQueue(n.options.ID, n.instance), n.executeSlots)
	if err != nil {
		return err
	}
	detect, err := n.newWorker(c, contract.WorkerDetectQueue(n.options.ID, n.instance), n.detectSlots)
	if err != nil {
		return err
	}
	detect.RegisterActivityWithOptions(n.jobs.Detect, activity.RegisterOptions{Name: contract.DetectActivity})
	executors := []worker.Worker{execute}
	for _, jobType := range n.options.Shared {
		shared, err := n.newWorker(c, contract.SharedQueue(jobType), n.executeSlots)
		if err != nil {
			return err
		}
		executors = append(executors, shared)
	}
	for _, executor := range executors {
		executor.RegisterActivityWithOptions(n.jobs.Execute, activity.RegisterOptions{Name: contract.ExecuteActivity})
	}
	n.workers = append(executors, detect)
	return nil
}

// newWorker polls one queue. The identity is the worker's, so that two nodes in one process can share a connection.
func (n *Node) newWorker(c client.Client, queue string, shared *slots) (worker.Worker, error) {
	one, err := worker.NewFixedSizeSlotSupplier(1)
	if err != nil {
		return nil, err
	}
	tuner, err := worker.NewCompositeTuner(worker.CompositeTunerOptions{
		ActivitySlotSupplier: shared,
		WorkflowSlotSupplier: one, LocalActivitySlotSupplier: one, NexusSlotSupplier: one, SessionActivitySlotSupplier: one,
	})
	if err != nil {
		return nil, err
	}
	return worker.New(c, queue, worker.Options{
		Identity:                   n.Identity(),
		BuildID:                    n.options.Version, //nolint:staticcheck // as in NewControl; without it the SDK reads the whole binary for a checksum
		DisableWorkflowWorker:      true,
		DisableEagerActivities:     true,
		Tuner:                      tuner,
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorSimpleMaximum(worker.PollerBehaviorSimpleMaximumOptions{MaximumNumberOfPollers: maxPollers}),
		WorkerStopTimeout:          n.StopBudget(),
		Interceptors:               interceptors(n.gates),
		OnFatalError:               n.fail,
	}), nil
}

// ID is the worker's stable id.
func (n *Node) ID() string { return n.options.ID }

// Instance is this incarnation's part of the queue names.
func (n *Node) Instance() string { return n.instance }

// Identity is the worker's identity in Temporal: <id>@<host>:<pid>.
func (n *Node) Identity() string {
	return registry.Identity(n.registry.registration)
}

// StopBudget bounds the duration of Stop: give the process at least as much time.
func (n *Node) StopBudget() time.Duration {
	return unregisterTimeout + max(n.options.DrainTimeout, n.options.Linger) + n.options.CancelGrace + reportTime
}

// Running lists the running jobs and detections.
func (n *Node) Running() []jobs.Running { return n.jobs.Running() }

// Zombies counts handlers that ignore their canceled context.
func (n *Node) Zombies() int { return n.jobs.Zombies() }

// Slots returns the use and the caps of the slots.
func (n *Node) Slots() (execute, maxExecute, detect, maxDetect int) {
	return n.gates.execute.Used(), n.executeSlots.MaxSlots(), n.gates.detect.Used(), n.detectSlots.MaxSlots()
}

// Resize changes the caps without a restart. The registry's next answer replaces them, so operators resize there.
func (n *Node) Resize(maxDetect, maxExecute int) error {
	if maxDetect < 1 || maxExecute < 1 || maxDetect > maxSlots || maxExecute > maxSlots {
		return fmt.Errorf("caps must be between 1 and %d, not %d and %d", maxSlots, maxDetect, maxExecute)
	}
	n.gates.detect.Resize(maxDetect)
	n.detectSlots.Resize(maxDetect)
	n.gates.execute.Resize(maxExecute)
	n.executeSlots.Resize(maxExecute)
	return nil
}

func (n *Node) fail(err error) {
	select {
	case n.failed <- err:
	default: // The first reason is reported.
	}
}
