package jobtype

import (
	"context"
	"encoding/json"
)

// ClusterUser is implemented by handlers that read the `cluster:` block of the configuration.
type ClusterUser interface {
	// ValidateCluster returns every fault of the block without network access, for `roundsman validate`. cluster is
	// nil if the configuration has no block.
	ValidateCluster(cluster json.RawMessage) error
	// ProbeCluster contacts the servers in the block. `roundsman doctor` calls it.
	ProbeCluster(ctx context.Context, cluster json.RawMessage) []ClusterProbe
}

// ClusterProbe is the result of one contact.
type ClusterProbe struct {
	// Name is the target, for example "master 10.0.0.1:9333".
	Name string
	// Found is its response.
	Found string
	// Fix is the remedy; empty if the response was correct.
	Fix string
}
