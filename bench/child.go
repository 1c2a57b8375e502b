package main

import (
	"context"
	"io"
	"os"
	"strings"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/roundsman/roundsman/bench/bare"
	"github.com/roundsman/roundsman/bench/noop"
	"github.com/roundsman/roundsman/bench/surge"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/workers"
)

// beChild runs a Roundsman worker until the parent ends. With the same slots it runs bare SDK workers on a
// private queue and on the shared bare queue.
func beChild(ctx context.Context, o options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel(errStdinClosed)
	}()
	dialed, err := starter.Dial(ctx, starter.Options{Address: o.address, Identity: o.childID})
	if err != nil {
		return err
	}
	defer dialed.Close()
	node, err := workers.NewNode(dialed.Temporal(), workers.NodeOptions{
		ID: o.childID, MaxExecute: o.slots, DrainTimeout: -1,
		Handlers: []jobtype.Handler{noop.Handler{}, sleeper{}, surge.Graphs{}}, Shared: strings.FieldsFunc(o.shared, func(r rune) bool { return r == ',' }),
	})
	if err != nil {
		return err
	}
	var stops []func()
	for _, queue := range []string{bare.NodeQueue(o.childID), bare.SharedQueue} {
		w := worker.New(dialed.Temporal(), queue, worker.Options{
			DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: o.slots,
			ActivityTaskPollerBehavior: worker.NewPollerBehaviorSimpleMaximum(worker.PollerBehaviorSimpleMaximumOptions{MaximumNumberOfPollers: min(o.slots, 5)}),
		})
		w.RegisterActivityWithOptions(bare.Execute, activity.RegisterOptions{Name: bare.Activity})
		if err := w.Start(); err != nil {
			return err
		}
		stops = append(stops, w.Stop)
	}
	err = node.Run(ctx)
	for _, stop := range stops {
		stop()
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// sharedJobType is the job type that the workers poll on its shared queue.
const sharedJobType = "noop-shared"
