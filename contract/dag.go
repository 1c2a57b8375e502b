package contract

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// DAGInput starts a run of a DAG. It is the first of the workflow's three
// arguments; the second is the graph as dag.Graph.Encode writes it, the third
// the state of the run, empty for a new one. Graph and state are arguments of
// their own because bytes inside a JSON document would grow by a third.
type DAGInput struct {
	// Name of the DAG, as its spec says.
	Name string `json:"name"`
	// Hash of the graph in hexadecimal; empty when Source is given.
	Hash string `json:"hash,omitempty"`
	// Source is a spec's text, for a DAG that travels with a job: the workflow
	// has it compiled by CompileDAGActivity and never reads it itself.
	Source string `json:"source,omitempty"`
	// SourceName is what faults in Source are reported under.
	SourceName string `json:"source_name,omitempty"`
	// Files are those of the sub-DAGs that Source names.
	Files map[string]string `json:"files,omitempty"`
	// Params replace those that Source declares.
	Params json.RawMessage `json:"params,omitempty"`
	// Deadline bounds the run in addition to the spec's own; the shorter one counts.
	Deadline jobtype.Duration `json:"deadline,omitempty"`
	// Resources are the sizes of pools as the configuration declares them. A run
	// without any leaves all sizes as they are.
	Resources map[string]int `json:"resources,omitempty"`
	// DeclaredAt is when that configuration was read; zero: when the run started. A
	// DAG below another run has that one's sizes, which newer ones may have replaced
	// since.
	DeclaredAt time.Time `json:"declared_at,omitzero"`
	// Node and Labels say where tasks run that name neither: those of the proposal,
	// for a DAG that travels with a job.
	Node   string            `json:"node,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// Depth counts the DAGs above a sub-DAG.
	Depth int `json:"depth,omitempty"`
	// Resumes is the workflow id of the run that this one continues from.
	Resumes string `json:"resumes,omitempty"`
	// By says who started the run.
	By string `json:"by,omitempty"`
	// RollEvents is the length of the history from which on the run looks for a
	// moment to continue as new. Default 20,000; tests use 1.
	RollEvents int `json:"roll_events,omitempty"`
	// Carry is set when the run continues as new, and only then.
	Carry *DAGCarry `json:"carry,omitempty"`
}

// DAGCarry is what continues as new besides the state.
type DAGCarry struct {
	// Runs counts the workflow runs so far.
	Runs int `json:"runs"`
	// Pages have the parts of the state that do not fit into its argument.
	Pages []StatePage `json:"pages,omitempty"`
	// FleetSeq is the number of the last view of the workers.
	FleetSeq int64 `json:"fleet_seq,omitempty"`
	// JobTypes are the definitions that job_type tasks run with. They are looked
	// up once, so that an apply in between does not change a run halfway.
	JobTypes map[string]JobTypeSpec `json:"job_types,omitempty"`
	// Admission is what tasks hold and wait for; nil if none ever asked.
	Admission *AdmissionLinkState `json:"admission,omitempty"`
	// Audit is what the run has not told the audit log yet; nil: nothing.
	Audit *AuditTrailState `json:"audit,omitempty"`
}

// Outcomes of a DAG are OutcomeCompleted, OutcomeFailed and OutcomeCanceled.

// DAGResult is how a run ended. A completed run returns it; it is the detail of
// the failure of a failed run (RunFailedError) and of the cancellation of
// a canceled one.
type DAGResult struct {
	DAG        string  `json:"dag"`
	WorkflowID string  `json:"workflow_id"`
	RunID      string  `json:"run_id"`
	Outcome    Outcome `json:"outcome"`
	// Reason explains an outcome that the tasks do not: a deadline, an operator.
	Reason string `json:"reason,omitempty"`
	// Counts has every state that a task is in.
	Counts     map[string]int `json:"counts"`
	StartedAt  time.Time      `json:"started_at"`
	EndedAt    time.Time      `json:"ended_at"`
	DurationMS int64          `json:"duration_ms"`
	// Tasks by id. In the workflow's own result it is left out for runs of more
	// than MaxResultTasks; Final has it all, and starter.ShowDAG fills it in.
	Tasks map[string]DAGTask `json:"tasks,omitempty"`
	// Final is the run's last state, compact: what a resumed run starts from.
	Final []byte `json:"final,omitempty"`
}

// MaxResultTasks is how many tasks a result lists one by one.
const MaxResultTasks = 1000

// DAGTask is one task in a result.
type DAGTask struct {
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
	// Worker ran the last attempt; empty for what runs on no worker.
	Worker string `json:"worker,omitempty"`
	Error  string `json:"error,omitempty"`
	// FromRun is the workflow id of the run that produced the state, where that
	// is an earlier one.
	FromRun string `json:"from_run,omitempty"`
	// FromTask is the task of that run whose result was taken over, because it has the
	// same key.
	FromTask string `json:"from_task,omitempty"`
}

// DAGInvalidError is the type of the error of a run whose input cannot be run
// at all: a spec that does not compile, a graph that cannot be read.
const DAGInvalidError = "DAGInvalid"

// Messages of a DAG run, besides SignalPause, SignalResume and QueryStatus. Those
// that can be refused are updates: a validator answers with the reason, and
// nothing is changed.
const (
	// SignalCancelDAG takes a CancelDAGInput and does what
	// `temporal workflow cancel` does, with a reason. A second one also cancels
	// the tasks with the rule always.
	SignalCancelDAG = "cancel"

	// UpdateRetryTasks takes a RetryTasksInput.
	UpdateRetryTasks = "retry"
	// UpdateSkipTask takes a TaskInput: the task counts as done without being run.
	UpdateSkipTask = "skip"
	// UpdateRerunTask takes a TaskInput: a task that has ended, and everything
	// that depends on it, is executed again.
	UpdateRerunTask = "rerun"
	// UpdateCancelTask takes a TaskInput.
	UpdateCancelTask = "cancel-task"
	// UpdateApprove and UpdateReject take a DecideTaskInput, for a task that waits
	// for an approval.
	UpdateApprove = "approve"
	UpdateReject  = "reject"
	// UpdateAddTasks takes an AddTasksInput.
	UpdateAddTasks = "add-tasks"
	// UpdateSetConcurrency takes a SetConcurrencyInput.
	UpdateSetConcurrency = "set-concurrency"
	// UpdateRelease takes a TaskInput without a task and ends a held run.
	UpdateRelease = "release"

	// QueryTasks takes a TasksQueryInput and answers a TasksQueryResult.
	QueryTasks = "tasks"
	// QueryFinal answers the state of the run as bytes, as DAGResult.Final has it.
	QueryFinal = "final"
)

// CancelDAGInput says why the run is canceled, and by whom.
type CancelDAGInput struct {
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// RetryTasksInput names the failed tasks to try again with what they blocked;
// without tasks, all of them.
type RetryTasksInput struct {
	Tasks []string `json:"tasks,omitempty"`
	By    string   `json:"by,omitempty"`
}

// TaskInput names one task.
type TaskInput struct {
	Task   string `json:"task"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// DecideTaskInput answers an approval.
type DecideTaskInput struct {
	Task string `json:"task"`
	By   string `json:"by,omitempty"`
	// Note becomes part of the task's result, or of its error.
	Note string `json:"note,omitempty"`
}

// AddTasksInput adds tasks to a run, or redefines some that have not started: a list like that of a spec with `before`
// besides `needs`, at most 1 MiB.
type AddTasksInput struct {
	// Tasks is the list in JSON, for whoever types the message.
	Tasks json.RawMessage `json:"tasks,omitempty"`
	// Text, if it is not empty, is the list instead: as it was written, YAML or
	// JSON, so that faults name the line in File.
	Text string `json:"text,omitempty"`
	File string `json:"file,omitempty"`
	By   string `json:"by,omitempty"`
}

// SetConcurrencyInput changes how many tasks run at once: of the run, or of one fan-out
// of it.
type SetConcurrencyInput struct {
	Concurrency int    `json:"concurrency"`
	FanOut      string `json:"fan_out,omitempty"`
	By          string `json:"by,omitempty"`
}

// ConcurrencySetting is the one setting of an open run of a DAG; followed by a dot and
// the name of a fan-out it is that one's.
const ConcurrencySetting = "concurrency"

// ConcurrencyOf names the setting of a fan-out; of the run for an empty name.
func ConcurrencyOf(fanOut string) string {
	if fanOut == "" {
		return ConcurrencySetting
	}
	return ConcurrencySetting + "." + fanOut
}

// DAGChanged answers an update: the states of the run after it.
type DAGChanged struct {
	Counts map[string]int `json:"counts"`
	// Before is the limit before it (set-concurrency); 0: there was none.
	Before int `json:"before,omitempty"`
	// Tasks lists the added tasks (add-tasks) or those brought back.
	Tasks []string `json:"tasks,omitempty"`
	// Redefined lists the tasks that add-tasks gave another definition.
	Redefined []string `json:"redefined,omitempty"`
}

// TasksQueryInput filters and pages the tasks of a run.
type TasksQueryInput struct {
	// States keeps tasks in one of these states; empty keeps all.
	States []string `json:"states,omitempty"`
	// Task keeps one task, or all tasks of a fanned-out entry.
	Task string `json:"task,omitempty"`
	// Offset and Limit page through the matching tasks; Limit 0 means 200, the
	// most is 5,000.
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"`
}

// TasksQueryResult is one page of tasks in declaration order; Total counts all
// that match.
type TasksQueryResult struct {
	Tasks []TaskView `json:"tasks"`
	Total int        `json:"total"`
}

// TaskView is one task as operators see it.
type TaskView struct {
	ID    string   `json:"id"`
	Kind  string   `json:"kind"`
	Needs []string `json:"needs,omitempty"`
	DAGTask
	// Redefined: its definition was replaced after the run had begun.
	Redefined bool `json:"redefined,omitempty"`
	// Waiting says what a task waits for that is ready or runs without being on a
	// worker: a worker, a retry, an approval with its prompt.
	Waiting string `json:"waiting,omitempty"`
	// Until is when a retry, a sleep or an approval's timeout is due.
	Until     time.Time `json:"until,omitzero"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// Result is kept only while a task that has not ended refers to it.
	Result json.RawMessage `json:"result,omitempty"`
}

// DAGStatus answers QueryStatus of a DAG run.
type DAGStatus struct {
	DAG     string `json:"dag"`
	Hash    string `json:"hash"`
	Resumes string `json:"resumes,omitempty"`
	// Phase is preparing, running, held, ending or ended.
	Phase     string    `json:"phase"`
	Paused    bool      `json:"paused,omitempty"`
	PauseNote string    `json:"pause_note,omitempty"`
	PausedBy  string    `json:"paused_by,omitempty"`
	StartedAt time.Time `json:"started_at"`
	Deadline  time.Time `json:"deadline,omitzero"`
	// HeldUntil is when a held run ends unless an operator acts.
	HeldUntil   time.Time      `json:"held_until,omitzero"`
	Total       int            `json:"total"`
	Counts      map[string]int `json:"counts"`
	Concurrency int            `json:"concurrency"`
	// Approvals are the tasks that wait for a person, at most 100.
	Approvals []TaskView `json:"approvals,omitempty"`
	// Failed are the first failed tasks, at most 50.
	Failed []TaskView `json:"failed,omitempty"`
	// Waiting says what the run as a whole waits for, if anything.
	Waiting string `json:"waiting,omitempty"`
	// Workers are those the run may use; empty for a run that needs none.
	Workers []GroupWorker `json:"workers,omitempty"`
	// Runs counts the times the run continued as new.
	Runs int `json:"runs"`
}

// Activities of a DAG run, all in the control plane.
const (
	// CompileDAGActivity takes a CompileDAGInput and answers the encoded graph as
	// bytes.
	CompileDAGActivity = "roundsman.CompileDAG"
	// LookUpJobTypeActivity takes a LookUpJobTypeInput and answers a
	// LookUpJobTypeResult.
	LookUpJobTypeActivity = "roundsman.LookUpJobType"
	// NoopActivity takes nothing and does nothing, for tasks that only join.
	NoopActivity = "roundsman.Noop"
)

// CompileDAGInput is a spec to compile: Files has those of its sub-DAGs, Params
// replace what it declares.
type CompileDAGInput struct {
	Name   string            `json:"name"`
	Text   string            `json:"text"`
	Files  map[string]string `json:"files,omitempty"`
	Params json.RawMessage   `json:"params,omitempty"`
}

// DAGSource is the DAG of a job type, as it was written.
type DAGSource struct {
	// Name is the DAG's own.
	Name string `json:"name"`
	// File is its path below the configuration's folder.
	File string `json:"file"`
	Text string `json:"text"`
	// Files are those of its sub-DAGs, by path.
	Files map[string]string `json:"files,omitempty"`
}

// LookUpJobTypeInput names a job type.
type LookUpJobTypeInput struct {
	JobType string `json:"job_type"`
}

// LookUpJobTypeResult has the job type as it is applied; nil if it is not.
type LookUpJobTypeResult struct {
	Spec *JobTypeSpec `json:"spec,omitempty"`
}

const dagPrefix = "dag/"

// DAGWorkflowID names a run of a DAG; run tells several apart.
func DAGWorkflowID(name, run string) string { return dagPrefix + name + "/" + run }

// DAGOfWorkflow is the inverse of [DAGWorkflowID]. A sub-DAG's run is below its
// parent's: dag/<name>/<run>/<task>.
func DAGOfWorkflow(workflowID string) (name, run string, ok bool) {
	rest, ok := strings.CutPrefix(workflowID, dagPrefix)
	if !ok {
		return "", "", false
	}
	name, run, ok = strings.Cut(rest, "/")
	return name, run, ok && name != "" && run != ""
}

// SubDAGWorkflowID names the run of a sub-DAG task, or of the DAG of a job.
func SubDAGWorkflowID(parent, task string) string { return parent + "/" + task }
