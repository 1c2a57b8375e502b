package spec

import (
	"encoding/json"
	"regexp"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// Defaults and limits of the language.
const (
	// Version is the only version of the language.
	Version = 1
	// DefaultConcurrency is the default maximum number of tasks in flight.
	DefaultConcurrency = 100
	// MaxConcurrency is far below the number of pending activities at which the server refuses a workflow's commands.
	MaxConcurrency = 500
	// Bound of one attempt of a task. A job_type task uses its policy's execution_timeout.
	DefaultTimeout = jobtype.Duration(30 * time.Minute)
	// MaxKeyValid bounds the age of a stored result of a task with a key.
	MaxKeyValid = jobtype.Duration(24 * time.Hour)
	// MaxObject bounds the name of an object in bytes, and MaxKey a key, which is an object named key:KEY.
	MaxObject = 512
	MaxKey    = MaxObject - len("key:")
	// DefaultBackoff is the wait before a task's first retry.
	DefaultBackoff = jobtype.Duration(5 * time.Second)
	// MaxFileSize bounds one document, in bytes.
	MaxFileSize = 32 << 20
	// MaxFanOut bounds the tasks of one entry.
	MaxFanOut = 100_000
	// MaxDepth bounds the nesting of sub-DAG files.
	MaxDepth = 16
	// MaxSubDAGs bounds the sub-DAGs of a spec. A file with several values of the params that decide on its tasks
	// counts for each of them.
	MaxSubDAGs = 1000
	// MaxDuration bounds every duration. A sum with another one does not overflow.
	MaxDuration = jobtype.Duration(36500 * 24 * time.Hour)
)

// Spec is a document as written, before fan-out. Only [Load] makes one: a program that builds a DAG writes it as JSON.
type Spec struct {
	Version       int
	Name          string
	Concurrency   int
	Deadline      jobtype.Duration // 0: none
	OnFailure     dag.FailurePolicy
	HoldOnFailure jobtype.Duration // 0: off
	Recovery      jobtype.Recovery // empty: resume
	Params        map[string]any   // for templates, below a task's own
	// Defaults are keys of launch.Spec for every command task that does not set them.
	Defaults map[string]any
	Tasks    []Task

	file     string
	size     int
	doubtful bool
	written  *yamlread.Node
	defaults *yamlread.Node
	text     []byte
}

// File returns the name passed to Load.
func (s *Spec) File() string { return s.file }

// Size returns the length of the document in bytes.
func (s *Spec) Size() int { return s.size }

// Task is one entry of tasks: the data that differs between the tasks of a large document.
type Task struct {
	ID      string
	Needs   []string
	Command []string
	// Shell is a script in place of Command, with templates.
	Shell string
	// Settings may be shared by several tasks: do not modify it.
	*Settings

	node     *yamlread.Node
	doubtful bool
}

// Settings are the keys that most tasks of a document have in common.
type Settings struct {
	When             string // template; the task is skipped unless it renders true
	TriggerRule      dag.Rule
	Priority         int32
	Timeout          jobtype.Duration // of one attempt
	HeartbeatTimeout jobtype.Duration
	Retries          *Retries
	RetryBudget      *contract.RetryBudgetRule // of its attempts in all runs of the DAG
	Node             string
	Labels           map[string]string
	Resources        map[string]int
	Exclusive        []string // objects held exclusively meanwhile; templates
	Shared           []string // objects held shared meanwhile; templates
	NotBefore        time.Time
	ExpiresAt        time.Time // of the first attempt's start
	OnWorkerLoss     jobtype.OnWorkerLoss
	Key              string           // template; of all tasks with a key, in all runs, one executes and the others reuse its result
	KeyValid         jobtype.Duration // maximum age of a reused result; 0: not older than the start of the task
	Params           map[string]any
	Launch           map[string]any // keys of launch.Spec: how a command is started; templates
	ForEach          []any
	ForEachFrom      string   // instead of ForEach: a reference to a list of the params or of a result
	Matrix           []Axis   // in the order written
	PerItem          []string // fan-outs over the same items: each task needs the one of its item
	Concurrency      int      // maximum number of running tasks of a fan-out; 0: no own limit
	ItemsInFlight    int      // maximum number of items of which the chain has begun and not ended; 0: no limit
	// OnItemFailure is the effect of a failed item on items that have not begun; nil means continue.
	OnItemFailure *dag.FailurePolicy
	Before        []string // add-tasks only: existing tasks that must wait for this one

	// Exactly one of these, Command or Shell is set.
	JobType  string
	Noop     bool
	Sleep    jobtype.Duration
	Approval *Approval
	DAG      string // file of a sub-DAG

	kind   Kind
	source *Source
}

// Kind returns the task's action.
func (t *Task) Kind() Kind { return t.kind }

// Axis is one key of a matrix and its values.
type Axis struct {
	Key    string
	Values []any
	From   string // instead of Values: a reference to a list of the params
}

// Retries are the retries of a failed attempt.
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
	// Prompt is the text for that person; a template.
	Prompt string `json:"prompt,omitempty"`
	// Timeout fails the task without a decision; 0 waits for ever.
	Timeout jobtype.Duration `json:"timeout,omitempty"`
}

// Kind is the action of a task.
type Kind string

// The kinds of task.
const (
	KindCommand  Kind = "command"
	KindJobType  Kind = "job_type"
	KindNoop     Kind = "noop"
	KindSleep    Kind = "sleep"
	KindApproval Kind = "approval"
	KindDAG      Kind = "dag"
	// KindFanOut stands for an entry whose items are in another task's result.
	KindFanOut Kind = "fan_out"
)

// A sleep and an approval use no worker.
func (k Kind) metered() bool { return k != KindSleep && k != KindApproval }

// attemptTimeout is the timeout of one attempt; 0: a sub-DAG has none, and a job type has its own.
func (t *Task) attemptTimeout() jobtype.Duration {
	if t.Timeout == 0 && t.kind.metered() && t.kind != KindDAG && t.kind != KindJobType {
		return DefaultTimeout
	}
	return t.Timeout
}

var taskIDPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$`)

// Header holds a run's settings, as the Meta of its graph.
type Header struct {
	Name          string            `json:"name"`
	Concurrency   int               `json:"concurrency"`
	Deadline      jobtype.Duration  `json:"deadline,omitempty"`
	OnFailure     dag.FailurePolicy `json:"on_failure"`
	HoldOnFailure jobtype.Duration  `json:"hold_on_failure,omitempty"`
	Recovery      jobtype.Recovery  `json:"recovery,omitempty"`
	// FanOuts are the own limits of fan-outs.
	FanOuts map[string]int `json:"fan_outs,omitempty"`
	// Chains are the limits of items in flight, by the first fan-out.
	Chains map[string]dag.Chain `json:"chains,omitempty"`
	// Params are the params from the sub-DAG task, which replace the file's.
	Params map[string]any `json:"params,omitempty"`
	// Defaults are for the programs of tasks that are added during a run.
	Defaults map[string]any `json:"defaults,omitempty"`
}

// Options returns the header's settings for a run.
func (h Header) Options() dag.Options {
	return dag.Options{Concurrency: h.Concurrency, OnFailure: h.OnFailure, Hold: h.HoldOnFailure > 0, FanOuts: h.FanOuts, Chains: h.Chains}
}

// Definition is the payload of a task, shared by the tasks of a fan-out.
type Definition struct {
	Kind             Kind             `json:"kind"`
	Command          []string         `json:"command,omitempty"`
	JobType          string           `json:"job_type,omitempty"`
	Sleep            jobtype.Duration `json:"sleep,omitempty"`
	Approval         *Approval        `json:"approval,omitempty"`
	SubDAG           *SubDAG          `json:"dag,omitempty"`
	When             string           `json:"when,omitempty"`
	Timeout          jobtype.Duration `json:"timeout,omitempty"`
	HeartbeatTimeout jobtype.Duration `json:"heartbeat_timeout,omitempty"`
	Retries          *Retries         `json:"retries,omitempty"`
	// RetryBudget is for the task's failures in all runs of the DAG.
	RetryBudget *contract.RetryBudgetRule `json:"retry_budget,omitempty"`
	Node        string                    `json:"node,omitempty"`
	Labels      map[string]string         `json:"labels,omitempty"`
	Resources   map[string]int            `json:"resources,omitempty"`
	Exclusive   []string                  `json:"exclusive,omitempty"`
	Shared      []string                  `json:"shared,omitempty"`
	NotBefore   time.Time                 `json:"not_before,omitzero"`
	ExpiresAt   time.Time                 `json:"expires_at,omitzero"`
	// OnWorkerLoss overrides the policy's; empty keeps it.
	OnWorkerLoss jobtype.OnWorkerLoss `json:"on_worker_loss,omitempty"`
	// Key and KeyValid select the result to reuse.
	Key      string           `json:"key,omitempty"`
	KeyValid jobtype.Duration `json:"key_valid,omitempty"`
	// Params are the task's own, passed to its handler or sub-DAG.
	Params map[string]any `json:"params,omitempty"`
	// Launch has keys of launch.Spec, for a command.
	Launch map[string]any `json:"launch,omitempty"`
	// Globals are the params of the spec used by the templates.
	Globals map[string]any `json:"globals,omitempty"`
	// PerItem lists fan-outs. Of each of them the task needs only the task of its own item.
	PerItem []string `json:"per_item,omitempty"`
	// FanOut is set for a stand-in.
	FanOut *FanOut `json:"fan_out,omitempty"`
	// Needs whose results the templates use, by the entry's id.
	Refs []string `json:"refs,omitempty"`
}

// SubDAG refers to a graph among the attachments.
type SubDAG struct {
	File string `json:"file"`
	// Hash is the SHA-256 of the encoded graph, in hexadecimal.
	Hash string `json:"hash"`
	// Declared holds the values in the sub-DAG's file for the task's params.
	Declared map[string]any `json:"declared,omitempty"`
}

// gated reports whether the task requests resources, or whether it is enabled, before it runs.
func (t *Task) gated() bool {
	return len(t.Resources)+len(t.Exclusive)+len(t.Shared)+len(t.Key) > 0 || t.RetryBudget != nil
}

type args struct {
	Item   json.RawMessage            `json:"item,omitempty"`
	Matrix map[string]json.RawMessage `json:"matrix,omitempty"`
}
