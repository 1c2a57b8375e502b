package jobtype

import (
	"context"
	"encoding/json"
)

// ClusterUser is implemented by handlers that read the `cluster:` block of the
// configuration, so that its faults are found before a job meets them.
type ClusterUser interface {
	// ValidateCluster returns every fault of the block, joined. It contacts nothing;
	// `roundsman validate` calls it. cluster is nil if no block was written.
	ValidateCluster(cluster json.RawMessage) error
	// ProbeCluster contacts what the block names; `roundsman doctor` calls it.
	ProbeCluster(ctx context.Context, cluster json.RawMessage) []ClusterProbe
}

// ClusterProbe is one thing that was contacted.
type ClusterProbe struct {
	// Name says what, like "master 10.0.0.1:9333".
	Name string
	// Found says what it answered.
	Found string
	// Fix is what to do if it did not answer as it should; empty means that it did.
	Fix string
}
