package authoring

import (
	"context"
	"net/http"
	"time"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

const (
	// placeWithin is how long a document waits to be read.
	placeWithin = time.Second
	// placeAgain is when a document that was not read may be sent again.
	placeAgain = 2 * time.Second
)

// enter takes a place for reading a document. Without one in time the answer is 503.
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
