package starter

import (
	"context"
	"crypto/rand"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// Request identifies an operator's request. Its ID becomes the id of updates, signals and patches, and the default name
// of runs: Temporal accepts each id once.
type Request struct {
	ID string
	// Time of the first attempt.
	At time.Time
	// Version is the state of the thing at the first attempt, if the operation has versions.
	Version string
}

type requestKey struct{}

// WithRequest marks all actions with the context as part of a request.
func WithRequest(ctx context.Context, request Request) context.Context {
	return context.WithValue(ctx, requestKey{}, request)
}

// RequestOf returns the request of the context, or false without one.
func RequestOf(ctx context.Context) (Request, bool) {
	request, known := ctx.Value(requestKey{}).(Request)
	return request, known
}

func updateID(ctx context.Context, name string) string {
	if request, known := RequestOf(ctx); known {
		return request.ID + "/" + name
	}
	return rand.Text()
}

// signalOnce gives all attempts of a request to send a signal one id: the server drops a signal whose id the
// workflow run has. A run that has continued as new takes it again.
func signalOnce(ctx context.Context, method string, in, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	signal, is := in.(*workflowservice.SignalWorkflowExecutionRequest)
	if _, known := RequestOf(ctx); is && known {
		signal.RequestId = updateID(ctx, signal.GetSignalName())
	}
	return invoke(ctx, method, in, reply, cc, options...)
}
