package weed

import (
	"context"
	"fmt"
	"net"

	"github.com/roundsman/roundsman/jobtype"
)

// ProbeAll contacts every master, filer and S3 server, unless the `cluster:` block has a fault. It takes no lease.
func ProbeAll(ctx context.Context, spec Spec, fault error) []jobtype.ClusterProbe {
	if fault != nil {
		return []jobtype.ClusterProbe{{Name: "cluster", Found: fault.Error(), Fix: "correct the `cluster:` block; `roundsman validate` shows where"}}
	}
	var probes []jobtype.ClusterProbe
	for _, master := range spec.Masters {
		probes = append(probes, probeMaster(ctx, Spec{Masters: []string{master}, TLS: spec.TLS}))
	}
	for _, filer := range spec.Filers {
		probes = append(probes, probeListener(ctx, spec.TLS, "filer "+filer, filer, "start it, or correct cluster.filers"))
	}
	for _, s3 := range spec.S3 {
		probes = append(probes, probeListener(ctx, spec.TLS, "S3 server "+s3, s3, "start it, or correct cluster.s3"))
	}
	return probes
}

func probeMaster(ctx context.Context, spec Spec) jobtype.ClusterProbe {
	made := jobtype.ClusterProbe{Name: "master " + spec.Masters[0]}
	cluster, err := Dial(spec)
	if err == nil {
		defer cluster.Close()
		topology, asked := cluster.Topology(ctx)
		if err = asked; err == nil {
			made.Found = fmt.Sprintf("knows %d volume servers", len(topology.Servers))
			return made
		}
	}
	if target, bad := ParseAddress(spec.Masters[0]); bad == nil {
		if fault := tlsFault(ctx, spec.TLS, target); fault != nil {
			err = fault
		}
	}
	made.Found, made.Fix = "gives no topology: "+err.Error(), "start it, or correct cluster.masters and cluster.tls; gRPC is expected at the port + 10000"
	return made
}

func probeListener(ctx context.Context, spec *TLS, name, address, fix string) jobtype.ClusterProbe {
	made := jobtype.ClusterProbe{Name: name, Found: "accepts connections"}
	target, err := ParseAddress(address)
	if err == nil {
		var conn net.Conn
		if conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", target); err == nil {
			err = conn.Close()
		}
	}
	if err == nil && spec != nil {
		if err = tlsFault(ctx, spec, target); err != nil {
			fix = "correct cluster.tls"
		}
	}
	if err != nil {
		made.Found, made.Fix = "does not answer: "+err.Error(), fix
	}
	return made
}
