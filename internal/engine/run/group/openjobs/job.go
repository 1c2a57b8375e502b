package openjobs

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/carry"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/jobtype"
)

// State is the state of a job, as package contract names it.
type State string

// The states of a job.
const (
	StatePending    State = contract.JobPending
	StateRunning    State = contract.JobRunning
	StateRecalling  State = contract.JobRecalling
	StateHeld       State = contract.JobHeld
	StateCompleted  State = contract.JobCompleted
	StateWarning    State = contract.JobWarning
	StateFailed     State = contract.JobFailed
	StateCanceled   State = contract.JobCanceled
	StateStale      State = contract.JobStale
	StateExpired    State = contract.JobExpired
	StateNotStarted State = contract.JobNotStarted
)

// Done reports whether the work was done.
func (s State) Done() bool { return s == StateCompleted || s == StateWarning }

// Failed reports whether the job is one that failed, is stale or has expired.
func (s State) Failed() bool { return s == StateFailed || s == StateStale || s == StateExpired }

// StateOf is the state of a job that has settled. A success that warns of something has a
// state of its own.
func StateOf(s run.State, warns bool) State {
	switch s {
	case run.Completed:
		if warns {
			return StateWarning
		}
		return StateCompleted
	case run.Failed:
		return StateFailed
	case run.Canceled:
		return StateCanceled
	case run.Stale:
		return StateStale
	case run.Expired:
		return StateExpired
	case run.NotStarted:
		return StateNotStarted
	case run.Open:
	}
	return StatePending
}

// In returns the count of the jobs that have ended in this state; nil if a job in this state is open.
func (s State) In(counts *contract.GroupCounts) *int {
	switch s {
	case StateCompleted:
		return &counts.Completed
	case StateWarning:
		return &counts.Warning
	case StateFailed:
		return &counts.Failed
	case StateCanceled:
		return &counts.Canceled
	case StateStale:
		return &counts.Stale
	case StateExpired:
		return &counts.Expired
	case StateNotStarted:
		return &counts.NotStarted
	case StatePending, StateRunning, StateRecalling, StateHeld:
	}
	return nil
}

// Job is a proposal or a batch of proposals, without the engine's item.
type Job struct {
	proposed.Work

	N int `json:"n"`
	// Ref is the place of a proposal in a page, Queue its queue in the backlog. Proposal has the fields
	// of the queue then.
	Ref   *contract.ProposalRef `json:"ref,omitempty"`
	Queue int                   `json:"q,omitempty"`
	// From is the attempt of the detection that found it.
	From int `json:"f,omitempty"`
	// Hash is that of the dedupe key of a proposal in a page; 0: it has none, or it was not read. Chunk is the chunk of
	// its claim.
	Hash  uint64 `json:"h,omitempty"`
	Chunk int    `json:"ch,omitempty"`
	// Checkpoint and Done are the progress of an earlier group.
	Checkpoint json.RawMessage `json:"c,omitempty"`
	Done       float64         `json:"dn,omitempty"`
	// Canceling is the reason to end it once its key is claimed: as expired if Expiring, else as
	// canceled.
	Canceling string `json:"x,omitempty"`
	// The next fields are of a job that has ended, or was started.
	State     State     `json:"s,omitempty"`
	Attempt   int       `json:"a,omitempty"`
	Worker    string    `json:"w,omitempty"`
	Error     string    `json:"e,omitempty"`
	CreatedAt time.Time `json:"ca,omitzero"`
	StartedAt time.Time `json:"sa,omitzero"`
	EndedAt   time.Time `json:"ea,omitzero"`
	// Left is the work of a job that has ended, or the data of one that was done.
	Left string `json:"-"`
	// More: with it, the jobs with the next numbers have ended before they began.
	More int `json:"-"`

	// Fields of one byte stand together: a group holds thousands of jobs.
	Expiring bool `json:"xe,omitempty"`
	// Late: it was found while the group ran, and is not claimed yet.
	Late bool `json:"lt,omitempty"`
	// Claiming: its claim has no answer yet.
	Claiming bool `json:"-"`
	// Counted: it has ended.
	Counted bool `json:"-"`
}

// Again returns the work that a retry submits; empty if the job was done.
func (j *Job) Again() string {
	if j.Counted && j.Left != "" || j.State.Done() || j.Ref != nil {
		return j.Left
	}
	return record.Work(j.Proposal, j.Items, j.Parts, j.BatchKey)
}

// Record returns the entry of a job that has ended.
func (j *Job) Record() record.Job {
	return record.Job{
		N: j.N, Attempt: j.Attempt, State: string(j.State), Worker: j.Worker, Error: j.Error, Key: j.Proposal.DedupeKey, Summary: j.Proposal.Summary,
		Priority: j.Proposal.Priority, CreatedAt: j.CreatedAt, StartedAt: j.StartedAt, EndedAt: j.EndedAt, Items: j.ShortItems(), Work: j.Again(),
	}
}

// FromRecord is the inverse of [Job.Record].
func FromRecord(r *record.Job) *Job {
	return &Job{
		N: r.N, More: r.More, Attempt: r.Attempt, State: State(r.State), Worker: r.Worker, Error: r.Error, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		Work: proposed.Work{Items: r.Items, Proposal: jobtype.Proposal{DedupeKey: r.Key, Summary: r.Summary, Priority: r.Priority}}, Counted: true, Left: r.Work,
	}
}

// CarryKey names the work of the job's checkpoint: its dedupe key, or, for a batch, exactly these
// items. Empty: no later group could find it again.
func (j *Job) CarryKey() string {
	keys := j.Keys()
	switch {
	case j.Hash != 0:
		return HashName(j.Hash)
	case len(keys) == 0 || len(j.Items) > 0 && len(keys) < len(j.Items):
		return ""
	case len(keys) == 1:
		return keys[0]
	}
	sum := sha256.Sum256([]byte(strings.Join(keys, "\x00")))
	return fmt.Sprintf("%s, %x", explain.TextBatch(len(keys)), sum[:12])
}

// CarriedKey is [Job.CarryKey] as the group did name it that left a checkpoint: by the key, or by its hash.
func (j *Job) CarriedKey(jobType string, list []carry.Checkpoint) string {
	key, hash := j.CarryKey(), j.Hash
	if key == "" || len(list) == 0 {
		return key
	}
	hash = cmp.Or(hash, contract.DedupeHash(jobType, key))
	for _, left := range list {
		if left.Key == HashName(hash) || j.Hash != 0 && contract.DedupeHash(jobType, left.Key) == hash {
			return left.Key
		}
	}
	return key
}

// HashName is the name of a dedupe key with a known hash and an unknown text.
func HashName(hash uint64) string { return fmt.Sprintf("key %016x", hash) }

// ItemsText counts the proposals of a batch, for messages; empty for a single proposal.
func (j *Job) ItemsText() string {
	return explain.TextItems(len(j.Items))
}

// End sets the end of a job that never began. One that an operator has ended ends so.
func (j *Job) End(state State, at time.Time, why string) {
	j.State, j.EndedAt, j.Error = state, at, why
	if j.Canceling != "" {
		j.State, j.Error = StateOf(j.Requested(), false), j.Canceling
	}
}

// Requested is the end of a job that an operator has ended before its claim.
func (j *Job) Requested() run.State {
	if j.Expiring {
		return run.Expired
	}
	return run.Canceled
}
