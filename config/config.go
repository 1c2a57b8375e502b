package config

import (
	"encoding/json"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Version is the version of the file format.
const Version = 1

// Config is a validated configuration with all defaults filled in.
type Config struct {
	Version int `json:"version"`
	// Owner separates configurations in one namespace.
	Owner    string   `json:"owner,omitempty"`
	Temporal Temporal `json:"temporal"`
	// Lanes by name. A job type without a lane waits for no other job type.
	Lanes map[string]Lane `json:"lanes"`
	// Resources are the sizes of the named pools.
	Resources map[string]int `json:"resources"`
	// Cluster is passed unchanged to every detector and executor.
	Cluster json.RawMessage `json:"cluster,omitempty"`
	Fleet   Fleet           `json:"fleet"`
	Audit   Audit           `json:"audit"`
	// Retention bounds the age of ended runs and audit entries.
	Retention Retention          `json:"retention,omitzero"`
	Access    Access             `json:"access,omitzero"`
	Notify    Notify             `json:"notify,omitzero"`
	JobTypes  map[string]JobType `json:"job_types"`

	// Warnings are values that are valid but probably not meant.
	Warnings Faults `json:"-"`
}

// Temporal configures the connection to the server.
type Temporal struct {
	// Address is host:port of the frontend. Default 127.0.0.1:7233.
	Address string `json:"address"`
	// Source names the origin of the address: a variable, a file, a flag, a profile or the default.
	Source string `json:"-"`
	// Written is the address in File; both are empty if no file has one.
	Written string `json:"-"`
	File    string `json:"-"`
	// Namespace defaults to "default".
	Namespace string `json:"namespace"`
	// APIKey authenticates, usually from TEMPORAL_API_KEY. Format hides it.
	APIKey string `json:"api_key,omitempty"`
	// Compression of requests: none (default), or gzip for slow links.
	Compression string `json:"compression,omitempty"`
	// TLS is nil for a plain connection. An API key alone also enables TLS.
	TLS *TLS `json:"tls,omitempty"`
}

// TLS configures the encryption. Each certificate is a path or, from the environment only, PEM text.
type TLS struct {
	// Disabled turns TLS off in spite of an API key.
	Disabled bool `json:"disabled,omitempty"`
	// Cert and Key are the paths of the client's certificate.
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
	// CA is the path of the server certificate's authority; default: the system's.
	CA string `json:"ca,omitempty"`
	// ServerName overrides the expected name in the server's certificate.
	ServerName string `json:"server_name,omitempty"`
	// SkipHostVerification accepts any certificate. Environment only.
	SkipHostVerification bool `json:"-"`
	// CertData, KeyData and CAData are PEM texts. Environment only.
	CertData string `json:"-"`
	KeyData  string `json:"-"`
	CAData   string `json:"-"`
}

// Lane orders job groups that must not run at the same time.
type Lane struct {
	// Exclusive: the groups of the lane run one at a time. Default true.
	Exclusive bool `json:"exclusive"`

	jobtype.Calendar
}

// Audit configures the size of the audit log.
type Audit struct {
	// Entries is the maximum number of entries; the oldest are dropped. Default 4,000.
	Entries int `json:"entries"`
}

// Retention deletes history earlier than the namespace does.
type Retention struct {
	// Runs bounds the age of ended runs; 0: only the namespace does.
	Runs jobtype.Duration `json:"runs,omitempty"`
	// Audit bounds the age of audit entries; 0: only their number does.
	Audit jobtype.Duration `json:"audit,omitempty"`
}

// Fleet holds the thresholds of a worker's life-cycle, measured from the last change of its heartbeat.
type Fleet struct {
	// HeartbeatInterval of the workers. Default 5s.
	HeartbeatInterval jobtype.Duration `json:"heartbeat_interval"`
	// UnreachableAfter: no new jobs. Default 2m.
	UnreachableAfter jobtype.Duration `json:"unreachable_after"`
	// OfflineAfter: running jobs are failed or placed elsewhere. Default 6m.
	OfflineAfter jobtype.Duration `json:"offline_after"`
	// DeleteAfter: the registration is removed. Default 24h.
	DeleteAfter jobtype.Duration `json:"delete_after"`
	// Declared means that the file has a fleet section; the values are the defaults otherwise.
	Declared bool `json:"-"`
}

// JobType is one entry of job_types.
type JobType struct {
	Handler string `json:"handler,omitempty"`
	// DAG is the file of the DAG that replaces a handler; source is its text with its sub-DAGs.
	DAG    string `json:"dag,omitempty"`
	source *contract.DAGSource
	// Empty means one worker. EachWorker gives each worker one job and detects nothing. Labels restrict both.
	DetectOn   contract.DetectOn `json:"detect_on,omitempty"`
	EachWorker bool              `json:"each_worker,omitempty"`
	// ApprovalsKeepLane keeps the lane while the DAG waits for approvals.
	ApprovalsKeepLane bool              `json:"approvals_keep_lane,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`

	Description string                `json:"description,omitempty"`
	Enabled     bool                  `json:"enabled"`
	Lane        string                `json:"lane,omitempty"`
	Schedule    contract.ScheduleSpec `json:"schedule"`
	// Interval is the smallest time between two ticks.
	Interval jobtype.Duration `json:"-"`
	// fromHandler lists the paths of settings that are defaults of the handler.
	fromHandler []string
	Policy      jobtype.Policy `json:"policy"`

	jobtype.Calendar

	// Resources are the minimum amounts that each job takes from pools.
	Resources map[string]int `json:"resources,omitempty"`
	// After holds the job types that must have succeeded before a run begins.
	After map[string]contract.AfterRule `json:"after,omitempty"`
	// RunIfNotSucceededFor skips a tick if the last success is younger.
	RunIfNotSucceededFor jobtype.Duration `json:"run_if_not_succeeded_for,omitempty"`
	// RetryBudget limits failures; nil means no limit.
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
