package contract

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// AdmissionWorkflow is the workflow type, AdmissionWorkflowID the id of its one workflow in a namespace.
const (
	AdmissionWorkflow   = "roundsman.Admission"
	AdmissionWorkflowID = "admission"
)

// Activities of admission. All run in the control plane.
const (
	// EnsureAdmissionActivity takes an EnsureAdmissionInput.
	EnsureAdmissionActivity = "roundsman.EnsureAdmission"
	// CallAdmissionActivity takes an AdmissionRequest and returns a CallAdmissionResult, within the workflow task.
	CallAdmissionActivity = "roundsman.CallAdmission"
	// WatchHoldersActivity takes no argument and returns a WatchHoldersResult.
	WatchHoldersActivity = "roundsman.WatchHolders"
	// AskHoldersActivity takes an AskHoldersInput and returns an AskHoldersResult.
	AskHoldersActivity = "roundsman.AskHolders"
)

// Workflows use signals, or an update that returns at once: a waiting one would occupy one of ten places and block
// the release that it waits for.
const (
	// SignalAdmissionRequest takes an AdmissionRequest: releases first, then requests.
	SignalAdmissionRequest = "request"
	// SignalAdmissionAnswer takes an AdmissionAnswer. Admission sends it to holders.
	SignalAdmissionAnswer = "granted"
	// SignalReassert takes no argument. The holder replies with an AdmissionRequest with Reassert and all its holdings.
	SignalReassert = "reassert"

	// UpdateAdmissionRequest takes an AdmissionRequest and returns the immediate decisions as an AdmissionAnswer.
	UpdateAdmissionRequest = "call"
	// UpdateResizePool takes a ResizePoolInput and returns an AdmissionPool.
	UpdateResizePool = "resize-pool"

	// QueryAdmission takes an AdmissionFilter and returns an AdmissionView.
	QueryAdmission = "admission"
	// QueryPastGrants takes a PastGrantsFilter and returns PastGrants.
	QueryPastGrants = "past-grants"
	// QueryHolders returns a list of AdmissionHolder, for the watcher.
	QueryHolders = "holders"
	// QueryAdmissionUsage returns an AdmissionUsage, for metrics.
	QueryAdmissionUsage = "usage"
	// QueryKeyHolder takes a KeyHolderInput and returns a KeyHolderResult.
	QueryKeyHolder = "key-holder"
)

// AdmissionHolder is a workflow by its id and the first run of its chain, which continue-as-new and reset keep.
type AdmissionHolder struct {
	WorkflowID string `json:"workflow_id"`
	FirstRunID string `json:"first_run_id"`
}

// AdmissionRequest is one message of a workflow to admission. All of it may be repeated.
type AdmissionRequest struct {
	Holder  AdmissionHolder `json:"holder"`
	JobType string          `json:"job_type,omitempty"`
	// Grace is how long keys and resources stay taken after the holder's end.
	Grace jobtype.Duration `json:"grace,omitempty"`
	// DeclaredAt is the time at which the pool sizes in Items were read.
	DeclaredAt time.Time `json:"declared_at,omitzero"`
	// Release lists the ids of items to release. ReleaseAll releases everything.
	Release    []string `json:"release,omitempty"`
	ReleaseAll bool     `json:"release_all,omitempty"`
	// Results of released tasks with a key, stored before the releases.
	Results []KeyResult `json:"results,omitempty"`
	// Budget is the retry budget of the job type. Endings report the ends of its jobs.
	Budget  *RetryBudget       `json:"budget,omitempty"`
	Endings []AdmissionEndings `json:"endings,omitempty"`
	Items   []AdmissionItem    `json:"items,omitempty"`
	// Reassert means that Held and Items are complete: the holder has nothing else.
	Reassert bool `json:"reassert,omitempty"`
	// The holder was reset to an earlier state. Its existing grants get new fences, and each of Held is answered.
	Reset bool            `json:"reset,omitempty"`
	Held  []AdmissionHeld `json:"held,omitempty"`
}

// AdmissionItem is one request: a turn in a lane, dedupe keys, resources, or only fences.
type AdmissionItem struct {
	// ID is unique to the holder and names the item in the answer.
	ID   string `json:"id"`
	Lane string `json:"lane,omitempty"`
	// Distinct marks a turn for work that other groups of the job type do not do.
	Distinct bool `json:"distinct,omitempty"`
	// Keys are [DedupeHash]es of eight bytes each, big-endian.
	Keys    []byte            `json:"keys,omitempty"`
	Pools   []AdmissionAmount `json:"pools,omitempty"`
	Objects []AdmissionObject `json:"objects,omitempty"`
	// Priority orders items that wait for the same resource, higher first.
	Priority int `json:"priority,omitempty"`
	// Fences is the number of fences that the grant reserves; 0 means one.
	Fences int64 `json:"fences,omitempty"`
	// Job or task that needs the item. A request from within a holder's own DAG ([SubDAGWorkflowID]) does not queue
	// behind requests that wait for that holder.
	For string `json:"for,omitempty"`
	// Request of a group that begins, refused while its job type is disabled. A turn in a lane always is one.
	Start bool `json:"start,omitempty"`
	// Budget of the task. The request is refused while the task is disabled.
	Budget *TaskBudget `json:"budget,omitempty"`
}

// AdmissionAmount is a quantity of a pool, with the configured size; 0 if there is none.
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

// AdmissionHeld is an item that its holder reports as granted.
type AdmissionHeld struct {
	AdmissionItem

	Fence int64     `json:"fence"`
	Since time.Time `json:"since,omitzero"`
}

// AdmissionAnswer is a message of admission to one holder. Other workflows ignore it.
type AdmissionAnswer struct {
	Holder  AdmissionHolder    `json:"holder"`
	Granted []AdmissionGrant   `json:"granted,omitempty"`
	Refused []AdmissionRefusal `json:"refused,omitempty"`
	// Lost lists asserted items that another workflow holds.
	Lost []AdmissionRefusal `json:"lost,omitempty"`
	// Stopped lists the work that the holder must not start any more.
	Stopped []AdmissionStop `json:"stopped,omitempty"`
	// Waiting lists the requests for resources that were received and cannot be granted yet.
	Waiting []string `json:"waiting,omitempty"`
}

// AdmissionGrant grants one item, with Fences consecutive fences from Fence on.
type AdmissionGrant struct {
	ID     string `json:"id"`
	Fence  int64  `json:"fence"`
	Fences int64  `json:"fences"`
	// Keys not granted because others hold them, and keys that admission grants to no holder now.
	Taken    []AdmissionTaken   `json:"taken,omitempty"`
	HeldBack []AdmissionHeldKey `json:"held_back,omitempty"`
	// Result is the last result stored for the granted key.
	Result *KeyResult `json:"result,omitempty"`
}

// MaxKeyResult bounds a stored result of a key, in bytes.
const MaxKeyResult = 2 << 10

// KeyResult is the result of a task with a key. The next holder of its object receives it.
type KeyResult struct {
	// ID is the request released with the result.
	ID     string `json:"id,omitempty"`
	Object string `json:"object"`
	// Digest separates tasks that have the same key and different work.
	Digest string          `json:"digest"`
	Result json.RawMessage `json:"result,omitempty"`
	// At is the time of the success; By is its run.
	At   time.Time `json:"at"`
	By   string    `json:"by,omitempty"`
	Task string    `json:"task"`
}

// AdmissionTaken lists keys that another workflow holds, by ascending index in the item.
type AdmissionTaken struct {
	By      string `json:"by"`
	Indexes []int  `json:"indexes"`
}

// AdmissionRefusal is the reason why the holder does not have an item, or has it no longer.
type AdmissionRefusal struct {
	ID string `json:"id"`
	// Code is one of the codes below, or RETRY_BUDGET.
	Code string `json:"code,omitempty"`
	// Object is the subject of the refusal: a lane, a pool, an object, a job type or a rule.
	Object string `json:"object,omitempty"`
	// By is the workflow that holds the item.
	By string `json:"by,omitempty"`
	// N is the requested amount, Used the amount in use, Limit the maximum.
	N     int            `json:"n,omitempty"`
	Used  int            `json:"used,omitempty"`
	Limit int            `json:"limit,omitempty"`
	Hold  *AdmissionHold `json:"hold,omitempty"`
}

// Codes of an [AdmissionRefusal].
const (
	// RefusedCoalesced: another group of the job type already waits for the lane.
	RefusedCoalesced = "COALESCED"
	// RefusedTooLarge: the request exceeds the size of a pool.
	RefusedTooLarge = string(CodeTooLarge)
	// RefusedFull: admission reached its capacity. Object is FullKeys or FullState.
	RefusedFull = "FULL"
	// RefusedInvalid: the item breaks the rule in Object.
	RefusedInvalid = string(CodeInvalid)
	// RefusedTaken: an asserted item belongs to another holder.
	RefusedTaken = "TAKEN"

	FullKeys  = "dedupe keys"
	FullState = "bytes of requests"
	TakenKey  = "dedupe key"

	RuleOneKind = "ONE_KIND"
	RulePool    = "POOL"
	RuleObject  = "OBJECT"
)

// String renders the refusal for operators: cause, then remedy.
func (r AdmissionRefusal) String() string {
	switch r.Code {
	case RefusedCoalesced:
		return fmt.Sprintf("%s already waits for lane %s and will do the same", r.By, r.Object)
	case RefusedTooLarge:
		return fmt.Sprintf("it needs %d of pool %s, whose size is %d: `roundsman set pool/%s size=%d`", r.N, r.Object, r.Limit, r.Object, r.N)
	case RefusedFull:
		return fmt.Sprintf("admission carries %d of %d %s, %d more do not fit: lower max_jobs_per_detection or wait for runs to end", r.Used, r.Limit, r.Object, r.N)
	case RefusedInvalid:
		return "the request breaks a rule: " + ruleText(r.Object)
	case RefusedTaken:
		return fmt.Sprintf("%s belongs to %s now", r.Object, r.By)
	case HoldRetryBudget, HoldMarkedDone:
		if r.Hold != nil {
			return r.Hold.Of() + " is " + r.Hold.String()
		}
	}
	return r.Code
}

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

// Error implements error, so that an update can return a refusal.
func (r AdmissionRefusal) Error() string { return r.Code + ": " + r.String() }

// AdmissionLinkState is the state of a holder that continue-as-new carries over.
type AdmissionLinkState struct {
	Waiting    []AdmissionItem `json:"waiting,omitempty"`
	Held       []AdmissionHeld `json:"held,omitempty"`
	DeclaredAt time.Time       `json:"declared_at,omitzero"`
	// Told lists the endings of the last report, Untold the endings since then.
	Told   []AdmissionEndings `json:"told,omitempty"`
	Untold []AdmissionEndings `json:"untold,omitempty"`
	// Released lists released items that admission has not confirmed.
	Released []string `json:"released,omitempty"`
	// Results are the last ones sent with releases of keys.
	Results []KeyResult `json:"results,omitempty"`
}

// AdmissionInput starts admission. On continue-as-new its state is the second argument, as bytes.
type AdmissionInput struct {
	// Inherited is the state taken over by an admission without a state of its own.
	Inherited Inherited `json:"inherited,omitzero"`
	// Answers whose delivery is uncertain, and holders whose answers did not fit there.
	Undelivered []AdmissionAnswer `json:"undelivered,omitempty"`
	Unanswered  []AdmissionHolder `json:"unanswered,omitempty"`
	// LateSince is set while workflows that visibility shows late remain to be queried.
	LateSince time.Time `json:"late_since,omitzero"`
	// Previous lists the runs before resets whose durable state is not inherited yet, newest first.
	Previous []string         `json:"previous,omitempty"`
	Audit    *AuditTrailState `json:"audit,omitempty"`
}

// EnsureAdmissionInput starts a missing admission and sends Request, if any, in the same step.
type EnsureAdmissionInput struct {
	Request *AdmissionRequest `json:"request,omitempty"`
}

// CallAdmissionResult answers a call. Missing means that no admission runs and nothing was requested. Answer holds the immediate
// decisions; if nil, a signal follows.
type CallAdmissionResult struct {
	Answer  *AdmissionAnswer `json:"answer,omitempty"`
	Missing bool             `json:"missing,omitempty"`
}

// WatchHoldersResult lists holders that have ended; empty after a while without holders.
type WatchHoldersResult struct {
	Closed []AdmissionHolder `json:"closed,omitempty"`
}

// AskHoldersInput is the argument of [AskHoldersActivity].
type AskHoldersInput struct {
	// Previous is the run of admission before a reset. The result has the last state of the newest run, or of Previous if
	// Known lists the newest. After a reset to a point before an earlier reset, Previous is not the newest.
	Previous string   `json:"previous,omitempty"`
	Known    []string `json:"known,omitempty"`
	// Limit to workflows started after this time that visibility shows late. The activity looks for minutes.
	LateSince time.Time `json:"late_since,omitzero"`
}

// AskHoldersResult lists the running workflows that will assert their holdings.
type AskHoldersResult struct {
	WorkflowIDs []string `json:"workflow_ids,omitempty"`
	// Inherited is the state of the run before a reset.
	Inherited Inherited `json:"inherited,omitzero"`
}

// ResizePoolInput is an operator's size of a pool. Size 0 restores the declared size.
type ResizePoolInput struct {
	Pool string `json:"pool"`
	Size int    `json:"size"`
	By   string `json:"by,omitempty"`
}

// KeyHolderInput queries the holder of a dedupe key.
type KeyHolderInput struct {
	// Keys selects several keys of the job type instead of one.
	Keys      []string `json:"keys,omitempty"`
	JobType   string   `json:"job_type"`
	DedupeKey string   `json:"dedupe_key"`
}

// KeyHolderResult is the result of [QueryKeyHolder]; By is nil if the key is free.
type KeyHolderResult struct {
	By *AdmissionUse `json:"by,omitempty"`
	// ByKey lists the holders of several keys, without the free ones.
	ByKey map[string]AdmissionUse `json:"by_key,omitempty"`
}

// DedupeHash returns the first eight bytes of a SHA-256. Among 100,000 active keys two collide with a probability of
// 1 in 3 billion; one of them then waits for the next detection.
func DedupeHash(jobType, key string) uint64 {
	sum := sha256.Sum256([]byte(jobType + "\x00" + key))
	return binary.BigEndian.Uint64(sum[:8])
}
