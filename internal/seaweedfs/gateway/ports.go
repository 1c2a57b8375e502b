package gateway

import (
	"context"
	"encoding/json"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
)

// Fleet registers workers.
type Fleet interface {
	// Join registers a worker and serves its handlers until Leave. A [*RefusedError] means that another live worker
	// has the id.
	Join(ctx context.Context, worker Worker) (Member, error)
}

// Member is a registered worker.
type Member interface {
	// Failed receives the reason why the worker no longer belongs to the fleet.
	Failed() <-chan error
	// Resize changes the number of its slots.
	Resize(detect, execute int) error
	// Leave deregisters it at once and waits for its running handlers.
	Leave(ctx context.Context) error
}

// Worker describes a worker that joins.
type Worker struct {
	ID       string
	Labels   map[string]string
	Version  string
	Handlers []jobtype.Handler
	// MaxDetect and MaxExecute are the numbers of its slots.
	MaxDetect, MaxExecute int
}

// RefusedError is the reason why a worker may not join.
type RefusedError struct{ Err error }

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// Lease is the cluster's lock for work that changes volumes.
type Lease interface {
	// Hold waits for the lease of the cluster. waits receives the cause of the wait. held ends when the lease is
	// lost. The caller must call release.
	Hold(ctx context.Context, cluster json.RawMessage, waits func(weed.Blocked) error) (held context.Context, release func(), err error)
	// Gone reports whether the source of a move is deleted or unreadable.
	Gone(ctx context.Context, cluster json.RawMessage, move *pb.BalanceMove) bool
}

// NoLease has no lock. It is for tests, and for clusters without other maintenance.
type NoLease struct{}

// Hold implements [Lease].
func (NoLease) Hold(ctx context.Context, _ json.RawMessage, _ func(weed.Blocked) error) (held context.Context, release func(), err error) {
	return ctx, func() {}, nil
}

// Gone implements [Lease].
func (NoLease) Gone(context.Context, json.RawMessage, *pb.BalanceMove) bool { return false }
