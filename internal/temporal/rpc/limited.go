package rpc

import (
	"context"
	"errors"
	"math/rand/v2"
	"path"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// limitedPause is the shortest pause before a refused update is sent again, and
	// limitedSpread the first spread of it, which doubles limitedDoublings times.
	limitedPause     = 20 * time.Millisecond
	limitedSpread    = 40 * time.Millisecond
	limitedDoublings = 3
)

// RepeatLimited repeats an update that the server refuses because too many updates of
// its workflow are in flight, by default ten. They take milliseconds each, but the SDK
// repeats after up to a second: 200 workers that started at once needed a minute to
// register. The request carries the update's id, so that it has its effect once.
func RepeatLimited(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, options...)
	if name := path.Base(method); name != "UpdateWorkflowExecution" && name != "ExecuteMultiOperation" {
		return err
	}
	for attempt := 0; isLimited(err); attempt++ {
		spread := limitedSpread << min(attempt, limitedDoublings)
		if Wait(ctx, limitedPause+rand.N(spread)) != nil {
			return err
		}
		err = invoke(ctx, method, req, reply, cc, options...)
	}
	return err
}

// isLimited tells whether the server refused because of updates in flight.
func isLimited(err error) bool {
	if status.Code(err) != codes.ResourceExhausted {
		return false
	}
	err = serviceerror.FromStatus(status.Convert(err))
	refusals := []error{err}
	if several, ok := errors.AsType[*serviceerror.MultiOperationExecution](err); ok {
		refusals = several.OperationErrors()
	}
	for _, refusal := range refusals {
		exhausted, ok := errors.AsType[*serviceerror.ResourceExhausted](refusal)
		if ok && exhausted.Cause == enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT {
			return true
		}
	}
	return false
}
