// Package waiting holds the one wait of the control plane's activities: it ends
// when the activity is canceled and when its process stops, so that a stop is
// not delayed by a pause and the next control plane takes the activity over.
package waiting

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
)

// ErrStopping ends an activity whose process stops. It is retryable: the next
// control plane continues.
var ErrStopping = errors.New("the control plane is stopping; its successor continues")

// Next waits for one value of events, usually a ticker's or time.After's. It
// returns the cause of ctx's end, or ErrStopping, if that comes first.
func Next[T any](ctx context.Context, events <-chan T) error {
	select {
	case <-events:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-activity.GetWorkerStopChannel(ctx):
		return ErrStopping
	}
}
