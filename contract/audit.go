package contract

import (
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// AuditWorkflow is the workflow type of the audit log, AuditWorkflowID the id of
// the one of a namespace.
const (
	AuditWorkflow   = "roundsman.Audit"
	AuditWorkflowID = "audit"
)

// Activities of the audit log; all run in the control plane.
const (
	// RecordAuditActivity takes a RecordAuditInput.
	RecordAuditActivity = "roundsman.RecordAudit"
	// AdoptAuditActivity takes an AdoptAuditInput and answers an
	// AdoptAuditResult.
	AdoptAuditActivity = "roundsman.AdoptAudit"
	// EntityEndActivity takes an EntityEndInput and answers an EntityEndResult.
	EntityEndActivity = "roundsman.EntityEnd"
)

// Messages of the audit log.
const (
	// SignalRecord takes an AuditRecord. The sender starts the log with
	// it if there is none.
	SignalRecord = "record"
	// QueryAudit takes an AuditFilter and answers an AuditPage.
	QueryAudit = "list"
	// QueryAuditLog answers all of it as bytes, for the log that comes after a
	// terminated one.
	QueryAuditLog = "log"
)

// Ways by which operators act.
const (
	ViaCLI      = "cli"
	ViaAPI      = "api"
	ViaConsole  = "console"
	ViaGateway  = "gateway"
	ViaTemporal = "temporal"
)

// CodeAccessDenied is the Code of an entry about requests that were refused for want
// of a permission.
const CodeAccessDenied = "ACCESS_DENIED"

// The suffixes of the workflow's id in the Action of an entry about a run of an entity that
// ended: AuditTerminated if somebody terminated it, AuditEnded if it ended otherwise.
const (
	AuditTerminated = ".terminate"
	AuditEnded      = ".end"
)

// AuditRestore is the Action of an entry about settings that were put back from the log.
// Like apply.update it is about all settings of a job type.
const AuditRestore = "apply.restore"

// Kinds of audit entries.
const (
	AuditOperator  = "operator"
	AuditScheduler = "scheduler"
)

// AuditEntry is one line of the audit log.
type AuditEntry struct {
	// Seq counts the entries ever taken, from 1. The log gives it.
	Seq int64 `json:"seq"`
	// ID tells a repeated entry from a new one; it is not kept.
	ID string `json:"id,omitempty"`
	// At is when it happened; of several, the last.
	At time.Time `json:"at"`
	// Kind is AuditOperator or AuditScheduler.
	Kind string `json:"kind"`
	// Actor and From say who and from where; a scheduler's entry has neither.
	Actor string `json:"actor"`
	From  string `json:"from"`
	// Via is by which way an operator acted: cli, api, console, gateway or temporal.
	// Auth is how they were known: none, key, oidc, session or certificate; empty
	// for the user of a command.
	Via  string `json:"via,omitempty"`
	Auth string `json:"auth,omitempty"`
	// Action is what an operator did, such as jobtype.pause, or what kind of
	// decision the scheduler took: refused, delayed, replaced, noticed.
	Action string `json:"action"`
	// Code says why the scheduler decided so; docs/operations.md lists them.
	Code    string `json:"code"`
	JobType string `json:"job_type"`
	// Object is what it was done to: a run, a job, a worker, a pool.
	Object string `json:"object"`
	Before string `json:"before"`
	After  string `json:"after"`
	Detail string `json:"detail"`
	// Former is what the settings of a job type were before, for those that put them
	// back. Only a filter that asks for it gets it; of others Restorable says that the
	// log has it.
	Former     []byte `json:"former,omitempty"`
	Restorable bool   `json:"restorable,omitempty"`
	// Count is how often it happened since Since.
	Count int       `json:"count"`
	Since time.Time `json:"since,omitzero"`
	// Longest is the longest delay among them.
	Longest jobtype.Duration `json:"longest,omitempty"`
}

// MaxFormer bounds [AuditEntry.Former] in bytes, so that what is recorded at once fits
// into one message. Longer ones are left out.
const MaxFormer = 8 << 10

// AuditRecord is what is recorded at once.
type AuditRecord struct {
	Entries []AuditEntry `json:"entries"`
	// Keep is how many entries the log keeps from now on; 0: as before.
	Keep int `json:"keep,omitempty"`
	// MaxAge is how long it keeps each from now on; 0: as before, below 0: without end.
	MaxAge jobtype.Duration `json:"max_age,omitempty"`
}

// AuditInput starts the audit log. The second argument of the workflow is the
// log itself, as bytes, when it continues as new.
type AuditInput struct {
	// Keep is how many entries are kept; 0: the default.
	Keep int `json:"keep,omitempty"`
	// Previous is the run that was closed when this one was started, as far as
	// its starter knows.
	Previous string `json:"previous,omitempty"`
	// First: its starter knows that there was none.
	First bool `json:"first,omitempty"`
	// Continued: it continues as new; there is nothing to take over.
	Continued bool `json:"continued,omitempty"`
	// Audit holds entries about the log itself that it does not have yet; nil:
	// none.
	Audit *AuditTrailState `json:"audit,omitempty"`
}

// RecordAuditInput is the argument of [RecordAuditActivity].
type RecordAuditInput struct {
	Entries []AuditEntry `json:"entries"`
	// Origins say which messages the operators' entries come from, so that what
	// the message does not say of its sender is read from the server's record
	// of it.
	Origins []AuditOrigin `json:"origins,omitempty"`
}

// AuditOrigin finds the message that an entry comes from.
type AuditOrigin struct {
	// Entry is the index of the entry.
	Entry      int    `json:"entry"`
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	// EventID is the last event of the history when the message was read. The
	// message is the newest before it, but for Back others.
	EventID int64 `json:"event_id"`
	Back    int   `json:"back,omitempty"`
	// One of these says which message: a signal of that name, the update with
	// that id, or a cancellation.
	Signal   string `json:"signal,omitempty"`
	UpdateID string `json:"update_id,omitempty"`
	Cancel   bool   `json:"cancel,omitempty"`
	Reset    bool   `json:"reset,omitempty"`
}

// AdoptAuditInput asks for the log of the run before. RunID is the asking one.
type AdoptAuditInput struct {
	Previous string `json:"previous,omitempty"`
	First    bool   `json:"first,omitempty"`
	RunID    string `json:"run_id"`
}

// AdoptAuditResult is the log of the run before. It is empty if there was none,
// or the server has it no more.
type AdoptAuditResult struct {
	Log []byte `json:"log,omitempty"`
	// Entry says how that run came to its end.
	Entry *AuditEntry `json:"entry,omitempty"`
}

// EntityEndInput asks how the run of an entity before this one ended. RunID is the
// asking one.
type EntityEndInput struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
}

// EntityEndResult says who ended that run; Entry is nil if there was none, or the
// server has it no more.
type EntityEndResult struct {
	Entry *AuditEntry `json:"entry,omitempty"`
}

// AuditFilter keeps entries. Empty fields keep all.
type AuditFilter struct {
	// Since and Until bound the time, both inclusive.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// JobType, Actor and Kind are exact, Object is a prefix.
	JobType string `json:"job_type,omitempty"`
	Actor   string `json:"actor,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Object  string `json:"object,omitempty"`
	// After and Before bound Seq, both exclusive; 0: no bound.
	After  int64 `json:"after,omitempty"`
	Before int64 `json:"before,omitempty"`
	// Former asks for [AuditEntry.Former], which is left out otherwise.
	Former bool `json:"former,omitempty"`
	// Limit is the most entries of a page: the newest ones that match. 0: as
	// many as a page holds.
	Limit int `json:"limit,omitempty"`
}

// AuditPage is an answer, oldest entry first.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
	// More: older entries match too. Ask again with Before = the first Seq.
	More bool `json:"more,omitempty"`
	// Kept and Dropped count all entries, whatever was asked for; Limit is how
	// many are kept at most.
	Kept    int   `json:"kept"`
	Dropped int64 `json:"dropped"`
	Limit   int   `json:"limit"`
}

// AuditTrailState is what a workflow carries across continue-as-new: decisions of
// its own that it has not recorded yet.
type AuditTrailState struct {
	// Count numbers the entries of the sender.
	Count int `json:"count"`
	// Entries are those that are not known to be recorded, and Origins say which
	// messages they come from.
	Entries []AuditEntry  `json:"entries,omitempty"`
	Origins []AuditOrigin `json:"origins,omitempty"`
	Tallies []AuditEntry  `json:"tallies,omitempty"`
	FlushAt time.Time     `json:"flush_at,omitzero"`
}
