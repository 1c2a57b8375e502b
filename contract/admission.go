package contract

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// AdmissionWorkflow is the workflow type of admission, AdmissionWorkflowID the
// id of the one of a namespace.
const (
	AdmissionWorkflow   = "roundsman.Admission"
	AdmissionWorkflowID = "admission"
)

// Activities of admission; all run in the control plane.
const (
	// EnsureAdmissionActivity takes an EnsureAdmissionInput.
	EnsureAdmissionActivity = "roundsman.EnsureAdmission"
	// CallAdmissionActivity takes an AdmissionRequest and answers a
	// CallAdmissionResult. It runs within the workflow task of its caller.
	CallAdmissionActivity = "roundsman.CallAdmission"
	// WatchHoldersActivity takes nothing and answers a WatchHoldersResult.
	WatchHoldersActivity = "roundsman.WatchHolders"
	// AskHoldersActivity takes an AskHoldersInput and answers an AskHoldersResult.
	AskHoldersActivity = "roundsman.AskHolders"
)

// Messages of admission. Workflows speak with it by signals, or by a call that is
// answered at once: an update that waits would be one of ten, and block the release
// that it waits for.
const (
	// SignalAdmissionRequest takes an AdmissionRequest: what its sender gives
	// back, then what it asks for. Both in one signal keep their order.
	SignalAdmissionRequest = "request"
	// SignalAdmissionAnswer takes an AdmissionAnswer. Admission sends it to
	// holders.
	SignalAdmissionAnswer = "granted"
	// SignalReassert takes nothing and asks a holder to say what it holds and
	// waits for, with an AdmissionRequest that has Reassert set.
	SignalReassert = "reassert"

	// UpdateAdmissionRequest takes an AdmissionRequest too and answers an
	// AdmissionAnswer: what is decided at once. All else comes as a signal.
	UpdateAdmissionRequest = "call"
	// UpdateResizePool takes a ResizePoolInput and answers an AdmissionPool.
	UpdateResizePool = "resize-pool"

	// QueryAdmission takes an AdmissionFilter and answers an AdmissionView.
	QueryAdmission = "admission"
	// QueryPastGrants takes a PastGrantsFilter and answers PastGrants.
	QueryPastGrants = "past-grants"
	// QueryHolders answers a list of AdmissionHolder, for the watcher.
	QueryHolders = "holders"
	// QueryAdmissionUsage answers an AdmissionUsage, for metrics.
	QueryAdmissionUsage = "usage"
	// QueryKeyHolder takes a KeyHolderInput and answers a KeyHolderResult.
	QueryKeyHolder = "key-holder"
)

// AdmissionHolder is a workflow, named by its id and the first run of its
// chain: continue-as-new and reset keep both.
type AdmissionHolder struct {
	WorkflowID string `json:"workflow_id"`
	FirstRunID string `json:"first_run_id"`
}

// AdmissionRequest is all that a workflow tells admission at once. Everything in
// it may be repeated.
type AdmissionRequest struct {
	Holder  AdmissionHolder `json:"holder"`
	JobType string          `json:"job_type,omitempty"`
	// Grace is how long after the holder's end its keys and resources stay taken.
	Grace jobtype.Duration `json:"grace,omitempty"`
	// DeclaredAt is when the sizes of pools that the items carry were read.
	DeclaredAt time.Time `json:"declared_at,omitzero"`
	// Release gives items back, by id; ReleaseAll everything.
	Release    []string `json:"release,omitempty"`
	ReleaseAll bool     `json:"release_all,omitempty"`
	// Results are what tasks with a key returned that are given back; they are taken in
	// first.
	Results []KeyResult `json:"results,omitempty"`
	// Budget is what the job type may fail, Endings how its jobs ended.
	Budget  *RetryBudget       `json:"budget,omitempty"`
	Endings []AdmissionEndings `json:"endings,omitempty"`
	// Items are asked for.
	Items []AdmissionItem `json:"items,omitempty"`
	// Reassert says that Held and Items are all that the holder has.
	Reassert bool `json:"reassert,omitempty"`
	// Reset says that it was sent back to an earlier state: what it has of what it
	// names gets new fences, and each of Held is answered.
	Reset bool            `json:"reset,omitempty"`
	Held  []AdmissionHeld `json:"held,omitempty"`
}

// AdmissionItem is one thing asked for: a turn in a lane, dedupe keys, resources,
// or nothing but fences.
type AdmissionItem struct {
	// ID is unique to the holder and names the item in the answer.
	ID   string `json:"id"`
	Lane string `json:"lane,omitempty"`
	// Distinct: the turn is for other work than the job type's other groups do.
	Distinct bool `json:"distinct,omitempty"`
	// Keys are [DedupeHash]es of eight bytes each, big-endian.
	Keys    []byte            `json:"keys,omitempty"`
	Pools   []AdmissionAmount `json:"pools,omitempty"`
	Objects []AdmissionObject `json:"objects,omitempty"`
	// Priority orders items that wait for the same: higher first.
	Priority int `json:"priority,omitempty"`
	// Fences is how many fences the grant reserves; 0: one.
	Fences int64 `json:"fences,omitempty"`
	// For says what it is for: the id of a job or of a task. A request for something from
	// within its DAG ([SubDAGWorkflowID]) does not wait behind those who wait for it.
	For string `json:"for,omitempty"`
	// Start: it is for a group that begins, and refused while its job type is
	// disabled. A turn in a lane always is.
	Start bool `json:"start,omitempty"`
}

// AdmissionAmount is a quantity of a pool. Size is what the holder's
// configuration declares for the pool; 0: nothing.
type AdmissionAmount struct {
	Pool string `json:"pool"`
	N    int    `json:"n"`
	Size int    `json:"size,omitempty"`
}

// AdmissionObject is a claim on an object, shared or exclusive.
type AdmissionObject struct {
	Name   string `json:"name"`
	Shared bool   `json:"shared,omitempty"`
}

// AdmissionHeld is an item that its holder says it was granted.
type AdmissionHeld struct {
	AdmissionItem

	Fence int64 `json:"fence"`
	// Since is when it was granted.
	Since time.Time `json:"since,omitzero"`
}

// AdmissionAnswer is what admission tells one holder. A workflow that is not
// Holder ignores it.
type AdmissionAnswer struct {
	Holder  AdmissionHolder    `json:"holder"`
	Granted []AdmissionGrant   `json:"granted,omitempty"`
	Refused []AdmissionRefusal `json:"refused,omitempty"`
	// Lost are items that the holder asserted and another has.
	Lost []AdmissionRefusal `json:"lost,omitempty"`
	// Stopped is what the holder must not start any more.
	Stopped []AdmissionStop `json:"stopped,omitempty"`
}

// AdmissionGrant grants one item, with Fences consecutive fences from Fence on.
type AdmissionGrant struct {
	ID     string `json:"id"`
	Fence  int64  `json:"fence"`
	Fences int64  `json:"fences"`
	// Taken are the keys that were not granted, by who holds them; HeldBack those
	// that nobody gets now.
	Taken    []AdmissionTaken   `json:"taken,omitempty"`
	HeldBack []AdmissionHeldKey `json:"held_back,omitempty"`
	// Result is the last one of the key that was granted.
	Result *KeyResult `json:"result,omitempty"`
}

// MaxKeyResult bounds a result that is kept for others with the same key, in bytes.
const MaxKeyResult = 2 << 10

// KeyResult is what a task with a key returned, for the next one that holds its object.
type KeyResult struct {
	// ID is the request that is given back with it.
	ID     string `json:"id,omitempty"`
	Object string `json:"object"`
	// Digest tells tasks apart that have the same key and do something else.
	Digest string          `json:"digest"`
	Result json.RawMessage `json:"result,omitempty"`
	// At is when the task succeeded, By its run.
	At   time.Time `json:"at"`
	By   string    `json:"by,omitempty"`
	Task string    `json:"task"`
}

// AdmissionTaken lists keys that another workflow holds, by their index in the
// item, ascending.
type AdmissionTaken struct {
	By      string `json:"by"`
	Indexes []int  `json:"indexes"`
}

// AdmissionRefusal says why an item is not, or no longer, the holder's. [AdmissionRefusal.String]
// renders it for operators.
type AdmissionRefusal struct {
	ID string `json:"id"`
	// Code is one of the codes below, or RETRY_BUDGET.
	Code string `json:"code,omitempty"`
	// Object is what it is about: a lane, a pool, an object, a job type, a rule.
	Object string `json:"object,omitempty"`
	// By is the workflow that has it.
	By string `json:"by,omitempty"`
	// N was asked for, Used is in use, Limit is the most there is.
	N     int `json:"n,omitempty"`
	Used  int `json:"used,omitempty"`
	Limit int `json:"limit,omitempty"`
	// Hold is what holds the job type back.
	Hold *AdmissionHold `json:"hold,omitempty"`
}

// Codes of an [AdmissionRefusal].
const (
	// RefusedCoalesced: another group of the job type already waits for the lane.
	RefusedCoalesced = "COALESCED"
	// RefusedTooLarge: it asks for more than a pool's size.
	RefusedTooLarge = "TOO_LARGE"
	// RefusedFull: admission holds as much as it can carry; Object says what: FullKeys
	// or FullState.
	RefusedFull = "FULL"
	// RefusedInvalid: the item breaks the rule in Object.
	RefusedInvalid = "INVALID"
	// RefusedTaken: an item that was asserted belongs to another.
	RefusedTaken = "TAKEN"

	FullKeys  = "dedupe keys"
	FullState = "bytes of requests"
	TakenKey  = "dedupe key"

	RuleOneKind = "ONE_KIND"
	RulePool    = "POOL"
	RuleObject  = "OBJECT"
)

// String is the refusal for operators: the cause, then the remedy.
func (r AdmissionRefusal) String() string {
	switch r.Code {
	case RefusedCoalesced:
		return fmt.Sprintf("%s already waits for lane %s and will do the same", r.By, r.Object)
	case RefusedTooLarge:
		return fmt.Sprintf("it needs %d of pool %s, whose size is %d: `roundsman pools resize %s --size %d`", r.N, r.Object, r.Limit, r.Object, r.N)
	case RefusedFull:
		return fmt.Sprintf("admission carries %d of %d %s, %d more do not fit: lower max_jobs_per_detection or wait for runs to end", r.Used, r.Limit, r.Object, r.N)
	case RefusedInvalid:
		return "the request breaks a rule: " + ruleText(r.Object)
	case RefusedTaken:
		return fmt.Sprintf("%s belongs to %s now", r.Object, r.By)
	case HoldRetryBudget:
		if r.Hold != nil {
			return "job type " + r.Object + " is " + r.Hold.String()
		}
	}
	return r.Code
}

// Error makes a refusal the answer of an update.
func ruleText(rule string) string {
	switch rule {
	case RuleOneKind:
		return "one of lane, keys, resources"
	case RulePool:
		return "a pool has a name and an amount of at least 1"
	case RuleObject:
		return "an object has a name"
	}
	return rule
}

func (r AdmissionRefusal) Error() string { return r.Code + ": " + r.String() }

// AdmissionLinkState is what a holder carries across continue-as-new.
type AdmissionLinkState struct {
	Waiting    []AdmissionItem `json:"waiting,omitempty"`
	Held       []AdmissionHeld `json:"held,omitempty"`
	DeclaredAt time.Time       `json:"declared_at,omitzero"`
	// Told are the endings that were said last, Untold those that are still to be
	// said.
	Told   []AdmissionEndings `json:"told,omitempty"`
	Untold []AdmissionEndings `json:"untold,omitempty"`
	// Released are items that were given back, which admission does not know yet.
	Released []string `json:"released,omitempty"`
	// Results are the last ones that were given back with their keys.
	Results []KeyResult `json:"results,omitempty"`
}

// AdmissionInput starts admission. The second argument of the workflow is the state, as
// bytes, when it continues as new, and only then.
type AdmissionInput struct {
	// Inherited is what an admission without a state takes over.
	Inherited Inherited `json:"inherited,omitzero"`
	// Undelivered are answers that the run before could not be sure of, Unanswered
	// the holders of those that were too many.
	Undelivered []AdmissionAnswer `json:"undelivered,omitempty"`
	Unanswered  []AdmissionHolder `json:"unanswered,omitempty"`
	// LateSince: workflows that visibility shows late are still to be asked.
	LateSince time.Time `json:"late_since,omitzero"`
	// Audit is what was not recorded in the audit log yet; nil: nothing.
	Audit *AuditTrailState `json:"audit,omitempty"`
}

// EnsureAdmissionInput is the argument of [EnsureAdmissionActivity]: start
// admission if it is missing, and send Request, if given, in the same step.
type EnsureAdmissionInput struct {
	Request *AdmissionRequest `json:"request,omitempty"`
}

// CallAdmissionResult is what became of a request. Missing: no admission runs, and
// nothing was requested. Answer is what was decided at once; nil: nothing is known
// yet, and the answer comes as a signal.
type CallAdmissionResult struct {
	Answer  *AdmissionAnswer `json:"answer,omitempty"`
	Missing bool             `json:"missing,omitempty"`
}

// WatchHoldersResult names the holders that have ended. It is empty if there
// was nobody to watch for a while.
type WatchHoldersResult struct {
	Closed []AdmissionHolder `json:"closed,omitempty"`
}

// AskHoldersInput is the argument of [AskHoldersActivity].
type AskHoldersInput struct {
	// Previous is the run of admission that was reset: what it knew last is part of
	// the result.
	Previous string `json:"previous,omitempty"`
	// LateSince: only those that visibility shows late, among the workflows that
	// started after this time, are asked; the activity looks several times, for
	// minutes.
	LateSince time.Time `json:"late_since,omitzero"`
}

// AskHoldersResult names the running workflows that were asked to assert what
// they hold, and will answer.
type AskHoldersResult struct {
	WorkflowIDs []string `json:"workflow_ids,omitempty"`
	// Inherited is what the run before a reset knew.
	Inherited Inherited `json:"inherited,omitzero"`
}

// ResizePoolInput is an operator's size of a pool. Size 0 goes back to what the
// configuration declares.
type ResizePoolInput struct {
	Pool string `json:"pool"`
	Size int    `json:"size"`
	By   string `json:"by,omitempty"`
}

// KeyHolderInput asks who holds a dedupe key.
type KeyHolderInput struct {
	JobType   string `json:"job_type"`
	DedupeKey string `json:"dedupe_key"`
}

// KeyHolderResult answers it; By is nil if nobody does.
type KeyHolderResult struct {
	By *AdmissionUse `json:"by,omitempty"`
}

// DedupeHash is what stands for a dedupe key of a job type in admission: the
// first eight bytes of a SHA-256. Two of 100,000 active keys share one with a
// probability of 1 in 3 billion; then one of them waits for the next detection.
func DedupeHash(jobType, key string) uint64 {
	sum := sha256.Sum256([]byte(jobType + "\x00" + key))
	return binary.BigEndian.Uint64(sum[:8])
}
