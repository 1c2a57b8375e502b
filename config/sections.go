package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Bounds of what the sections may say.
const (
	maxResource          = 1_000_000
	minHeartbeatInterval = jobtype.Duration(time.Second)
	maxHeartbeatInterval = jobtype.Duration(time.Minute)
	maxFleetDuration     = jobtype.Duration(365 * 24 * time.Hour)
	// missedBeats is how many heartbeats a worker may miss before it can be
	// called unreachable; fewer would call every hiccup an outage.
	missedBeats = 3
	// What the audit log keeps travels as one argument of a workflow.
	defaultAuditEntries, minAuditEntries, maxAuditEntries = 4000, 100, 20_000
)

func topKeys() []string {
	return []string{"version", "owner", "temporal", "lanes", "resources", "cluster", "fleet", "audit", "job_types"}
}

func (l *loader) config(root *node) *Config {
	l.object(root, "", topKeys()...)
	loaded := &Config{
		Version:   l.version(root),
		Owner:     l.owner(root.get("owner")),
		Temporal:  l.temporal(root.get("temporal")),
		Lanes:     l.lanes(root.get("lanes")),
		Resources: l.resources(root.get("resources")),
		Cluster:   l.raw(root.get("cluster"), "cluster"),
		Fleet:     l.fleet(root.get("fleet")),
		Audit:     l.audit(root.get("audit")),
	}
	if !l.options.WithoutJobTypes {
		loaded.JobTypes = l.jobTypes(root, loaded)
	}
	return loaded
}

// owner names the configuration among those that share a namespace.
func (l *loader) owner(n *node) string {
	name := ""
	l.text(n, "owner", &name)
	if name != "" && jobtype.ValidateName(name) != nil {
		l.fault(n.place, "owner", "%s", jobtype.ValidateName(name))
	}
	return name
}

func (l *loader) version(root *node) int {
	written := root.get("version")
	if written == nil {
		l.fault(root.place, "version", "is missing: write `version: %d`", Version)
		return 0
	}
	version := 0
	before := len(l.faults)
	l.integer(written, "version", &version)
	if version != Version && len(l.faults) == before {
		l.fault(written.place, "version", "%d is not known: this Roundsman reads version %d", version, Version)
	}
	return version
}

// temporal layers the connection settings: defaults, Options.Temporal, the
// files, the environment.
func (l *loader) temporal(n *node) Temporal {
	settings := l.options.Temporal
	if settings.TLS != nil {
		copied := *settings.TLS
		settings.TLS = &copied
	}
	if l.object(n, "temporal", "address", "namespace", "api_key", "compression", "tls") {
		l.text(n.get("address"), "temporal.address", &settings.Address)
		l.text(n.get("namespace"), "temporal.namespace", &settings.Namespace)
		l.text(n.get("api_key"), "temporal.api_key", &settings.APIKey)
		l.text(n.get("compression"), "temporal.compression", &settings.Compression)
		if written := settings.Compression; written != "" && written != "none" && written != "gzip" {
			l.fault(n.get("compression").place, "temporal.compression", "%q: write none or gzip", written)
		}
		l.tls(n.get("tls"), &settings)
		l.address(n, settings.Address)
		if key := n.get("api_key"); key != nil {
			l.warn(key.place, "temporal.api_key", "a secret in a file: prefer the variable TEMPORAL_API_KEY")
		}
	}
	l.temporalFromEnvironment(&settings)
	if settings.Address == "" {
		settings.Address = "127.0.0.1:7233"
	}
	if settings.Namespace == "" {
		settings.Namespace = "default"
	}
	return settings
}

func (l *loader) address(n *node, address string) {
	if written := n.get("address"); written != nil && written.kind == kindText {
		if err := CheckAddress(address); err != nil {
			l.fault(written.place, "temporal.address", "%s", err)
		}
	}
}

// CheckAddress tells whether address is host:port, or that behind the scheme of a
// gRPC resolver (dns:///host:port).
func CheckAddress(address string) error {
	rest := address
	if _, target, found := strings.Cut(address, ":///"); found {
		rest = target
	}
	_, port, err := net.SplitHostPort(rest)
	number, portErr := strconv.Atoi(port)
	if err != nil || portErr != nil || number < 1 || number > 65535 {
		return fmt.Errorf("%q is not host:port, for instance 127.0.0.1:7233", address)
	}
	return nil
}

func (l *loader) tls(n *node, into *Temporal) {
	if !l.object(n, "temporal.tls", "disabled", "cert", "key", "ca", "server_name") {
		return
	}
	if into.TLS == nil {
		into.TLS = &TLS{}
	}
	l.flag(n.get("disabled"), "temporal.tls.disabled", &into.TLS.Disabled)
	l.text(n.get("cert"), "temporal.tls.cert", &into.TLS.Cert)
	l.text(n.get("key"), "temporal.tls.key", &into.TLS.Key)
	l.text(n.get("ca"), "temporal.tls.ca", &into.TLS.CA)
	l.text(n.get("server_name"), "temporal.tls.server_name", &into.TLS.ServerName)
	if (into.TLS.Cert == "") != (into.TLS.Key == "") {
		l.fault(n.place, "temporal.tls", "cert and key belong together: write both or none")
	}
}

func (l *loader) lanes(n *node) map[string]Lane {
	lanes := map[string]Lane{DefaultLane: {Exclusive: true}}
	for _, f := range l.named(n, "lanes", "lanes") {
		path := join("lanes", f.key)
		lane := Lane{Exclusive: true}
		if f.value.kind != kindNull && l.object(f.value, path, "exclusive", "windows", "blackouts") {
			l.flag(f.value.get("exclusive"), path+".exclusive", &lane.Exclusive)
			lane.Calendar = l.calendar(f.value, path, "")
		}
		lanes[f.key] = lane
	}
	return lanes
}

func (l *loader) resources(n *node) map[string]int {
	resources := map[string]int{}
	for _, f := range l.named(n, "resources", "pool sizes") {
		path, size := join("resources", f.key), 1
		l.integer(f.value, path, &size)
		if size < 1 || size > maxResource {
			l.fault(f.value.place, path, "%d is out of range: use 1 to %d", size, maxResource)
		}
		resources[f.key] = size
	}
	return resources
}

func (l *loader) audit(n *node) Audit {
	audit := Audit{Entries: defaultAuditEntries}
	if l.object(n, "audit", "entries") {
		l.integer(n.get("entries"), "audit.entries", &audit.Entries)
		if audit.Entries < minAuditEntries || audit.Entries > maxAuditEntries {
			l.fault(n.get("entries").place, "audit.entries", "%d is out of range: use %d to %d", audit.Entries, minAuditEntries, maxAuditEntries)
		}
	}
	return audit
}

// fleet reads the thresholds. Those that are left out follow the others, see
// [contract.FleetConfig.WithDefaults].
func (l *loader) fleet(n *node) Fleet {
	var fleet Fleet
	if !l.object(n, "fleet", "heartbeat_interval", "unreachable_after", "offline_after", "delete_after") {
		return Fleet(contract.FleetConfig{}.WithDefaults())
	}
	before := len(l.faults)
	l.duration(n.get("heartbeat_interval"), "fleet.heartbeat_interval", &fleet.HeartbeatInterval)
	l.duration(n.get("unreachable_after"), "fleet.unreachable_after", &fleet.UnreachableAfter)
	l.duration(n.get("offline_after"), "fleet.offline_after", &fleet.OfflineAfter)
	l.duration(n.get("delete_after"), "fleet.delete_after", &fleet.DeleteAfter)
	fleet = Fleet(contract.FleetConfig(fleet).WithDefaults())
	if len(l.faults) == before {
		l.fleetOrder(n, fleet)
	}
	return fleet
}

func (l *loader) fleetOrder(n *node, fleet Fleet) {
	blame := func(key, format string, args ...any) {
		at := n.place
		if written := n.get(key); written != nil {
			at = written.place
		}
		l.fault(at, "fleet."+key, format, args...)
	}
	if beat := fleet.HeartbeatInterval; beat < minHeartbeatInterval || beat > maxHeartbeatInterval {
		blame("heartbeat_interval", "%s is out of range: use %s to %s", beat, minHeartbeatInterval, maxHeartbeatInterval)
	}
	if least := missedBeats * fleet.HeartbeatInterval; fleet.UnreachableAfter <= least {
		blame("unreachable_after", "%s is too short: use more than %s, %d heartbeat intervals", fleet.UnreachableAfter, least, missedBeats)
	}
	if fleet.OfflineAfter <= fleet.UnreachableAfter {
		blame("offline_after", "%s must be longer than unreachable_after, %s", fleet.OfflineAfter, fleet.UnreachableAfter)
	}
	if fleet.DeleteAfter <= fleet.OfflineAfter || fleet.DeleteAfter > maxFleetDuration {
		blame("delete_after", "%s must be longer than offline_after, %s, and at most %s", fleet.DeleteAfter, fleet.OfflineAfter, maxFleetDuration)
	}
}
