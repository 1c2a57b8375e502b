package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
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

// startSelf starts this program as a child process. It ends with its standard input, so none is left behind.
func startSelf(ctx context.Context, b *bench, flags ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	child := exec.CommandContext(context.WithoutCancel(ctx), self, flags...)
	child.Stderr = b.log
	if _, err := child.StdinPipe(); err != nil {
		return nil, err
	}
	return child, child.Start()
}

var errStdinClosed = errors.New("the parent has gone")

// underParent returns a context that ends with the parent of this process.
func underParent(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel(errStdinClosed)
	}()
	return ctx
}

// beChild runs a Roundsman worker until the parent ends. With the same slots it runs bare SDK workers on a
// private queue and on the shared bare queue.
func beChild(ctx context.Context, o options) error {
	ctx = underParent(ctx)
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
