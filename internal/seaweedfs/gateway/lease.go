package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
)

const (
	// leaseClient is the name of the lock's holder in SeaweedFS.
	leaseClient  = "roundsman-gateway"
	maxClusters  = 64
	waitingEvery = time.Second
	// A busy machine would otherwise release the lease, and wait again, in the middle of a batch.
	linger = time.Second
)

// Leases hold the `shell` leases of clusters, shared by all jobs of this gateway.
type Leases struct {
	mu       sync.Mutex
	clusters map[string]*leased
}

type leased struct {
	cluster *weed.Cluster
	keeper  *weed.Keeper
}

// NewLeases returns an empty set of leases.
func NewLeases() *Leases { return &Leases{clusters: map[string]*leased{}} }

// Hold implements [Lease].
func (l *Leases) Hold(ctx context.Context, cluster json.RawMessage, waits func(weed.Blocked) error) (held context.Context, release func(), err error) {
	kept, err := l.of(cluster)
	if err != nil {
		return nil, nil, err
	}
	entering, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	entered := make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		ticker := time.NewTicker(waitingEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if err := waits(kept.keeper.Blocked()); err != nil {
					giveUp(err)
				}
			case <-entered:
				return
			}
		}
	})
	hold, err := kept.keeper.Enter(entering)
	close(entered)
	telling.Wait()
	if err != nil {
		if blocked := kept.keeper.Blocked().Reason; blocked != "" && !errors.Is(err, errSilent) {
			err = fmt.Errorf("%s: %w", blocked, err)
		}
		return nil, nil, err
	}
	held, end := hold.Context(ctx)
	return held, func() { end(); hold.Leave() }, nil
}

// Gone implements [Lease].
func (l *Leases) Gone(ctx context.Context, cluster json.RawMessage, move *pb.BalanceMove) bool {
	kept, err := l.of(cluster)
	if err != nil {
		return true
	}
	return kept.cluster.Replica(ctx, move.GetSourceNode(), move.GetVolumeId()).Presence != steps.Present
}

func (l *Leases) of(cluster json.RawMessage) (*leased, error) {
	var spec weed.Spec
	if err := json.Unmarshal(cluster, &spec); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	spec.Filers, spec.S3 = nil, nil // The lease does not involve them.
	key, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if kept := l.clusters[string(key)]; kept != nil {
		return kept, nil
	}
	if len(l.clusters) >= maxClusters {
		return nil, fmt.Errorf("this gateway has worked for %d clusters, the limit: start another one", maxClusters)
	}
	dialed, err := weed.Dial(spec)
	if err != nil {
		return nil, err
	}
	kept := &leased{dialed, weed.NewKeeper(dialed, leaseClient, weed.KeeperOptions{Linger: linger})}
	l.clusters[string(key)] = kept
	return kept, nil
}

// Close releases the leases and closes the connections. All jobs must have ended.
func (l *Leases) Close(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var faults []error
	for _, kept := range l.clusters {
		faults = append(faults, kept.keeper.Close(ctx), kept.cluster.Close())
	}
	clear(l.clusters)
	return errors.Join(faults...)
}
