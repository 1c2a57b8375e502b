package contract

import (
	"encoding/json"
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
	// Config may be left out by whoever starts the registry without knowing it,
	// such as a worker: it is then asked of the control plane's observer.
	Config *FleetConfig `json:"config,omitempty"`
	// State is set when the registry continues as new, and only then: a
	// FleetState as gzipped JSON, so that thousands of workers stay far below
	// the server's limit whatever data converter is in use.
	State []byte `json:"state,omitempty"`
	// Audit is what was not told to the audit log yet; nil: nothing.
	Audit *AuditTrailState `json:"audit,omitempty"`
}

// FleetState is what the registry carries across continue-as-new.
type FleetState struct {
	// Core is the snapshot of the life-cycle core.
	Core json.RawMessage `json:"core"`
	// Workers are the registrations, without their descriptors; those are kept
	// once each.
	Workers     []FleetStateWorker   `json:"workers,omitempty"`
	Descriptors []jobtype.Descriptor `json:"descriptors,omitempty"`
	Watchers    []FleetStateWatcher  `json:"watchers,omitempty"`
	// Observer is the observer's last fault.
	Observer string `json:"observer,omitempty"`
}

// FleetStateWorker is one registration. Descriptors holds, for each of its
// capabilities, 1 + the index of its descriptor, or 0 if it has none.
type FleetStateWorker struct {
	Registration WorkerRegistration `json:"registration"`
	Descriptors  []int              `json:"descriptors,omitempty"`
}

// FleetStateWatcher is one subscription and the digest of what it was sent
// last.
type FleetStateWatcher struct {
	Watch    WatchFleetInput `json:"watch"`
	Digest   uint64          `json:"digest,omitempty"`
	NextSend time.Time       `json:"next_send,omitzero"`
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
	ID       string `json:"id"`
	Instance string `json:"instance"`
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

// ObserveWorkersInput is the argument of [ObserveWorkersActivity].
type ObserveWorkersInput struct {
	// Config is nil if the registry does not know its thresholds yet: the
	// observer then answers its own at once.
	Config *FleetConfig `json:"config,omitempty"`
	// Known is every incarnation that the registry knows, as it knows it.
	Known []WorkerPulse `json:"known,omitempty"`
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

// WithDefaults fills in zero fields.
func (c FleetConfig) WithDefaults() FleetConfig {
	if c.HeartbeatInterval == 0 {
		c.HeartbeatInterval = jobtype.Duration(5 * time.Second)
	}
	if c.UnreachableAfter == 0 {
		c.UnreachableAfter = jobtype.Duration(2 * time.Minute)
	}
	if c.OfflineAfter == 0 {
		c.OfflineAfter = 3 * c.UnreachableAfter
	}
	if c.DeleteAfter == 0 {
		c.DeleteAfter = jobtype.Duration(24 * time.Hour)
	}
	return c
}
