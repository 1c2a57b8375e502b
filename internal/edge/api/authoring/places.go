package authoring

import (
	"context"
	"net/http"
	"time"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

const (
	// placeWithin bounds the wait of a document for its place.
	placeWithin = time.Second
	// placeAgain is the Retry-After for a document without a place.
	placeAgain = 2 * time.Second
)

// enter takes a place for reading a document. Without a free place in time it returns a 503.
func (s *service) enter(ctx context.Context) (leave func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, placeWithin)
	defer cancel()
	select {
	case s.places <- struct{}{}:
		return func() { <-s.places }, nil
	case <-ctx.Done():
	}
	busy := problem.Newf(http.StatusServiceUnavailable, problem.CodeUnavailable, "%d documents are being read, and no more are at once", cap(s.places)).
		With("send it again in a moment")
	busy.RetryAfter, busy.Retryable = placeAgain, true
	return nil, busy
}
