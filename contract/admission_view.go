package contract

import (
	"time"
)

// AdmissionFilter bounds an AdmissionView: its cost and size do not depend on the number of grants.
type AdmissionFilter struct {
	// WorkflowID limits the view to the grants and requests of this workflow.
	WorkflowID string `json:"workflow_id,omitempty"`
	// Limit is the maximum number of names per kind and of requests per name. Default 50, at most 500.
	Limit int `json:"limit,omitempty"`
	// After is the last name of the previous page.
	After string `json:"after,omitempty"`
}

// AdmissionView is the state of admission for operators. The counts ignore the filter.
type AdmissionView struct {
	// During the recovery admission grants nothing. Expected lists the running groups that have not asserted their holdings.
	Recovering bool     `json:"recovering,omitempty"`
	Expected   []string `json:"expected,omitempty"`
	// Unlisted is the reason why the running groups could not be listed. Admission tries again during the recovery.
	Unlisted string            `json:"unlisted,omitempty"`
	Lanes    []AdmissionLane   `json:"lanes,omitempty"`
	Pools    []AdmissionPool   `json:"pools,omitempty"`
	Objects  []AdmissionThing  `json:"objects,omitempty"`
	Keys     int               `json:"keys"`
	Holders  []AdmissionHolder `json:"holders,omitempty"`

	LaneCount   int `json:"lane_count,omitempty"`
	PoolCount   int `json:"pool_count,omitempty"`
	ObjectCount int `json:"object_count,omitempty"`
	HolderCount int `json:"holder_count,omitempty"`
	// Inherited reports whether the state of a previous, ended admission was taken over.
	Inherited *Inherited `json:"inherited,omitempty"`
}

// AdmissionUse is one holder or one waiting request.
type AdmissionUse struct {
	WorkflowID string    `json:"workflow_id"`
	ID         string    `json:"id"`
	JobType    string    `json:"job_type,omitempty"`
	For        string    `json:"for,omitempty"`
	Since      time.Time `json:"since"`
	N          int       `json:"n,omitempty"`
	Shared     bool      `json:"shared,omitempty"`
	// Kept marks an overtaken request whose resources are reserved until it is granted.
	Kept bool `json:"kept,omitempty"`
	// FreeAt is the time of the release after the holder's end.
	FreeAt time.Time `json:"free_at,omitzero"`
}

// AdmissionLane is one exclusive lane.
type AdmissionLane struct {
	Name    string         `json:"name"`
	Holder  *AdmissionUse  `json:"holder,omitempty"`
	Waiting []AdmissionUse `json:"waiting,omitempty"`

	WaitingCount int `json:"waiting_count,omitempty"`
}

// AdmissionPool is one pool. Size is the size in force: the operator's, else the declared one, else 1.
type AdmissionPool struct {
	Name     string         `json:"name"`
	Size     int            `json:"size"`
	Declared int            `json:"declared,omitempty"`
	Operator int            `json:"operator,omitempty"`
	Used     int            `json:"used"`
	Holders  []AdmissionUse `json:"holders,omitempty"`
	Waiting  []AdmissionUse `json:"waiting,omitempty"`

	HolderCount  int `json:"holder_count,omitempty"`
	WaitingCount int `json:"waiting_count,omitempty"`
}

// AdmissionThing is one object.
type AdmissionThing struct {
	Name    string         `json:"name"`
	Holders []AdmissionUse `json:"holders,omitempty"`
	Waiting []AdmissionUse `json:"waiting,omitempty"`

	HolderCount  int `json:"holder_count,omitempty"`
	WaitingCount int `json:"waiting_count,omitempty"`
}

// PastGrantsFilter selects released grants. An empty field matches all.
type PastGrantsFilter struct {
	Lane       string `json:"lane,omitempty"`
	Pool       string `json:"pool,omitempty"`
	Object     string `json:"object,omitempty"`
	WorkflowID string `json:"workflow_id,omitempty"`
	// Before is the Seq of the last grant of the previous page; 0 for the first page.
	Before int64 `json:"before,omitempty"`
	// Limit is the maximum number of grants per page. Default 100, at most 1,000.
	Limit int `json:"limit,omitempty"`
}

// PastGrants lists released turns in lanes and uses of pools and objects, the last release first.
type PastGrants struct {
	Grants []PastGrant `json:"grants,omitempty"`
	// More means that older grants match.
	More bool `json:"more,omitempty"`
	// Number of remembered grants, and of grants ever released.
	Kept     int   `json:"kept"`
	Released int64 `json:"released"`
}

// PastGrant is one released grant with its request.
type PastGrant struct {
	// Seq counts the releases, from 1.
	Seq        int64             `json:"seq"`
	WorkflowID string            `json:"workflow_id"`
	JobType    string            `json:"job_type,omitempty"`
	For        string            `json:"for,omitempty"`
	Lane       string            `json:"lane,omitempty"`
	Pools      []AdmissionAmount `json:"pools,omitempty"`
	Objects    []AdmissionObject `json:"objects,omitempty"`

	RequestedAt time.Time `json:"requested_at"`
	GrantedAt   time.Time `json:"granted_at"`
	ReleasedAt  time.Time `json:"released_at"`
}

// AdmissionUsage is the use of lanes, pools and keys, for metrics.
type AdmissionUsage struct {
	// Waiting counts waiting requests; OldestAt is the time of the oldest.
	Waiting  int       `json:"waiting"`
	OldestAt time.Time `json:"oldest_at,omitzero"`
	// Lanes and Pools list the first [MaxUsageNames] of each.
	Lanes []LaneUsage `json:"lanes,omitempty"`
	Pools []PoolUsage `json:"pools,omitempty"`
	// Keys held back by the retry budget by job type, and job types disabled by it.
	HeldKeys      map[string]int `json:"held_keys,omitempty"`
	DisabledTypes []string       `json:"disabled_types,omitempty"`
}

// MaxUsageNames bounds the lanes and the pools of an [AdmissionUsage].
const MaxUsageNames = 500

// LaneUsage is the use of one exclusive lane.
type LaneUsage struct {
	Name     string    `json:"name"`
	Busy     bool      `json:"busy,omitempty"`
	Waiting  int       `json:"waiting,omitempty"`
	OldestAt time.Time `json:"oldest_at,omitzero"`
}

// PoolUsage is the use of one pool.
type PoolUsage struct {
	Name    string `json:"name"`
	Size    int    `json:"size"`
	Used    int    `json:"used"`
	Waiting int    `json:"waiting,omitempty"`
}
