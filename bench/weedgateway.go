package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/seaweedfs/gateway"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
	"github.com/roundsman/roundsman/testsuite/fakeworker"
)

// weedFirstDetection measures the time from a weed worker's dial to its first detection, for a waiting group, through the
// gateway and the real server.
func weedFirstDetection(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 0, 0)
	if err != nil {
		return err
	}
	defer c.stop()
	admin, stop, err := c.weedGateway(ctx)
	if err != nil {
		return err
	}
	defer stop()
	var seconds []float64
	for rep := range b.reps + 1 {
		took, err := c.firstDetection(ctx, admin, rep)
		if err != nil {
			return err
		}
		if rep > 0 {
			seconds = append(seconds, took.Seconds())
		}
	}
	return errors.Join(b.values("weed_first_detection", 1, "s", seconds, nil), c.weedVacuums(ctx, b))
}

// weedGateway starts a gateway with its own leases.
func (c *cluster) weedGateway(ctx context.Context) (admin string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "roundsman-bench-")
	if err != nil {
		return "", nil, err
	}
	gateway, err := app.StartWeedGateway(ctx, app.WeedGatewayOptions{
		Client: c.client, DataDir: dir, Logger: slog.New(slog.DiscardHandler), Gateway: gateway.Options{Listen: "127.0.0.1:0"},
	})
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return gateway.Address(), func() {
		_ = gateway.Stop(context.WithoutCancel(ctx)) // what was measured is known
		_ = os.RemoveAll(dir)
	}, nil
}

// weedVacuums measures 33 vacuums by one weed worker under a limit of 4 and the shell lease, from the first
// start to the last end. It also measures the number of parallel vacuums.
func (c *cluster) weedVacuums(ctx context.Context, b *bench) error {
	var seconds, together []float64
	for range b.reps {
		took, most, err := c.weedVacuumsOnce(ctx)
		if err != nil {
			return err
		}
		seconds, together = append(seconds, took.Seconds()), append(together, float64(most))
	}
	return errors.Join(b.values("weed_33_vacuums", 33, "s", seconds, nil), b.values("weed_33_vacuums_at_once", 33, "jobs", together, nil))
}

func (c *cluster) weedVacuumsOnce(ctx context.Context) (took time.Duration, together int64, err error) {
	admin, stop, err := c.weedGateway(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer stop()
	served, err := fakecluster.New(nil).Serve(fakecluster.Options{})
	if err != nil {
		return 0, 0, err
	}
	defer served.Stop()
	var first, last, now, most atomic.Int64
	working, leave := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = fakeworker.Run(working, fakeworker.Options{
			Admin: admin, ID: "bench-vacuum", JobTypes: []string{"vacuum"}, MaxExecute: 4, FreeAfter: time.Millisecond,
			Detect: func(_ context.Context, in *pb.RunDetectionRequest, emit fakeworker.Emit) error {
				page := make([]*pb.JobProposal, 33)
				for i := range page {
					page[i] = fakeworker.Proposal(in.GetJobType(), i+1, time.Now())
				}
				return emit(false, page...)
			},
			Execute: func(context.Context, *pb.ExecuteJobRequest, func(float64, string)) (*pb.JobResult, error) {
				first.CompareAndSwap(0, time.Now().UnixNano())
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				<-time.After(vacuumCall)
				now.Add(-1)
				last.Store(time.Now().UnixNano())
				return &pb.JobResult{}, nil
			},
		})
	}()
	defer func() { leave(); <-ended }()
	run, err := c.begin(ctx, contract.JobTypeSpec{
		Name: "vacuum", Handler: "weed-vacuum", Interval: jobtype.Duration(time.Hour), Cluster: fmt.Appendf(nil, `{"masters":[%q]}`, served.Master),
		Policy: jobtype.Policy{GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 4}.WithDefaults(),
	})
	if err != nil {
		return 0, 0, err
	}
	var result contract.JobGroupResult
	if err := run.Get(ctx, &result); err != nil {
		return 0, 0, err
	}
	if result.Counts.Completed != 33 {
		return 0, 0, fmt.Errorf("%d vacuums completed, not 33", result.Counts.Completed)
	}
	return time.Duration(last.Load() - first.Load()), most.Load(), nil
}

// firstDetection has a group wait for a handler that only the new worker has.
func (c *cluster) firstDetection(ctx context.Context, admin string, rep int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	kind := fmt.Sprintf("kind_%d", rep)
	run, err := c.begin(ctx, contract.JobTypeSpec{Name: kind, Handler: "weed-" + kind, Interval: jobtype.Duration(time.Hour), Policy: jobtype.Policy{}.WithDefaults()})
	if err != nil {
		return 0, err
	}
	detected, ended := make(chan time.Time, 1), make(chan struct{})
	began := time.Now()
	working, leave := context.WithCancel(ctx)
	go func() {
		defer close(ended)
		_ = fakeworker.Run(working, fakeworker.Options{
			Admin: admin, ID: "bench-" + kind, JobTypes: []string{kind},
			Detect: func(context.Context, *pb.RunDetectionRequest, fakeworker.Emit) error {
				detected <- time.Now()
				return nil
			},
		})
	}()
	defer func() { leave(); <-ended }()
	select {
	case at := <-detected:
		return at.Sub(began), run.Get(ctx, nil)
	case <-ctx.Done():
		return 0, fmt.Errorf("no detection within a minute: %w", ctx.Err())
	}
}
