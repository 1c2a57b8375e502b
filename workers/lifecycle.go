package workers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/jobtype"
)

// Start registers the worker and then polls. It waits for an absent control plane until ctx ends, and returns a
// [*RefusedError] when another live worker holds the id. After an error call Stop.
func (n *Node) Start(ctx context.Context) error {
	n.prepare(ctx)
	if err := n.deliverOutbox(ctx); err != nil {
		return err
	}
	settings, err := n.registry.register(ctx, n.options.TakeOver)
	if err != nil {
		return err
	}
	n.obey(settings)
	n.accepted.Store(true)
	if err := n.claim.registered(); err != nil {
		// The file names this process all the same.
		n.options.Logger.Warn("could not write the file that holds the worker id", "worker", n.options.ID, "error", err)
	}
	for _, w := range n.workers {
		if err := w.Start(); err != nil {
			return fmt.Errorf("worker %s: %w", n.options.ID, err)
		}
		n.started = append(n.started, w)
	}
	if err := n.endpoint.start(); err != nil {
		return fmt.Errorf("worker %s: %w", n.options.ID, err)
	}
	n.beats.begin(ctx, n.heartbeat.run)
	rounds := []func(context.Context){n.stayRegistered, n.endpoint.stayOpen, n.notifier.run, n.pruneLogs, n.watchDisk}
	if limit := n.options.ExitWhenIdle; limit > 0 {
		rounds = append(rounds, func(ctx context.Context) { n.watchIdle(ctx, limit, time.Now()) })
	}
	n.loops.begin(ctx, rounds...)
	n.options.Logger.Info("worker is polling", "worker", n.options.ID, "instance", n.instance,
		"max_execute", n.options.MaxExecute, "max_detect", n.options.MaxDetect, "shared", n.options.Shared)
	return nil
}

// prepare lets handlers clean up after a killed process of this worker on the node.
func (n *Node) prepare(ctx context.Context) {
	if n.options.DataDir == "" {
		return
	}
	for _, handler := range n.options.Handlers {
		preparer, ok := handler.(jobtype.NodePreparer)
		if !ok {
			continue
		}
		name := handler.Descriptor().Name
		dir := filepath.Join(n.options.DataDir, "workers", n.options.ID+".state", name)
		if err := preparer.PrepareNode(ctx, n.options.ID, dir); err != nil {
			n.options.Logger.Error("cannot end all programs of this worker's earlier process", "worker", n.options.ID, "handler", name, "error", err)
		}
	}
}

// deliverOutbox delivers the last incarnation's outcomes before the registration fences that incarnation. The rest is
// delivered in the background.
func (n *Node) deliverOutbox(ctx context.Context) error {
	delivered, err := n.jobs.DeliverOutbox()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, outboxMaxWait)
	defer cancel()
	await(ctx, delivered)
	return nil
}

// Wait returns nil when ctx ends, and an error when another instance has the id or the server rejects the node.
func (n *Node) Wait(ctx context.Context) error {
	select {
	case err := <-n.failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// Run starts the node, works until ctx ends, and stops in order.
func (n *Node) Run(ctx context.Context) error {
	err := n.Start(ctx)
	if err == nil {
		err = n.Wait(ctx)
	}
	return errors.Join(err, n.Stop(context.WithoutCancel(ctx)))
}

// stayRegistered registers again when the registry has lost this worker. A refusal means that this one is fenced.
func (n *Node) stayRegistered(ctx context.Context) {
	for {
		// A spread of ±10 % avoids simultaneous requests of a thousand workers.
		spread := time.Duration(rand.Int64N(int64(n.options.CheckInterval)/5 + 1))
		if n.nap(ctx, n.options.CheckInterval*9/10+spread) != nil {
			return
		}
		settings, err := n.registry.settings(ctx)
		if err != nil {
			continue
		}
		if settings.Known {
			n.accepted.Store(true)
			n.obey(settings)
			continue
		}
		n.accepted.Store(false)
		n.options.Logger.Warn("this worker is not registered, registering again", "worker", n.options.ID)
		settings, err = n.registry.register(ctx, false)
		if ctx.Err() != nil {
			return
		}
		var refused *RefusedError
		switch {
		case err == nil:
			n.accepted.Store(true)
			n.obey(settings)
		case errors.As(err, &refused):
			n.options.Logger.Error("this worker was fenced", "worker", n.options.ID, "error", err)
			n.jobs.Fence()
			n.fail(err)
			return
		default:
			n.options.Logger.Error("could not register again, trying later; the worker gets no new work", "worker", n.options.ID, "error", err)
		}
	}
}

// Stop accepts no more work, deregisters, and lets running jobs continue for DrainTimeout, or until ctx ends. Then it
// cancels them, so that they are handed back with their checkpoint. Handlers that ignore the cancel are abandoned
// after CancelGrace. A repeat returns the first result.
func (n *Node) Stop(ctx context.Context) error {
	n.stopOnce.Do(func() { n.stopErr = n.stop(ctx) })
	return n.stopErr
}

func (n *Node) stop(ctx context.Context) error {
	n.stopping.Store(true)
	n.loops.end()
	said := n.deregister()
	defer said()
	stopped := n.stopPolling(ctx)
	drain, cancel := context.WithTimeout(ctx, n.options.DrainTimeout)
	defer cancel()
	if !await(drain, stopped) && len(n.Running()) > 0 {
		n.options.Logger.Info("handing back the running jobs", "worker", n.options.ID, "running", len(n.Running()))
	}
	n.jobs.Drain()
	handBack, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.options.CancelGrace+reportTime)
	defer cancel()
	var left []string
	if !await(handBack, stopped) {
		for _, running := range n.Running() {
			left = append(left, running.GroupID+" "+running.JobID)
		}
	}
	n.jobs.Abandon()
	<-stopped
	n.beats.end()
	n.endpoint.stop()
	n.claim.release()
	if len(left) > 0 {
		return fmt.Errorf("worker %s: %d jobs did not end or could not be reported in time: %v", n.options.ID, len(left), left)
	}
	return nil
}

// deregister retries until end is called: an absent server may be back before the last job has ended.
func (n *Node) deregister() (end func()) {
	if !n.registry.introduced.Load() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	err := n.registry.unregister(ctx)
	if err == nil {
		return cancel
	}
	n.options.Logger.Warn("could not deregister, trying again; otherwise the registry notices the missing heartbeat",
		"worker", n.options.ID, "error", err)
	var trying sync.WaitGroup
	trying.Go(func() {
		for err != nil && rpc.Wait(ctx, unregisterRetry) == nil {
			err = n.registry.unregister(ctx)
		}
	})
	return func() {
		cancel()
		trying.Wait()
	}
}

// stopPolling stops all queues after the linger. The channel is closed when every activity has returned.
func (n *Node) stopPolling(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.linger(ctx)
		var all sync.WaitGroup
		for _, w := range n.started {
			all.Go(w.Stop)
		}
		all.Wait()
	}()
	return done
}

func await(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
