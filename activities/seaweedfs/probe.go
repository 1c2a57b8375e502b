package seaweedfs

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

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

// probe asks every master for the topology, by itself, and connects to every filer.
// It takes no lease.
func probe(ctx context.Context, block json.RawMessage) []jobtype.ClusterProbe {
	spec, err := ReadSpec(block)
	if err != nil {
		return []jobtype.ClusterProbe{{Name: "cluster", Found: err.Error(), Fix: "correct the `cluster:` block; `roundsman validate` shows where"}}
	}
	var probes []jobtype.ClusterProbe
	for _, master := range spec.Masters {
		probes = append(probes, probeMaster(ctx, weed.Spec{Masters: []string{master}, TLS: spec.TLS}))
	}
	for _, filer := range spec.Filers {
		made := jobtype.ClusterProbe{Name: "filer " + filer, Found: "accepts connections"}
		if err := connect(ctx, filer); err != nil {
			made.Found, made.Fix = "does not answer: "+err.Error(), "start it, or correct cluster.filers; only admin_script needs one"
		}
		probes = append(probes, made)
	}
	return probes
}

func probeMaster(ctx context.Context, spec weed.Spec) jobtype.ClusterProbe {
	made := jobtype.ClusterProbe{Name: "master " + spec.Masters[0]}
	cluster, err := weed.Dial(spec)
	if err == nil {
		defer cluster.Close()
		topology, asked := cluster.Topology(ctx)
		if err = asked; err == nil {
			made.Found = fmt.Sprintf("knows %d volume servers", len(topology.Servers))
			return made
		}
	}
	made.Found, made.Fix = "gives no topology: "+err.Error(), "start it, or correct cluster.masters and cluster.tls; gRPC is expected at the port + 10000"
	return made
}

func connect(ctx context.Context, address string) error {
	target, err := weed.ParseAddress(address)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", target)
	if err != nil {
		return err
	}
	return conn.Close()
}
