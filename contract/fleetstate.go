package contract

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// FleetConfig holds the thresholds of the registry. Zero fields mean the default.
type FleetConfig struct {
	// The workers' WorkerHeartbeatInterval. Default 5s. A heartbeat changed within three intervals is fresh.
	HeartbeatInterval jobtype.Duration `json:"heartbeat_interval,omitempty"`
	// Counted from the last heartbeat. Defaults: 2m; three times UnreachableAfter; 24h.
	UnreachableAfter jobtype.Duration `json:"unreachable_after,omitempty"`
	OfflineAfter     jobtype.Duration `json:"offline_after,omitempty"`
	DeleteAfter      jobtype.Duration `json:"delete_after,omitempty"`
}

// ConfigureFleetInput is the argument of [UpdateConfigureFleet].
type ConfigureFleetInput struct {
	FleetConfig
	// The control plane's file has no thresholds: the applied ones stay.
	Undeclared bool `json:"undeclared,omitempty"`
	// Plane is the sender; nil if it is unknown.
	Plane *ControlPlane `json:"plane,omitempty"`
}

// ControlPlane is a process of the control plane and the settings in its file.
type ControlPlane struct {
	// Identity is the name that Temporal lists for its polls.
	Identity string `json:"identity"`
	// By is the user that the process runs as.
	By string `json:"by,omitempty"`
	// Sections of its file as text, without secrets.
	Settings map[string]string `json:"settings,omitempty"`
	// At is the time of its last start.
	At time.Time `json:"at,omitzero"`
}

// ThresholdsResult answers [QueryThresholds].
type ThresholdsResult struct {
	Config FleetConfig `json:"config"`
	// Configured is false if no control plane has set Config; it holds the defaults then.
	Configured bool `json:"configured"`
	// Planes are the control planes that were started last, ended ones included.
	Planes []ControlPlane `json:"planes,omitempty"`
}

// FleetInput starts the registry.
type FleetInput struct {
	// Nil if the starter has none, as a worker. The registry then requests it from the observer.
	Config *FleetConfig `json:"config,omitempty"`
	// State is the snapshot on continue-as-new, as gzipped JSON, far below the server's limit for thousands of workers.
	State []byte           `json:"state,omitempty"`
	Audit *AuditTrailState `json:"audit,omitempty"`
	// EndUnknown means that the end of the registry before is still to be looked up for the audit log.
	EndUnknown bool `json:"end_unknown,omitempty"`
}

// Bounds of a registration.
const (
	// MaxWorkers is the maximum number of workers in one registry.
	MaxWorkers = 5000
	// MaxRegistrationBytes bounds one registration as JSON.
	MaxRegistrationBytes = 256 << 10
)

// WorkerPulse is the observed heartbeat of one incarnation.
type WorkerPulse struct {
	Incarnation
	// By the observer's clock: the server's clock at the observer's start plus the time elapsed since.
	LastChange time.Time `json:"last_change"`
	Fresh      bool      `json:"fresh,omitempty"`
	// Seen means that a heartbeat was observed, not only the registration.
	Seen bool `json:"seen,omitempty"`
	// Time in a heartbeat that alone does not prove that the worker lives. A different time proves it.
	Beat time.Time `json:"beat,omitzero"`
	// SkewMS is the worker's clock minus the observer's, in milliseconds.
	SkewMS       int64 `json:"skew_ms,omitempty"`
	ShuttingDown bool  `json:"shutting_down,omitempty"`
}

// Skew returns the worker's clock minus the observer's.
func (p WorkerPulse) Skew() time.Duration { return time.Duration(p.SkewMS) * time.Millisecond }

// ObserveWorkersInput is the argument of [ObserveWorkersActivity].
type ObserveWorkersInput struct {
	// Config is nil if the registry has no thresholds yet. The observer then returns its own at once.
	Config *FleetConfig `json:"config,omitempty"`
	// Known lists every incarnation in the registry.
	Known []WorkerPulse `json:"known,omitempty"`
	// Incarnations that beat without holding an id. The observer makes them check the registry.
	Strangers []Incarnation `json:"strangers,omitempty"`
	// WakeAt is the time to return even without a change: a silent worker reaches a threshold.
	WakeAt time.Time `json:"wake_at,omitzero"`
	// SightSince and SightUntil bound the last span of observation without a gap.
	SightSince time.Time `json:"sight_since,omitzero"`
	SightUntil time.Time `json:"sight_until,omitzero"`
}

// ObserveWorkersResult lists the changes.
type ObserveWorkersResult struct {
	Config  *FleetConfig  `json:"config,omitempty"`
	Changes []WorkerPulse `json:"changes,omitempty"`
	// Span of observation without a gap. The result is valid at SightUntil.
	SightSince time.Time `json:"sight_since,omitzero"`
	SightUntil time.Time `json:"sight_until,omitzero"`
}

// HeartbeatsUnsupportedError is the observer's error type for a server without worker heartbeats.
const HeartbeatsUnsupportedError = "worker_heartbeats_unsupported"

// Defaults of [FleetConfig].
const (
	DefaultHeartbeatInterval = 5 * time.Second
	DefaultUnreachableAfter  = 2 * time.Minute
	DefaultDeleteAfter       = 24 * time.Hour
)

// WithDefaults fills in zero fields. DeleteAfter is 24h, or four times OfflineAfter if that is longer.
func (c FleetConfig) WithDefaults() FleetConfig {
	c.HeartbeatInterval = cmp.Or(c.HeartbeatInterval, jobtype.Duration(DefaultHeartbeatInterval))
	c.UnreachableAfter = cmp.Or(c.UnreachableAfter, jobtype.Duration(DefaultUnreachableAfter))
	c.OfflineAfter = cmp.Or(c.OfflineAfter, 3*c.UnreachableAfter)
	c.DeleteAfter = cmp.Or(c.DeleteAfter, max(jobtype.Duration(DefaultDeleteAfter), 4*c.OfflineAfter))
	return c
}

// FreshFor returns how long a change of the heartbeat keeps a worker fresh at most.
func (c FleetConfig) FreshFor() time.Duration { return 3 * c.HeartbeatInterval.Std() }

// Validate returns every fault of a FleetConfig whose defaults are filled in.
func (c FleetConfig) Validate() error {
	var faults []error
	if c.HeartbeatInterval.Std() < time.Second || c.HeartbeatInterval.Std() > time.Minute {
		faults = append(faults, fmt.Errorf("heartbeat interval %s is out of range: use 1s to 1m", c.HeartbeatInterval))
	}
	if c.UnreachableAfter.Std() <= c.FreshFor() {
		faults = append(faults, fmt.Errorf("unreachable threshold %s must be longer than three heartbeat intervals (%s)", c.UnreachableAfter, c.FreshFor()))
	}
	if c.OfflineAfter <= c.UnreachableAfter {
		faults = append(faults, fmt.Errorf("offline threshold %s must be longer than the unreachable threshold %s", c.OfflineAfter, c.UnreachableAfter))
	}
	if c.DeleteAfter <= c.OfflineAfter {
		faults = append(faults, fmt.Errorf("delete threshold %s must be longer than the offline threshold %s", c.DeleteAfter, c.OfflineAfter))
	}
	return errors.Join(faults...)
}
