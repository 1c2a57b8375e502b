package config

import (
	"encoding/json"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Version is the version of the file format that this package reads.
const Version = 1

// DefaultLane is the lane of a job type that names none. It always exists.
const DefaultLane = "default"

// Config is a validated configuration with all defaults filled in.
type Config struct {
	Version int `json:"version"`
	// Owner tells this configuration from others in the same namespace: apply leaves
	// the job types of other owners alone.
	Owner    string   `json:"owner,omitempty"`
	Temporal Temporal `json:"temporal"`
	// Lanes by name; DefaultLane is among them even if it was not written.
	Lanes map[string]Lane `json:"lanes"`
	// Resources are the sizes of the named pools.
	Resources map[string]int `json:"resources"`
	// Cluster is handed to every detector and executor as it is.
	Cluster json.RawMessage `json:"cluster,omitempty"`
	Fleet   Fleet           `json:"fleet"`
	Audit   Audit           `json:"audit"`
	// Retention is how long what has happened is kept.
	Retention Retention          `json:"retention,omitzero"`
	Access    Access             `json:"access,omitzero"`
	Notify    Notify             `json:"notify,omitzero"`
	JobTypes  map[string]JobType `json:"job_types"`

	// Warnings are what validation found odd but not wrong.
	Warnings Faults `json:"-"`
}

// Temporal says how to reach the server.
type Temporal struct {
	// Address is host:port of the frontend. Default 127.0.0.1:7233.
	Address string `json:"address"`
	// Namespace defaults to "default".
	Namespace string `json:"namespace"`
	// APIKey authenticates, usually from TEMPORAL_API_KEY. Format hides it.
	APIKey string `json:"api_key,omitempty"`
	// Compression of requests: none, the default, or gzip, for thin links.
	Compression string `json:"compression,omitempty"`
	// TLS is nil for a plain connection. An API key alone also means TLS.
	TLS *TLS `json:"tls,omitempty"`
}

// TLS is how to encrypt the connection. Each of the three certificates comes as
// a path or as PEM text, the latter from the environment only.
type TLS struct {
	// Disabled turns TLS off although an API key is set.
	Disabled bool `json:"disabled,omitempty"`
	// Cert and Key are the paths of the client's certificate.
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
	// CA is the path of the authority that signed the server's certificate;
	// default: the system's.
	CA string `json:"ca,omitempty"`
	// ServerName overrides the name that the server's certificate must carry.
	ServerName string `json:"server_name,omitempty"`
	// SkipHostVerification accepts any certificate. Environment only.
	SkipHostVerification bool `json:"-"`
	// CertData, KeyData and CAData are PEM texts. Environment only.
	CertData string `json:"-"`
	KeyData  string `json:"-"`
	CAData   string `json:"-"`
}

// Lane orders job groups that must not run side by side.
type Lane struct {
	// Exclusive: the groups of the lane run one at a time. Default true.
	Exclusive bool `json:"exclusive"`

	jobtype.Calendar
}

// Audit says how much the audit log keeps.
type Audit struct {
	// Entries is how many of the newest entries are kept. Default 4,000.
	Entries int `json:"entries"`
}

// Retention says after how long what has happened is deleted, where the namespace
// keeps it for longer.
type Retention struct {
	// Runs is how long runs are kept after their end; 0: as long as the namespace does.
	Runs jobtype.Duration `json:"runs,omitempty"`
	// Audit is how long the audit log keeps an entry at most; 0: as long as its number allows.
	Audit jobtype.Duration `json:"audit,omitempty"`
}

// Fleet holds the thresholds of a worker's life-cycle, all measured from the
// last change of its heartbeat.
type Fleet struct {
	// HeartbeatInterval of the workers. Default 5s.
	HeartbeatInterval jobtype.Duration `json:"heartbeat_interval"`
	// UnreachableAfter: no new jobs. Default 2m.
	UnreachableAfter jobtype.Duration `json:"unreachable_after"`
	// OfflineAfter: running jobs are failed or placed elsewhere. Default 6m.
	OfflineAfter jobtype.Duration `json:"offline_after"`
	// DeleteAfter: the registration is removed. Default 24h.
	DeleteAfter jobtype.Duration `json:"delete_after"`
}

// JobType is one entry of job_types.
type JobType struct {
	Handler string `json:"handler,omitempty"`
	// DAG is the file of the DAG that the job type runs instead of a handler; source is
	// what it says, with its sub-DAGs.
	DAG    string `json:"dag,omitempty"`
	source *contract.DAGSource
	// DetectOn is where detections run; empty: on one worker. EachWorker: each worker has
	// one job, and nothing is detected. Labels restrict both to the workers that have them.
	DetectOn   contract.DetectOn `json:"detect_on,omitempty"`
	EachWorker bool              `json:"each_worker,omitempty"`
	Labels     map[string]string `json:"labels,omitempty"`

	Description string                `json:"description,omitempty"`
	Enabled     bool                  `json:"enabled"`
	Lane        string                `json:"lane"`
	Schedule    contract.ScheduleSpec `json:"schedule"`
	// Interval is the time between two ticks, the smallest if they differ.
	Interval jobtype.Duration `json:"-"`
	Policy   jobtype.Policy   `json:"policy"`

	jobtype.Calendar

	// Resources are what each job takes from pools at least.
	Resources map[string]int `json:"resources,omitempty"`
	// RetryBudget is nil if nothing bounds how much may fail.
	RetryBudget *contract.RetryBudget `json:"retry_budget,omitempty"`
	// Notify adds to the rules of the control plane.
	Notify []contract.NotifyRule `json:"notify,omitempty"`
	// Batch is nil if every proposal is a job of its own.
	Batch *contract.BatchSpec `json:"batch,omitempty"`
	// Params, Detect and Execute are canonical JSON, nil if not written.
	Params  json.RawMessage `json:"params,omitempty"`
	Detect  json.RawMessage `json:"detect,omitempty"`
	Execute json.RawMessage `json:"execute,omitempty"`
}
