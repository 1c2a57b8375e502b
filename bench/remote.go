package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/roundsman/roundsman/bench/far"
	"github.com/roundsman/roundsman/bench/noop"
	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/workers"
)

const (
	remoteWorkers = 200
	remoteJobs    = 10_000

	childGateway = "gateway"
	childNatives = "natives"
	childRemotes = "remotes"
)

// remote compares 200 remote workers on one gateway with 200 node workers. Each side is in one process, with one slot per
// worker.
func remote(ctx context.Context, b *bench) error {
	native, err := b.remoteRate(ctx, func(c *cluster) error {
		return c.startRole(ctx, b, childNatives, "")
	})
	if err != nil {
		return err
	}
	far, err := b.remoteRate(ctx, func(c *cluster) error {
		gateway, err := freeAddress(ctx)
		if err != nil {
			return err
		}
		if err := c.startRole(ctx, b, childGateway, gateway); err != nil {
			return err
		}
		return c.startRole(ctx, b, childRemotes, gateway)
	})
	if err != nil {
		return err
	}
	return b.compared("remote", remoteJobs, "jobs/s", far, native, nil)
}

// freeAddress returns an address of this machine that nothing listens on.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// remoteRate returns the jobs per second of a fresh cluster with the 200 workers that start starts.
func (b *bench) remoteRate(ctx context.Context, start func(*cluster) error) ([]float64, error) {
	c, err := startCluster(ctx, b, 0, 0)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	if err := start(c); err != nil {
		return nil, err
	}
	if err := c.awaitWorkers(ctx, remoteWorkers); err != nil {
		return nil, err
	}
	var rates []float64
	for rep := range b.reps + 1 {
		n := remoteJobs
		if rep == 0 {
			n = remoteJobs / 10 // It warms caches and pollers up.
		}
		done, err := c.runGroup(ctx, jobtype.RoutingWorker, n, remoteWorkers)
		if err != nil {
			return nil, err
		}
		b.logf("remote: %d jobs in %.2f s", n, done.seconds)
		if rep > 0 {
			rates = append(rates, float64(n)/done.seconds)
		}
	}
	return rates, nil
}

// beRemoteChild is a gateway, 200 node workers, or 200 remote workers.
func beRemoteChild(ctx context.Context, o options) error {
	ctx = underParent(ctx)
	if o.child == childRemotes {
		return beRemotes(ctx, "http://"+o.childID+"/api/v1")
	}
	dialed, err := starter.Dial(ctx, starter.Options{Address: o.address, Identity: o.child})
	if err != nil {
		return err
	}
	defer dialed.Close()
	if o.child == childNatives {
		return beNatives(ctx, dialed, o.childID)
	}
	served, err := app.NewHTTP(o.childID, "bench", config.Access{})
	if err != nil {
		return err
	}
	gateway, err := app.StartGateway(ctx, app.GatewayOptions{Client: dialed, HTTP: served, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return gateway.Stop(context.WithoutCancel(ctx))
}

// beNatives runs the workers. With the data directory, their successors keep their ids.
func beNatives(ctx context.Context, dialed *starter.Client, dir string) error {
	var all sync.WaitGroup
	for i := range remoteWorkers {
		node, err := workers.NewNode(dialed.Temporal(), workers.NodeOptions{
			ID: fmt.Sprintf("node-%03d", i), MaxExecute: 1, DrainTimeout: -1, Handlers: []jobtype.Handler{noop.Handler{}}, DataDir: dir,
		})
		if err != nil {
			return err
		}
		all.Go(func() {
			if err := node.Run(ctx); err != nil && ctx.Err() == nil {
				_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
			}
		})
	}
	all.Wait()
	return nil
}

func beRemotes(ctx context.Context, api string) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 3 * remoteWorkers}}
	var all sync.WaitGroup
	for i := range remoteWorkers {
		worker := &far.Worker{API: api, ID: fmt.Sprintf("far-%03d", i), Client: client}
		all.Go(func() { worker.Run(ctx) })
	}
	all.Wait()
	return nil
}
