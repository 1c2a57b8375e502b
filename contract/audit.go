package contract

import (
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// AuditWorkflow is the workflow type, AuditWorkflowID the id of its one workflow in a namespace.
const (
	AuditWorkflow   = "roundsman.Audit"
	AuditWorkflowID = "audit"
)

// Activities of the audit log. All run in the control plane.
const (
	// RecordAuditActivity takes a RecordAuditInput.
	RecordAuditActivity = "roundsman.RecordAudit"
	// AdoptAuditActivity takes an AdoptAuditInput and returns an AdoptAuditResult.
	AdoptAuditActivity = "roundsman.AdoptAudit"
	// EntityEndActivity takes an EntityEndInput and returns an EntityEndResult.
	EntityEndActivity = "roundsman.EntityEnd"
)

// Messages of the audit log.
const (
	// SignalRecord takes an AuditRecord. Signal-with-start creates a missing log.
	SignalRecord = "record"
	// QueryAudit takes an AuditFilter and returns an AuditPage.
	QueryAudit = "list"
	// QueryAuditLog returns the whole log as bytes, for the log that follows a terminated one.
	QueryAuditLog = "log"
)

// Clients through which operators act.
const (
	ViaCLI      = "cli"
	ViaAPI      = "api"
	ViaConsole  = "console"
	ViaGateway  = "gateway"
	ViaTemporal = "temporal"
)

// CodeAccessDenied is the Code of an entry about requests refused for lack of a permission.
const CodeAccessDenied = "ACCESS_DENIED"

// AuditTerminated and AuditEnded follow the workflow id in the Action of an entry about an entity's end.
const (
	AuditTerminated = ".terminate"
	AuditEnded      = ".end"
)

// AuditRestore is the Action of settings restored from the log. Like apply.update it covers all settings.
const AuditRestore = "apply.restore"

// AuditReleased begins the detail of a start that released a waiting run instead.
const AuditReleased = "it waited for "

// AuditRefused is the Action of an entry about requests refused for lack of a permission.
const AuditRefused = "refused"

// AuditVerb is the part of an operator's Action behind its object: pause in jobtype.pause.
type AuditVerb string

// The verbs.
const (
	VerbAddTasks       AuditVerb = "add-tasks"
	VerbApprove        AuditVerb = "approve"
	VerbBackfill       AuditVerb = "backfill"
	VerbCancel         AuditVerb = "cancel"
	VerbCancelTask     AuditVerb = "cancel-task"
	VerbCleanup        AuditVerb = "cleanup"
	VerbConfigure      AuditVerb = "configure"
	VerbCordon         AuditVerb = "cordon"
	VerbCreate         AuditVerb = "create"
	VerbDelete         AuditVerb = "delete"
	VerbDrain          AuditVerb = "drain"
	VerbDrift          AuditVerb = "drift"
	VerbEnd            AuditVerb = "end"
	VerbExpire         AuditVerb = "expire"
	VerbForgive        AuditVerb = "forgive"
	VerbIgnoreWindow   AuditVerb = "ignore_window"
	VerbMarkDone       AuditVerb = "mark-done"
	VerbPause          AuditVerb = "pause"
	VerbReEnable       AuditVerb = "re-enable"
	VerbReject         AuditVerb = "reject"
	VerbRelease        AuditVerb = "release"
	VerbRemove         AuditVerb = "remove"
	VerbRerun          AuditVerb = "rerun"
	VerbReset          AuditVerb = "reset"
	VerbResize         AuditVerb = "resize"
	VerbRestore        AuditVerb = "restore"
	VerbResume         AuditVerb = "resume"
	VerbRetry          AuditVerb = "retry"
	VerbRevoke         AuditVerb = "revoke"
	VerbRotate         AuditVerb = "rotate"
	VerbRun            AuditVerb = "run"
	VerbSet            AuditVerb = "set"
	VerbSetConcurrency AuditVerb = "set-concurrency"
	VerbSkip           AuditVerb = "skip"
	VerbSubmit         AuditVerb = "submit"
	VerbTakeOver       AuditVerb = "take-over"
	VerbTerminate      AuditVerb = "terminate"
	VerbUncordon       AuditVerb = "uncordon"
	VerbUpdate         AuditVerb = "update"
)

// Kinds of audit entries.
const (
	AuditOperator  = "operator"
	AuditScheduler = "scheduler"
)

// AuditEntry is one line of the audit log.
type AuditEntry struct {
	// Seq counts all entries ever recorded, from 1. The log assigns it.
	Seq int64 `json:"seq"`
	// ID identifies repeated entries; the log does not keep it.
	ID string `json:"id,omitempty"`
	// At is the time of the event, the last one if Count is above 1.
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	// Actor and From identify the operator and the host. A scheduler's entry has neither.
	Actor string `json:"actor"`
	From  string `json:"from"`
	// The client (cli, api, console, gateway or temporal) and the authentication (none, key, oidc, session or certificate).
	Via  string `json:"via,omitempty"`
	Auth string `json:"auth,omitempty"`
	// An operator's action, such as jobtype.pause, or a scheduler's decision: refused, delayed, replaced, noticed.
	Action string `json:"action"`
	// Code is the reason of a scheduler's decision; docs/operations.md lists the codes.
	Code    string `json:"code"`
	JobType string `json:"job_type"`
	// Object is the target: a run, a job, a worker or a pool.
	Object string `json:"object"`
	Before string `json:"before"`
	After  string `json:"after"`
	Detail string `json:"detail"`
	// Previous settings of a job type. The log returns them only for a filter with Former, else Restorable.
	Former     []byte `json:"former,omitempty"`
	Restorable bool   `json:"restorable,omitempty"`
	// Superseded reports that a later entry of the log changed the same thing again.
	Superseded bool `json:"superseded,omitempty"`
	// Count is the number of events since Since.
	Count int       `json:"count"`
	Since time.Time `json:"since,omitzero"`
	// Longest is the longest delay among them.
	Longest jobtype.Duration `json:"longest,omitempty"`
}

// MaxFormer bounds [AuditEntry.Former] in bytes, so that one record fits into a message.
const MaxFormer = 8 << 10

// AuditRecord is the argument of [SignalRecord].
type AuditRecord struct {
	Entries []AuditEntry `json:"entries"`
	// Keep is the new maximum number of entries in the log; 0 leaves it unchanged.
	Keep int `json:"keep,omitempty"`
	// New maximum age of entries; 0 leaves it unchanged, a negative value means no limit.
	MaxAge jobtype.Duration `json:"max_age,omitempty"`
}

// AuditInput starts the audit log. On continue-as-new the log is the second argument, as bytes.
type AuditInput struct {
	// Keep is the maximum number of entries; 0 means the default.
	Keep int `json:"keep,omitempty"`
	// Previous is the closed run before this one, if its starter found one.
	Previous string `json:"previous,omitempty"`
	// First means that its starter found no previous run.
	First bool `json:"first,omitempty"`
	// Continued means that the run continues as new and inherits nothing.
	Continued bool             `json:"continued,omitempty"`
	Audit     *AuditTrailState `json:"audit,omitempty"`
}

// RecordAuditInput is the argument of [RecordAuditActivity].
type RecordAuditInput struct {
	Entries []AuditEntry `json:"entries"`
	// Messages of the operators' entries, for data about the sender from the server's history.
	Origins []AuditOrigin `json:"origins,omitempty"`
}

// AuditOrigin locates the message behind an entry.
type AuditOrigin struct {
	// Entry is the index of the entry.
	Entry      int    `json:"entry"`
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// Last event of the history when the message was read: the newest message before it, after skipping Back others.
	EventID int64 `json:"event_id"`
	Back    int   `json:"back,omitempty"`
	// Identity of the message: a signal name, an update id, a cancellation or a reset.
	Signal   string `json:"signal,omitempty"`
	UpdateID string `json:"update_id,omitempty"`
	Cancel   bool   `json:"cancel,omitempty"`
	Reset    bool   `json:"reset,omitempty"`
}

// AdoptAuditAttempts is about two minutes of a running control plane. A time limit would also count while none runs.
const AdoptAuditAttempts = 15

// AdoptAuditInput requests the log of the previous run. RunID is the caller's run.
type AdoptAuditInput struct {
	Previous string `json:"previous,omitempty"`
	First    bool   `json:"first,omitempty"`
	RunID    string `json:"run_id"`
}

// AdoptAuditResult is the log of the previous run, if the server still keeps it.
type AdoptAuditResult struct {
	Log []byte `json:"log,omitempty"`
	// Entry reports how that run ended.
	Entry *AuditEntry `json:"entry,omitempty"`
}

// EntityEndInput queries the end of an entity's previous run. RunID is the caller's run.
type EntityEndInput struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// Passed lists earlier runs whose ends may be missing in the audit log.
	Passed []string `json:"passed,omitempty"`
}

// EntityEndResult reports how that run and the passed ones ended. Entry is nil if the server no longer keeps it.
type EntityEndResult struct {
	Entry  *AuditEntry  `json:"entry,omitempty"`
	Passed []AuditEntry `json:"passed,omitempty"`
}

// AuditFilter selects entries. Empty fields match all.
type AuditFilter struct {
	// Since and Until bound the time, both inclusive.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// JobType, Actor and Kind match exactly; Object matches as a prefix.
	JobType string `json:"job_type,omitempty"`
	Actor   string `json:"actor,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Object  string `json:"object,omitempty"`
	// Of matches an object, and those below it: run/x has the tasks run/x/a, but not run/xy.
	Of string `json:"of,omitempty"`
	// After and Before bound Seq, both exclusive; 0 means no bound.
	After  int64 `json:"after,omitempty"`
	Before int64 `json:"before,omitempty"`
	Former bool  `json:"former,omitempty"`
	// Limit is the maximum number of entries per page: the newest matches. 0 means a full page.
	Limit int `json:"limit,omitempty"`
}

// AuditPage is one page of the audit log, oldest entry first.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
	// More means that older entries match. Query again with Before set to the first Seq.
	More bool `json:"more,omitempty"`
	// Counts of all entries, regardless of the filter, and the maximum number of entries kept.
	Kept    int   `json:"kept"`
	Dropped int64 `json:"dropped"`
	Limit   int   `json:"limit"`
}

// AuditTrailState holds decisions that a workflow has not recorded yet, across continue-as-new.
type AuditTrailState struct {
	// Count numbers the entries of the sender.
	Count int `json:"count"`
	// Entries lists entries without confirmation from the log; Origins identify their messages.
	Entries []AuditEntry  `json:"entries,omitempty"`
	Origins []AuditOrigin `json:"origins,omitempty"`
	Tallies []AuditEntry  `json:"tallies,omitempty"`
	FlushAt time.Time     `json:"flush_at,omitzero"`
}
