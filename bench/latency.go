package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/bench/bare"
	"github.com/roundsman/roundsman/bench/figure"
	"github.com/roundsman/roundsman/contract"
)

const (
	chainWorkflow = "bench.Chain"
	chainSteps    = 100
)

// chain runs activities one after the other and returns the milliseconds of each step: schedule, run, next workflow task.
func chain(ctx workflow.Context, queue string) ([]float64, error) {
	var steps []float64
	for range chainSteps {
		started := workflow.Now(ctx)
		actx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: queue, StartToCloseTimeout: time.Minute, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		})
		if err := workflow.ExecuteActivity(actx, bare.Activity, contract.ExecuteInput{}).Get(actx, nil); err != nil {
			return nil, err
		}
		steps = append(steps, float64(workflow.Now(ctx).Sub(started).Microseconds())/1000)
	}
	return steps, nil
}

// stepLatency measures our dev server. The stock server needs 100 ms per step.
func stepLatency(ctx context.Context, b *bench) error {
	c, err := startCluster(ctx, b, 1, 4)
	if err != nil {
		return err
	}
	defer c.stop()
	var p50s, p99s []float64
	for range b.reps {
		run, err := c.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: fmt.Sprintf("bench/chain-%d", time.Now().UnixNano()), TaskQueue: bare.Queue,
		}, chainWorkflow, bare.NodeQueue("node-0"))
		if err != nil {
			return err
		}
		var steps []float64
		if err := run.Get(ctx, &steps); err != nil {
			return err
		}
		p50s, p99s = append(p50s, figure.Percentile(steps, 0.5)), append(p99s, figure.Percentile(steps, 0.99))
	}
	return b.values("step_latency_p50", chainSteps, "ms", p50s, map[string]float64{"p99": figure.Round(figure.Median(p99s))})
}
