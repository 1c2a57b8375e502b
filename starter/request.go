package starter

import (
	"context"
	"crypto/rand"
	"time"
)

// Request names what somebody asks for, so that asking for it again does not do it
// again. It becomes the id of updates and of patches of Schedules, and the name of runs
// that have no other; Temporal takes each once.
type Request struct {
	ID string
	// At is when it was asked for first.
	At time.Time
}

type requestKey struct{}

// WithRequest makes what is done with the context part of a request.
func WithRequest(ctx context.Context, request Request) context.Context {
	return context.WithValue(ctx, requestKey{}, request)
}

// RequestOf is the request that the context is part of; false: it is part of none.
func RequestOf(ctx context.Context) (Request, bool) {
	request, known := ctx.Value(requestKey{}).(Request)
	return request, known
}

// updateID names an update: a repeated request repeats it.
func updateID(ctx context.Context, name string) string {
	if request, known := RequestOf(ctx); known {
		return request.ID + "/" + name
	}
	return rand.Text()
}
