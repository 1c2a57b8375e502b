package rpc

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
)

// ErrStopping ends an activity whose process stops. It is retryable: the next control plane continues.
var ErrStopping = errors.New("the control plane is stopping; its successor continues")

// NextEvent waits for one value of events. If the activity is canceled first, it returns the cause; if the process
// stops first, ErrStopping.
func NextEvent[T any](ctx context.Context, events <-chan T) error {
	select {
	case <-events:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-activity.GetWorkerStopChannel(ctx):
		return ErrStopping
	}
}
