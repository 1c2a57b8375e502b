package contract

import (
	"errors"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// FleetConfig holds the thresholds of the registry. Zero fields mean the
// default.
type FleetConfig struct {
	// HeartbeatInterval is the workers' WorkerHeartbeatInterval; default 5s. A
	// heartbeat that changed within three of them is fresh.
	HeartbeatInterval jobtype.Duration `json:"heartbeat_interval,omitempty"`
	// All thresholds are counted from the last heartbeat; default 2m, three
	// times UnreachableAfter, and 24h. A worker that unregistered is deleted
	// DeleteAfter that.
	UnreachableAfter jobtype.Duration `json:"unreachable_after,omitempty"`
	OfflineAfter     jobtype.Duration `json:"offline_after,omitempty"`
	DeleteAfter      jobtype.Duration `json:"delete_after,omitempty"`
}

// FleetInput starts the registry.
type FleetInput struct {
	// Config is nil where the starter does not know it, as a worker does not: the
	// registry then asks the observer of the control plane.
	Config *FleetConfig `json:"config,omitempty"`
	// State is set when the registry continues as new, and only then: its
	// snapshot as gzipped JSON, so that thousands of workers stay far below the
	// server's limit whatever data converter is in use.
	State []byte `json:"state,omitempty"`
	// Audit holds entries that the audit log does not have yet; nil: none.
	Audit *AuditTrailState `json:"audit,omitempty"`
}

// Bounds of a registration.
const (
	// MaxWorkers is how many workers one registry takes.
	MaxWorkers = 5000
	// MaxRegistrationBytes bounds one registration as JSON.
	MaxRegistrationBytes = 256 << 10
)

// WorkerPulse is what is known of the heartbeat of one incarnation.
type WorkerPulse struct {
	Incarnation
	// LastChange is when it last changed, in the observer's time, which is the
	// server's clock at the observer's start plus what has elapsed since.
	LastChange time.Time `json:"last_change"`
	Fresh      bool      `json:"fresh,omitempty"`
	// Seen: a heartbeat was observed; otherwise only its registration was.
	Seen bool `json:"seen,omitempty"`
	// Beat is the time that a heartbeat carried which does not show by itself
	// that the worker lives: once it carries another, it does.
	Beat time.Time `json:"beat,omitzero"`
	// SkewMS is the worker's clock minus the observer's, in milliseconds.
	SkewMS       int64 `json:"skew_ms,omitempty"`
	ShuttingDown bool  `json:"shutting_down,omitempty"`
}

// Skew is the worker's clock minus the observer's.
func (p WorkerPulse) Skew() time.Duration { return time.Duration(p.SkewMS) * time.Millisecond }

// ObserveWorkersInput is the argument of [ObserveWorkersActivity].
type ObserveWorkersInput struct {
	// Config is nil if the registry does not know its thresholds yet: the
	// observer then answers its own at once.
	Config *FleetConfig `json:"config,omitempty"`
	// Known is every incarnation that the registry knows, as it knows it.
	Known []WorkerPulse `json:"known,omitempty"`
	// Strangers are incarnations that beat without holding an id: the observer
	// asks them to look at the registry.
	Strangers []Incarnation `json:"strangers,omitempty"`
	// WakeAt is when to return although nothing has changed: a silent worker
	// reaches a threshold.
	WakeAt time.Time `json:"wake_at,omitzero"`
	// SightSince and SightUntil are the last span without a gap in which the
	// observer looked.
	SightSince time.Time `json:"sight_since,omitzero"`
	SightUntil time.Time `json:"sight_until,omitzero"`
}

// ObserveWorkersResult tells what changed.
type ObserveWorkersResult struct {
	Config *FleetConfig `json:"config,omitempty"`
	// Changes are the pulses that changed.
	Changes []WorkerPulse `json:"changes,omitempty"`
	// SightSince and SightUntil are the span without a gap in which the
	// observer has looked; what it says is true at SightUntil.
	SightSince time.Time `json:"sight_since,omitzero"`
	SightUntil time.Time `json:"sight_until,omitzero"`
}

// HeartbeatsUnsupportedError is the type of the observer's error when the
// server does not keep worker heartbeats.
const HeartbeatsUnsupportedError = "worker_heartbeats_unsupported"

// Defaults of [FleetConfig].
const (
	DefaultHeartbeatInterval = 5 * time.Second
	DefaultUnreachableAfter  = 2 * time.Minute
	DefaultDeleteAfter       = 24 * time.Hour
)

// WithDefaults fills in zero fields. The later thresholds follow the earlier
// ones: OFFLINE comes after three times UnreachableAfter, and the deletion not
// before four times OfflineAfter.
func (c FleetConfig) WithDefaults() FleetConfig {
	if c.HeartbeatInterval == 0 {
		c.HeartbeatInterval = jobtype.Duration(DefaultHeartbeatInterval)
	}
	if c.UnreachableAfter == 0 {
		c.UnreachableAfter = jobtype.Duration(DefaultUnreachableAfter)
	}
	if c.OfflineAfter == 0 {
		c.OfflineAfter = 3 * c.UnreachableAfter
	}
	if c.DeleteAfter == 0 {
		c.DeleteAfter = max(jobtype.Duration(DefaultDeleteAfter), 4*c.OfflineAfter)
	}
	return c
}

// FreshFor is how long a change of the heartbeat keeps a worker fresh: it
// survives two lost beats.
func (c FleetConfig) FreshFor() time.Duration { return 3 * c.HeartbeatInterval.Std() }

// Validate returns every fault of a FleetConfig whose defaults are filled in.
func (c FleetConfig) Validate() error {
	var faults []error
	if c.HeartbeatInterval.Std() < time.Second || c.HeartbeatInterval.Std() > time.Minute {
		faults = append(faults, fmt.Errorf("heartbeat interval %s must be between 1s and 1m, which is what workers can do", c.HeartbeatInterval))
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
