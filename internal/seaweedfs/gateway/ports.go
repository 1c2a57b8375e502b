package gateway

import (
	"context"
	"encoding/json"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
)

// Fleet is where workers are registered.
type Fleet interface {
	// Join registers a worker and serves its handlers until Leave. It returns a
	// [*RefusedError] where another live worker has the id. ctx bounds the attempt.
	Join(ctx context.Context, worker Worker) (Member, error)
}

// Member is a worker that has joined.
type Member interface {
	// Failed gets why the worker no longer belongs to the fleet.
	Failed() <-chan error
	// Resize changes how much it takes at once.
	Resize(detect, execute int) error
	// Leave deregisters it at once and waits for what its handlers still run, which get
	// the drain time of the gateway.
	Leave(ctx context.Context) error
}

// Worker is what joins.
type Worker struct {
	ID       string
	Labels   map[string]string
	Version  string
	Handlers []jobtype.Handler
	// MaxDetect and MaxExecute are how much it takes at once.
	MaxDetect, MaxExecute int
}

// RefusedError says why a worker may not join.
type RefusedError struct{ Err error }

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap gives the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// Lease is the cluster's lock for whatever changes volumes.
type Lease interface {
	// Hold waits for the lease of the cluster that the `cluster:` block names; waits is
	// told what for, now and then. held ends when the lease is lost. release must be
	// called.
	Hold(ctx context.Context, cluster json.RawMessage, waits func(weed.Blocked) error) (held context.Context, release func(), err error)
	// Gone reports whether the source of a move is deleted, or cannot be read.
	Gone(ctx context.Context, cluster json.RawMessage, move *pb.BalanceMove) bool
}

// NoLease holds nothing. It is for tests, and for clusters that nobody else maintains.
type NoLease struct{}

// Hold implements [Lease].
func (NoLease) Hold(ctx context.Context, _ json.RawMessage, _ func(weed.Blocked) error) (held context.Context, release func(), err error) {
	return ctx, func() {}, nil
}

// Gone implements [Lease].
func (NoLease) Gone(context.Context, json.RawMessage, *pb.BalanceMove) bool { return false }
