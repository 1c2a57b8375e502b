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

// ValidateCluster implements [jobtype.ClusterUser].
func (h *handler) ValidateCluster(cluster json.RawMessage) error {
	_, err := ReadSpec(cluster)
	return err
}

// ProbeCluster implements [jobtype.ClusterUser].
func (h *handler) ProbeCluster(ctx context.Context, cluster json.RawMessage) []jobtype.ClusterProbe {
	return probe(ctx, cluster)
}

// ValidateCluster implements [jobtype.ClusterUser].
func (s *script) ValidateCluster(cluster json.RawMessage) error {
	_, err := ReadSpec(cluster)
	return err
}

// ProbeCluster implements [jobtype.ClusterUser].
func (s *script) ProbeCluster(ctx context.Context, cluster json.RawMessage) []jobtype.ClusterProbe {
	return probe(ctx, cluster)
}

func probe(ctx context.Context, block json.RawMessage) []jobtype.ClusterProbe {
	spec, err := ReadSpec(block)
	if err != nil {
		return []jobtype.ClusterProbe{{Name: "cluster", Found: err.Error(), Fix: "correct the `cluster:` block; `roundsman validate` shows where"}}
	}
	var probes []jobtype.ClusterProbe
	for _, probed := range weed.ProbeAll(ctx, spec) {
		probes = append(probes, jobtype.ClusterProbe(probed))
	}
	return probes
}
