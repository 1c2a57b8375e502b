package seaweedfs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
)

// Connections are the clusters of a process's handlers, with one connection and one lease each.
type Connections struct {
	options weed.KeeperOptions

	mu    sync.Mutex
	known map[string]*connection
}

type connection struct {
	*weed.Cluster
	keeper *weed.Keeper
	spec   weed.Spec
}

// NewConnections returns an empty set. The zero options suit a real master.
func NewConnections(options weed.KeeperOptions) *Connections {
	return &Connections{options: options, known: map[string]*connection{}}
}

// Close releases the leases and ends all connections. All jobs have ended before.
func (c *Connections) Close(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var faults []error
	for _, known := range c.known {
		faults = append(faults, known.keeper.Close(ctx), known.Cluster.Close())
	}
	clear(c.known)
	return errors.Join(faults...)
}

// ReadSpec reads the `cluster:` block.
func ReadSpec(block json.RawMessage) (weed.Spec, error) {
	var spec weed.Spec
	if len(bytes.TrimSpace(block)) == 0 || string(block) == "null" {
		return spec, errors.New("cluster: write `cluster: {masters: [HOST:PORT]}` at the top of the configuration")
	}
	decoder := json.NewDecoder(bytes.NewReader(block))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&spec); err != nil {
		return spec, fmt.Errorf("cluster: %w", err)
	}
	return spec, spec.Validate()
}

func (c *Connections) of(block json.RawMessage) (*connection, error) {
	spec, err := ReadSpec(block)
	if err != nil {
		return nil, jobtype.Permanent(err)
	}
	key, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.known[string(key)]; ok {
		return known, nil
	}
	cluster, err := weed.Dial(spec)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	made := &connection{cluster, weed.NewKeeper(cluster, fmt.Sprintf("roundsman@%s/%d", host, os.Getpid()), c.options), spec}
	c.known[string(key)] = made
	return made, nil
}
