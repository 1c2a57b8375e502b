package seaweedfs

import (
	"context"
	"encoding/json"

	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
)

var (
	_ jobtype.ClusterUser = (*handler)(nil)
	_ jobtype.ClusterUser = (*script)(nil)
)

// clusterUser implements [jobtype.ClusterUser] for all handlers.
type clusterUser struct{}

// ValidateCluster implements [jobtype.ClusterUser].
func (clusterUser) ValidateCluster(block json.RawMessage) error {
	_, err := ReadSpec(block)
	return err
}

// ProbeCluster implements [jobtype.ClusterUser].
func (clusterUser) ProbeCluster(ctx context.Context, block json.RawMessage) []jobtype.ClusterProbe {
	spec, err := ReadSpec(block)
	return weed.ProbeAll(ctx, spec, err)
}
