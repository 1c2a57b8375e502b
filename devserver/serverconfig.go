package devserver

import (
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/primitives"
)

const (
	// clusterName is stored in the database, so it can never change.
	clusterName      = "active"
	archivalDisabled = "disabled"
)

// Metrics, pprof and the HTTP API stay unset: each would open another port.
func serverConfig(p ports, s store) *config.Config {
	frontend := hostPort(p.frontend)
	return &config.Config{
		Persistence: s.persistence,
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: frontend},
		Services: map[string]config.Service{
			string(primitives.FrontendService): service(p.frontend),
			string(primitives.HistoryService):  service(p.history),
			string(primitives.MatchingService): service(p.matching),
			string(primitives.WorkerService):   service(p.worker),
		},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: archivalDisabled},
			Visibility: config.VisibilityArchival{State: archivalDisabled},
		},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: archivalDisabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: archivalDisabled},
		}},
	}
}

func service(port int) config.Service {
	return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: loopback}}
}

// With one known host per service there is no membership port.
func staticHosts(p ports) map[primitives.ServiceName]static.Hosts {
	one := func(port int) static.Hosts {
		return static.Hosts{All: []string{hostPort(port)}, Self: hostPort(port)}
	}
	return map[primitives.ServiceName]static.Hosts{
		primitives.FrontendService: one(p.frontend),
		primitives.HistoryService:  one(p.history),
		primitives.MatchingService: one(p.matching),
		primitives.WorkerService:   one(p.worker),
	}
}
