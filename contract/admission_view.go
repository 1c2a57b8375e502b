package contract

import (
	"time"
)

// AdmissionFilter bounds an AdmissionView: its cost and its size do not depend on how
// much is held.
type AdmissionFilter struct {
	// WorkflowID: only what this workflow holds and waits for.
	WorkflowID string `json:"workflow_id,omitempty"`
	// Limit is the most names of a kind, and the most requests of each name. 0: 50;
	// at most 500.
	Limit int `json:"limit,omitempty"`
	// After is the last name of the page before.
	After string `json:"after,omitempty"`
}

// AdmissionView is what admission knows, for people. The counts are of all, whatever
// the filter.
type AdmissionView struct {
	// Recovering: nothing is granted until the running groups have said what
	// they hold; Expected are those still to be heard.
	Recovering bool              `json:"recovering,omitempty"`
	Expected   []string          `json:"expected,omitempty"`
	Lanes      []AdmissionLane   `json:"lanes,omitempty"`
	Pools      []AdmissionPool   `json:"pools,omitempty"`
	Objects    []AdmissionThing  `json:"objects,omitempty"`
	Keys       int               `json:"keys"`
	Holders    []AdmissionHolder `json:"holders,omitempty"`

	LaneCount   int `json:"lane_count,omitempty"`
	PoolCount   int `json:"pool_count,omitempty"`
	ObjectCount int `json:"object_count,omitempty"`
	HolderCount int `json:"holder_count,omitempty"`
	// Inherited says what became of the state of the admission before this one,
	// if that was ended.
	Inherited *Inherited `json:"inherited,omitempty"`
}

// AdmissionUse is somebody who holds or waits.
type AdmissionUse struct {
	WorkflowID string    `json:"workflow_id"`
	ID         string    `json:"id"`
	JobType    string    `json:"job_type,omitempty"`
	For        string    `json:"for,omitempty"`
	Since      time.Time `json:"since"`
	N          int       `json:"n,omitempty"`
	Shared     bool      `json:"shared,omitempty"`
	// Kept: it waits, was overtaken too often, and others do not get this before it.
	Kept bool `json:"kept,omitempty"`
	// FreeAt is when it is freed because its holder has ended.
	FreeAt time.Time `json:"free_at,omitzero"`
}

// AdmissionLane is one exclusive lane.
type AdmissionLane struct {
	Name    string         `json:"name"`
	Holder  *AdmissionUse  `json:"holder,omitempty"`
	Waiting []AdmissionUse `json:"waiting,omitempty"`

	WaitingCount int `json:"waiting_count,omitempty"`
}

// AdmissionPool is one pool. Size is in force: the operator's, or else the
// declared one, or else 1.
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

// PastGrantsFilter asks for what was held before. An empty field does not filter.
type PastGrantsFilter struct {
	Lane       string `json:"lane,omitempty"`
	Pool       string `json:"pool,omitempty"`
	Object     string `json:"object,omitempty"`
	WorkflowID string `json:"workflow_id,omitempty"`
	// Before is the Seq of the last grant of the page before; 0: the first page.
	Before int64 `json:"before,omitempty"`
	// Limit is the most grants of a page. 0: 100; at most 1,000.
	Limit int `json:"limit,omitempty"`
}

// PastGrants are turns in lanes, and uses of pools and objects, that were released:
// the last release first.
type PastGrants struct {
	Grants []PastGrant `json:"grants,omitempty"`
	// More: there are older ones that match.
	More bool `json:"more,omitempty"`
	// Kept is how many are remembered in all, of all that were Released.
	Kept     int   `json:"kept"`
	Released int64 `json:"released"`
}

// PastGrant is what somebody held, and what it was requested with.
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

// AdmissionUsage is how much of everything is used and waited for.
type AdmissionUsage struct {
	// Waiting counts requests that wait; OldestAt is when the first of them was asked.
	Waiting  int       `json:"waiting"`
	OldestAt time.Time `json:"oldest_at,omitzero"`
	// Lanes and Pools are the first [MaxUsageNames] of each.
	Lanes []LaneUsage `json:"lanes,omitempty"`
	Pools []PoolUsage `json:"pools,omitempty"`
	// HeldKeys counts the keys that the retry budget holds back, by job type;
	// DisabledTypes are the job types that it disables.
	HeldKeys      map[string]int `json:"held_keys,omitempty"`
	DisabledTypes []string       `json:"disabled_types,omitempty"`
}

// MaxUsageNames bounds the lanes and the pools of an [AdmissionUsage].
const MaxUsageNames = 500

// LaneUsage is one exclusive lane.
type LaneUsage struct {
	Name     string    `json:"name"`
	Busy     bool      `json:"busy,omitempty"`
	Waiting  int       `json:"waiting,omitempty"`
	OldestAt time.Time `json:"oldest_at,omitzero"`
}

// PoolUsage is one pool.
type PoolUsage struct {
	Name    string `json:"name"`
	Size    int    `json:"size"`
	Used    int    `json:"used"`
	Waiting int    `json:"waiting,omitempty"`
}
