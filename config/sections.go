package config

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/suggest"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// Bounds of the sections.
const (
	maxResource          = 1_000_000
	minHeartbeatInterval = jobtype.Duration(time.Second)
	maxHeartbeatInterval = jobtype.Duration(time.Minute)
	maxFleetDuration     = jobtype.Duration(365 * 24 * time.Hour)
	// Fewer missed heartbeats would turn every short delay into an outage.
	missedBeats = 3
	// Operators who wait for a run look at it within an hour after its end.
	minRetention = jobtype.Duration(time.Hour)
	maxRetention = jobtype.Duration(10 * 365 * 24 * time.Hour)
	// All entries of the audit log travel as one workflow argument.
	defaultAuditEntries, minAuditEntries, maxAuditEntries = 4000, 100, 20_000
)

func topKeys() []string {
	return []string{"version", "owner", "temporal", "lanes", "resources", "cluster", "fleet", "audit", "retention", "access", "notify", "defaults", "job_types"}
}

func (l *loader) config(root *yamlread.Node) *Config {
	l.object(root, "", topKeys()...)
	if l.options.OnlyTemporal {
		return &Config{Temporal: l.temporal(root.Get("temporal"))}
	}
	loaded := &Config{
		Version:   l.version(root),
		Owner:     l.owner(root.Get("owner")),
		Temporal:  l.temporal(root.Get("temporal")),
		Lanes:     l.lanes(root.Get("lanes")),
		Resources: l.resources(root.Get("resources")),
		Cluster:   l.raw(root.Get("cluster"), "cluster"),
		Fleet:     l.fleet(root.Get("fleet")),
		Audit:     l.audit(root.Get("audit")),
		Retention: l.retention(root.Get("retention")),
		Access:    l.access(root.Get("access")),
		Notify:    l.notify(root.Get("notify")),
	}
	if !l.options.WithoutJobTypes {
		loaded.JobTypes = l.jobTypes(root, loaded)
	}
	return loaded
}

func (l *loader) owner(n *yamlread.Node) string {
	name := ""
	l.text(n, "owner", &name)
	if name != "" && jobtype.ValidateName(name) != nil {
		l.fault(n.Place(), "owner", "%s", jobtype.ValidateName(name))
	}
	return name
}

func (l *loader) version(root *yamlread.Node) int {
	written := root.Get("version")
	if written == nil {
		l.fault(root.Place(), "version", "is missing: write `version: %d`", Version)
		return 0
	}
	version := 0
	before := len(l.faults)
	l.integer(written, "version", &version)
	if version != Version && len(l.faults) == before {
		l.fault(written.Place(), "version", "%d is not known: this Roundsman reads version %d", version, Version)
	}
	return version
}

// temporal merges the connection settings: defaults, Options.Temporal, the files, the environment.
func (l *loader) temporal(n *yamlread.Node) Temporal {
	settings := l.options.Temporal
	if settings.TLS != nil {
		settings.TLS = new(*settings.TLS)
	}
	if l.object(n, "temporal", "address", "namespace", "api_key", "compression", "tls") {
		l.text(n.Get("address"), "temporal.address", &settings.Address)
		l.text(n.Get("namespace"), "temporal.namespace", &settings.Namespace)
		l.text(n.Get("api_key"), "temporal.api_key", &settings.APIKey)
		l.text(n.Get("compression"), "temporal.compression", &settings.Compression)
		if written := settings.Compression; written != "" && written != "none" && written != "gzip" {
			l.fault(n.Get("compression").Place(), "temporal.compression", "%q: write none or gzip", written)
		}
		l.tls(n.Get("tls"), &settings)
		l.address(n, &settings)
		if key := n.Get("api_key"); key != nil {
			l.warn(key.Place(), "temporal.api_key", "a secret in a file: prefer the variable TEMPORAL_API_KEY")
		}
	}
	l.temporalFromEnvironment(&settings)
	if settings.Address == "" {
		settings.Address, settings.Source = "127.0.0.1:7233", "the default"
	}
	settings.Namespace = cmp.Or(settings.Namespace, "default")
	return settings
}

func (r *reader) address(n *yamlread.Node, settings *Temporal) {
	if written := n.Get("address"); written != nil && written.Kind == yamlread.Text {
		settings.Written, settings.File = settings.Address, written.Place().File
		settings.Source = settings.File
		if err := CheckAddress(settings.Address); err != nil {
			r.fault(written.Place(), "temporal.address", "%s", err)
		}
	}
}

// CheckAddress accepts host:port, optionally behind the scheme of a gRPC resolver (dns:///host:port).
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

func (l *loader) tls(n *yamlread.Node, into *Temporal) {
	if !l.object(n, "temporal.tls", "disabled", "cert", "key", "ca", "server_name") {
		return
	}
	into.TLS = cmp.Or(into.TLS, &TLS{})
	l.flag(n.Get("disabled"), "temporal.tls.disabled", &into.TLS.Disabled)
	l.text(n.Get("cert"), "temporal.tls.cert", &into.TLS.Cert)
	l.text(n.Get("key"), "temporal.tls.key", &into.TLS.Key)
	l.text(n.Get("ca"), "temporal.tls.ca", &into.TLS.CA)
	l.text(n.Get("server_name"), "temporal.tls.server_name", &into.TLS.ServerName)
	if (into.TLS.Cert == "") != (into.TLS.Key == "") {
		l.fault(n.Place(), "temporal.tls", "cert and key belong together: write both or none")
	}
}

func (l *loader) lanes(n *yamlread.Node) map[string]Lane {
	lanes := map[string]Lane{}
	for _, f := range l.named(n, "lanes", "lanes") {
		path := join("lanes", f.Key)
		lane := Lane{Exclusive: true}
		if f.Value.Kind != yamlread.Null && l.object(f.Value, path, "exclusive", "windows", "blackouts") {
			l.flag(f.Value.Get("exclusive"), path+".exclusive", &lane.Exclusive)
			lane.Calendar = l.calendar(f.Value, path, "")
		}
		lanes[f.Key] = lane
	}
	return lanes
}

func (l *loader) resources(n *yamlread.Node) map[string]int {
	return l.amounts(n, "resources", "pool sizes", func(string) int { return maxResource })
}

// A limit of 0 means that the name already has a fault.
func (r *reader) amounts(n *yamlread.Node, path, what string, limit func(name string) int) map[string]int {
	amounts := map[string]int{}
	for _, f := range r.named(n, path, what) {
		at, amount, most := join(path, f.Key), 1, limit(f.Key)
		r.integer(f.Value, at, &amount)
		if most > 0 && (amount < 1 || amount > most) {
			r.fault(f.Value.Place(), at, "%d is out of range: use 1 to %d", amount, most)
		}
		amounts[f.Key] = amount
	}
	return amounts
}

func (l *loader) jobResources(e entry, pools map[string]int) map[string]int {
	written, path := e.node.Field("resources"), e.path+".resources"
	if written == nil {
		return nil
	}
	if e.node.Get("dag") != nil {
		l.fault(written.At, path, "a job type with dag takes nothing itself: give its tasks resources")
		return nil
	}
	return l.amounts(written.Value, path, "pools", func(name string) int {
		size, declared := pools[name]
		if !declared {
			l.fault(written.Value.Field(name).At, join(path, name), "there is no such pool%s: write its size under the top level resources", suggest.Clause(name, slices.Sorted(maps.Keys(pools))))
		}
		return size
	})
}

func (l *loader) audit(n *yamlread.Node) Audit {
	audit := Audit{Entries: defaultAuditEntries}
	if l.object(n, "audit", "entries") {
		l.integer(n.Get("entries"), "audit.entries", &audit.Entries)
		if audit.Entries < minAuditEntries || audit.Entries > maxAuditEntries {
			l.fault(n.Get("entries").Place(), "audit.entries", "%d is out of range: use %d to %d", audit.Entries, minAuditEntries, maxAuditEntries)
		}
	}
	return audit
}

func (l *loader) retention(n *yamlread.Node) Retention {
	var kept Retention
	if l.object(n, "retention", "runs", "audit") {
		l.kept(n.Get("runs"), "retention.runs", &kept.Runs)
		l.kept(n.Get("audit"), "retention.audit", &kept.Audit)
	}
	return kept
}

func (r *reader) kept(n *yamlread.Node, path string, into *jobtype.Duration) {
	r.duration(n, path, into)
	if *into != 0 && (*into < minRetention || *into > maxRetention) {
		r.fault(n.Place(), path, "%s is out of range: use %s to %s", *into, minRetention, maxRetention)
	}
}

// Missing thresholds derive from others, see [contract.FleetConfig.WithDefaults].
func (l *loader) fleet(n *yamlread.Node) Fleet {
	var fleet Fleet
	if !l.object(n, "fleet", "heartbeat_interval", "unreachable_after", "offline_after", "delete_after") {
		return fleetOf(contract.FleetConfig{})
	}
	before := len(l.faults)
	l.duration(n.Get("heartbeat_interval"), "fleet.heartbeat_interval", &fleet.HeartbeatInterval)
	l.duration(n.Get("unreachable_after"), "fleet.unreachable_after", &fleet.UnreachableAfter)
	l.duration(n.Get("offline_after"), "fleet.offline_after", &fleet.OfflineAfter)
	l.duration(n.Get("delete_after"), "fleet.delete_after", &fleet.DeleteAfter)
	fleet = fleetOf(fleet.Thresholds())
	fleet.Declared = true
	if len(l.faults) == before {
		l.fleetOrder(n, fleet)
	}
	return fleet
}

func fleetOf(c contract.FleetConfig) Fleet {
	c = c.WithDefaults()
	return Fleet{HeartbeatInterval: c.HeartbeatInterval, UnreachableAfter: c.UnreachableAfter, OfflineAfter: c.OfflineAfter, DeleteAfter: c.DeleteAfter}
}

// Thresholds returns the section as the registry takes it.
func (f Fleet) Thresholds() contract.FleetConfig {
	return contract.FleetConfig{HeartbeatInterval: f.HeartbeatInterval, UnreachableAfter: f.UnreachableAfter, OfflineAfter: f.OfflineAfter, DeleteAfter: f.DeleteAfter}
}

func (l *loader) fleetOrder(n *yamlread.Node, fleet Fleet) {
	blame := func(key, format string, args ...any) {
		at := n.Place()
		if written := n.Get(key); written != nil {
			at = written.Place()
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
