package spec

import (
	"encoding/json"
	"regexp"
	"time"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// Defaults and limits of the language.
const (
	// Version is the only version of the language so far.
	Version = 1
	// DefaultConcurrency is the number of tasks in flight unless the spec says.
	DefaultConcurrency = 100
	// MaxConcurrency keeps a run far below the number of pending activities at
	// which the server refuses a workflow's commands.
	MaxConcurrency = 500
	// DefaultTimeout bounds one attempt of a task. That of a job type has the
	// execution_timeout of its policy.
	DefaultTimeout = jobtype.Duration(30 * time.Minute)
	// MaxKeyValid is how long the result of a task with a key is kept.
	MaxKeyValid = jobtype.Duration(24 * time.Hour)
	// DefaultBackoff is the wait before a task's first retry.
	DefaultBackoff = jobtype.Duration(5 * time.Second)
	// MaxFileSize bounds one document.
	MaxFileSize = 32 << 20
	// MaxFanOut bounds the tasks of one entry.
	MaxFanOut = 100_000
	// MaxDepth is how deep sub-DAG files may nest.
	MaxDepth = 16
)

// Spec is a document as it was written, before fan-out.
type Spec struct {
	Version       int
	Name          string
	Concurrency   int
	Deadline      jobtype.Duration // 0: none
	OnFailure     dag.FailurePolicy
	HoldOnFailure jobtype.Duration // 0: do not hold
	Params        map[string]any   // for templates, below a task's own
	Tasks         []Task

	file     string
	size     int
	doubtful bool
	// text is the document where the tasks do not know their places.
	text []byte
}

// File is the name the document was loaded under.
func (s *Spec) File() string { return s.file }

// Size is the length of the document in bytes.
func (s *Spec) Size() int { return s.size }

// Task is one entry of tasks; with ForEach or Matrix it fans out. It has by itself
// what differs from task to task in a document of very many.
type Task struct {
	ID      string
	Needs   []string
	Command []string
	// Settings is the rest, which tasks share where it is equal: do not modify it.
	*Settings

	node *yamlread.Node
	// doubtful: a fault may be why a template refers to what is not there.
	doubtful bool
}

// Settings are the keys of a task that most tasks of a document have in common.
type Settings struct {
	When             string // template; the task is skipped unless it renders true
	TriggerRule      dag.Rule
	Priority         int32
	Timeout          jobtype.Duration // of one attempt
	HeartbeatTimeout jobtype.Duration
	Retries          *Retries
	Node             string
	Labels           map[string]string
	Resources        map[string]int
	Exclusive        []string // objects that nothing else may hold meanwhile; templates
	Shared           []string // objects that nothing may hold exclusively; templates
	NotBefore        time.Time
	ExpiresAt        time.Time // of the first attempt's start
	OnWorkerLoss     jobtype.OnWorkerLoss
	Key              string           // what the task does, for all runs: one executes it, the others take its result over; a template
	KeyValid         jobtype.Duration // how old a result may be that is taken over; 0: not older than the task's begin
	Params           map[string]any
	ForEach          []any
	ForEachFrom      string   // in place of ForEach: a reference to a list of the params, or of a result
	Matrix           []Axis   // in the order written
	PerItem          []string // fan-outs over the same items: each task needs the one of its item
	Concurrency      int      // the most tasks of a fan-out that are running at a time; 0: no limit of its own
	Before           []string // add-tasks only: existing tasks that shall wait for this one

	// Exactly one of these, or Command, says what the task does.
	JobType  string
	Noop     bool
	Sleep    jobtype.Duration
	Approval *Approval
	DAG      string // file of a sub-DAG

	kind Kind
	// source is where the items come from that only a run knows; nil for others.
	source *Source
}

// Kind returns which of the actions the task has.
func (t *Task) Kind() Kind { return t.kind }

// Axis is one key of a matrix and its values.
type Axis struct {
	Key    string
	Values []any
	From   string // in place of Values: a reference to a list of the params
}

// Retries says how often and how fast a failed attempt is repeated.
type Retries struct {
	// Limit is the number of attempts after the first.
	Limit int `json:"limit"`
	// Backoff is the wait before the first of them.
	Backoff jobtype.Duration `json:"backoff"`
	// MaxBackoff bounds the wait, which doubles each time; 0: it is always Backoff.
	MaxBackoff jobtype.Duration `json:"max_backoff,omitempty"`
}

// Approval is a task that waits for a person.
type Approval struct {
	// Prompt is shown to that person; a template.
	Prompt string `json:"prompt,omitempty"`
	// Timeout fails the task without an answer; 0 waits for ever.
	Timeout jobtype.Duration `json:"timeout,omitempty"`
}

// Kind is what a task does.
type Kind string

// The kinds of task.
const (
	KindCommand  Kind = "command"
	KindJobType  Kind = "job_type"
	KindNoop     Kind = "noop"
	KindSleep    Kind = "sleep"
	KindApproval Kind = "approval"
	KindDAG      Kind = "dag"
	// KindFanOut stands for an entry whose items are in the result of another task.
	KindFanOut Kind = "fan_out"
)

// metered reports whether a task of this kind occupies a place under the
// concurrency limit; a sleep and an approval use no worker.
func (k Kind) metered() bool { return k != KindSleep && k != KindApproval }

var taskIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// Header is what a graph's Meta carries: the run's settings.
type Header struct {
	Name          string            `json:"name"`
	Concurrency   int               `json:"concurrency"`
	Deadline      jobtype.Duration  `json:"deadline,omitempty"`
	OnFailure     dag.FailurePolicy `json:"on_failure"`
	HoldOnFailure jobtype.Duration  `json:"hold_on_failure,omitempty"`
	// FanOuts are the limits that fan-outs have of their own.
	FanOuts map[string]int `json:"fan_outs,omitempty"`
	// Params are those that the task of a sub-DAG gave it, in place of its own.
	Params map[string]any `json:"params,omitempty"`
}

// Options are the header's settings as a run takes them.
func (h Header) Options() dag.Options {
	return dag.Options{Concurrency: h.Concurrency, OnFailure: h.OnFailure, Hold: h.HoldOnFailure > 0, FanOuts: h.FanOuts}
}

// Definition is what a graph's payload carries: everything about a task but its
// id, dependencies, priority and rule, which are the graph's own. The tasks of a
// fan-out share one definition.
type Definition struct {
	Kind             Kind              `json:"kind"`
	Command          []string          `json:"command,omitempty"`
	JobType          string            `json:"job_type,omitempty"`
	Sleep            jobtype.Duration  `json:"sleep,omitempty"`
	Approval         *Approval         `json:"approval,omitempty"`
	SubDAG           *SubDAG           `json:"dag,omitempty"`
	When             string            `json:"when,omitempty"`
	Timeout          jobtype.Duration  `json:"timeout,omitempty"`
	HeartbeatTimeout jobtype.Duration  `json:"heartbeat_timeout,omitempty"`
	Retries          *Retries          `json:"retries,omitempty"`
	Node             string            `json:"node,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
	Resources        map[string]int    `json:"resources,omitempty"`
	Exclusive        []string          `json:"exclusive,omitempty"`
	Shared           []string          `json:"shared,omitempty"`
	NotBefore        time.Time         `json:"not_before,omitzero"`
	ExpiresAt        time.Time         `json:"expires_at,omitzero"`
	// OnWorkerLoss replaces that of the policy; empty: that holds.
	OnWorkerLoss jobtype.OnWorkerLoss `json:"on_worker_loss,omitempty"`
	// Key and KeyValid say whose result is taken over.
	Key      string           `json:"key,omitempty"`
	KeyValid jobtype.Duration `json:"key_valid,omitempty"`
	// Params are the task's own, passed to its handler or sub-DAG.
	Params map[string]any `json:"params,omitempty"`
	// Globals are those of the spec's params that the templates refer to.
	Globals map[string]any `json:"globals,omitempty"`
	// PerItem are the fan-outs of which the task needs only the one of its item.
	PerItem []string `json:"per_item,omitempty"`
	// FanOut is that of a stand-in.
	FanOut *FanOut `json:"fan_out,omitempty"`
	// Refs are the needs whose results the templates refer to; a fanned-out entry
	// is named by the entry's id.
	Refs []string `json:"refs,omitempty"`
}

// SubDAG names a graph among the attachments.
type SubDAG struct {
	File string `json:"file"`
	// Hash is the SHA-256 of the encoded graph, in hexadecimal.
	Hash string `json:"hash"`
	// Declared are the values that the sub-DAG's file has for the params of the task.
	Declared map[string]any `json:"declared,omitempty"`
}

// gated reports whether the task requests anything before it runs.
func (t *Task) gated() bool { return len(t.Resources)+len(t.Exclusive)+len(t.Shared)+len(t.Key) > 0 }

// args is what a graph's second payload carries for a task of a fan-out.
type args struct {
	Item   json.RawMessage            `json:"item,omitempty"`
	Matrix map[string]json.RawMessage `json:"matrix,omitempty"`
}
