package starter

import (
	"context"
	"crypto/rand"
	"time"
)

// Request identifies an operator's request. Its ID becomes the id of updates and of patches, and the default name of
// runs: Temporal accepts each id once.
type Request struct {
	ID string
	// Time of the first attempt.
	At time.Time
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
