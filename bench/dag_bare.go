package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/workers"
	"github.com/roundsman/roundsman/workflows"
)

// The two sides of the DAG benchmarks. Each is a process with workflows and no-op activities on one queue, with eager
// dispatch as wide as the parallelism.
const (
	childDAG     = "dag"
	childDAGBare = "dag-bare"

	bareDAGQueue            = "bench/dag"
	bareIndependentWorkflow = "bench.Independent"
	bareNoopActivity        = "bench.Noop"
	// bareRollEvents is the history length at which Roundsman continues as new.
	bareRollEvents = 20_000
)

// beDAGChild runs one side until the parent ends.
func beDAGChild(ctx context.Context, o options) error {
	dialed, err := starter.Dial(ctx, starter.Options{Address: o.address, Identity: o.childID})
	if err != nil {
		return err
	}
	defer dialed.Close()
	if o.child == childDAG {
		plane, err := workers.NewControl(dialed.Temporal(), workers.ControlOptions{
			Eager: dagParallel, Register: []func(worker.Registry){
				func(r worker.Registry) { workflows.Register(r) },
				func(r worker.Registry) {
					control.Register(r, control.New(dialed.Temporal(), contract.FleetConfig{}))
				},
			},
		})
		if err != nil {
			return err
		}
		return runUntilOrphaned(ctx, plane.Run)
	}
	eager := dagParallel
	w := worker.New(dialed.Temporal(), bareDAGQueue, worker.Options{
		MaxEagerActivityReservationsPerWorkflowTask: &eager, WorkerStopTimeout: workers.ControlStopTimeout,
	})
	w.RegisterWorkflowWithOptions(bareIndependent, workflow.RegisterOptions{Name: bareIndependentWorkflow})
	w.RegisterActivityWithOptions(bareNoop, activity.RegisterOptions{Name: bareNoopActivity})
	return runUntilOrphaned(ctx, func(ctx context.Context) error {
		if err := w.Start(); err != nil {
			return err
		}
		<-ctx.Done()
		w.Stop()
		return nil
	})
}

func runUntilOrphaned(ctx context.Context, run func(context.Context) error) error {
	ctx = underParent(ctx)
	if err := run(ctx); ctx.Err() == nil {
		return err
	}
	return nil // It has ended with its parent.
}

type independentInput struct {
	N        int `json:"n"`
	Parallel int `json:"parallel"`
	Done     int `json:"done"`
}

// bareIndependent executes as many independent activities as a DAG has tasks, in one coroutine. It drains and continues as
// new where Roundsman does.
func bareIndependent(ctx workflow.Context, in independentInput) (int, error) {
	var flight []workflow.Future
	started, done := in.Done, in.Done
	base := workflow.ActivityOptions{
		TaskQueue: bareDAGQueue, StartToCloseTimeout: 10 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second},
	}
	ready := func() bool {
		return slices.ContainsFunc(flight, workflow.Future.IsReady)
	}
	for done < in.N {
		full := workflow.GetInfo(ctx).GetCurrentHistoryLength() >= bareRollEvents
		for !full && started < in.N && len(flight) < in.Parallel {
			options := base
			options.ActivityID = fmt.Sprintf("t%06d", started)
			flight = append(flight, workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), bareNoopActivity))
			started++
		}
		if len(flight) == 0 {
			return 0, workflow.NewContinueAsNewError(ctx, bareIndependentWorkflow, independentInput{N: in.N, Parallel: in.Parallel, Done: done})
		}
		if err := workflow.Await(ctx, ready); err != nil {
			return done, err
		}
		rest := flight[:0]
		for _, f := range flight {
			if !f.IsReady() {
				rest = append(rest, f)
				continue
			}
			if err := f.Get(ctx, nil); err != nil {
				return done, err
			}
			done++
		}
		flight = rest
	}
	return done, nil
}

func bareNoop(context.Context) error { return nil }
