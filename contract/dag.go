package contract

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// DAGInput starts a DAG run. The workflow's second argument is the graph from dag.Graph.Encode, the third the state
// of the run: bytes inside JSON grow by a third.
type DAGInput struct {
	Name string `json:"name"`
	// Hash of the graph in hexadecimal; empty if Source is set.
	Hash string `json:"hash,omitempty"`
	// Text of a spec, for a DAG that travels with a job, which CompileDAGActivity compiles.
	Source string `json:"source,omitempty"`
	// SourceName is the file name in faults of Source.
	SourceName string `json:"source_name,omitempty"`
	// Files are the sub-DAGs of Source, by path.
	Files map[string]string `json:"files,omitempty"`
	// Params override the params declared in Source.
	Params json.RawMessage `json:"params,omitempty"`
	// Deadline bounds the run besides the deadline of the spec; the shorter one applies.
	Deadline jobtype.Duration `json:"deadline,omitempty"`
	// Recovery of the run above; fail applies here, too.
	Recovery jobtype.Recovery `json:"recovery,omitempty"`
	// Resources are the pool sizes declared by the configuration; nil changes no size.
	Resources map[string]int `json:"resources,omitempty"`
	// Time of reading that configuration; zero: the start of the run. A sub-DAG uses its parent's pool sizes.
	DeclaredAt time.Time `json:"declared_at,omitzero"`
	// Defaults for tasks without their own, from the proposal of a DAG that travels with a job.
	Node   string            `json:"node,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	// Attempt of the group's job, if the group gives its exclusive lane back during waits for approvals.
	Lane *DAGLane `json:"lane,omitempty"`
	// Depth counts the DAGs above a sub-DAG.
	Depth int `json:"depth,omitempty"`
	// Resumes is the workflow id of the run that this run resumes from.
	Resumes string `json:"resumes,omitempty"`
	// ScheduledAt is the nominal time of the run above, or of the resumed run; zero: the start of this run.
	ScheduledAt time.Time `json:"scheduled_at,omitzero"`
	By          string    `json:"by,omitempty"`
	// History length from which the run continues as new. Default 20,000; tests use 1.
	RollEvents int `json:"roll_events,omitempty"`
	// Carry is set only when the run continues as new.
	Carry *DAGCarry `json:"carry,omitempty"`
}

// DAGLane names the lane of a run of a DAG, and the attempt of a job that the run is.
type DAGLane struct {
	Lane    string `json:"lane"`
	JobID   string `json:"job_id"`
	Attempt int    `json:"attempt"`
}

// LaneReport means: the run of a DAG waits for approvals alone, or (Wants) needs its lane to begin something.
type LaneReport struct {
	JobID   string `json:"job_id"`
	Attempt int    `json:"attempt"`
	Seq     int    `json:"seq"`
	Wants   bool   `json:"wants,omitempty"`
}

// LaneGrant is the argument of [SignalLaneGrant]. It answers the report of that number.
type LaneGrant struct {
	Attempt int `json:"attempt"`
	Seq     int `json:"seq"`
}

// DAGCarry is the data besides the state that continue-as-new carries over.
type DAGCarry struct {
	// Runs counts the workflow runs so far.
	Runs int `json:"runs"`
	StatePages
	// FleetSeq is the number of the last view of the workers.
	FleetSeq int64 `json:"fleet_seq,omitempty"`
	// JobTypes are the definitions of job_type tasks, looked up once, so an apply does not change an open run.
	JobTypes  map[string]JobTypeSpec `json:"job_types,omitempty"`
	Admission *AdmissionLinkState    `json:"admission,omitempty"`
	Audit     *AuditTrailState       `json:"audit,omitempty"`
}

// DAGResult is the result of a completed run, otherwise the detail of its failure (RunFailedError) or cancellation.
type DAGResult struct {
	DAG        string  `json:"dag"`
	WorkflowID string  `json:"workflow_id"`
	RunID      string  `json:"run_id"`
	Outcome    Outcome `json:"outcome"`
	// Reason explains an outcome that the tasks do not: a deadline, an operator.
	Reason string `json:"reason,omitempty"`
	// WorkerLost: the run ended because a worker was lost, under recovery fail.
	WorkerLost bool           `json:"worker_lost,omitempty"`
	Counts     map[string]int `json:"counts"`
	StartedAt  time.Time      `json:"started_at"`
	EndedAt    time.Time      `json:"ended_at"`
	DurationMS int64          `json:"duration_ms"`
	// Tasks by id. The workflow's own result omits them above MaxResultTasks; Final has them then.
	Tasks map[string]DAGTask `json:"tasks,omitempty"`
	// Final is the last state of the run, compact. A resumed run starts from it.
	Final []byte `json:"final,omitempty"`
}

// MaxResultTasks is the maximum number of tasks listed in a result.
const MaxResultTasks = 1000

// DAGTask is one task in a result.
type DAGTask struct {
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
	// Worker is the worker of the last attempt; empty for tasks that need no worker.
	Worker string `json:"worker,omitempty"`
	Error  string `json:"error,omitempty"`
	// FromRun is the workflow id of the earlier run that produced the state; empty for this run.
	FromRun string `json:"from_run,omitempty"`
	// FromTask is the task of FromRun with the same key whose result was reused.
	FromTask string `json:"from_task,omitempty"`
}

// DAGInvalidError is the error type of a run whose spec or graph is invalid.
const DAGInvalidError = "DAGInvalid"

// Messages of a DAG run besides the common ones. An update's validator returns the refusal and changes nothing.
const (
	// SignalLaneReport takes a [LaneReport]. The run of a DAG sends it to its group.
	SignalLaneReport = "lane-report"
	// SignalLaneGrant takes a [LaneGrant]: the run may begin tasks again.
	SignalLaneGrant = "lane-grant"

	// UpdateRetryTasks takes a RetryTasksInput.
	UpdateRetryTasks = "retry"
	// UpdateSkipTask takes a TaskInput. The task counts as done without being run.
	UpdateSkipTask = "skip"
	// UpdateRerunTask takes a TaskInput. An ended task and all its dependants are executed again.
	UpdateRerunTask = "rerun"
	// UpdateApprove and UpdateReject take a DecideTaskInput, for a task that waits for an approval.
	UpdateApprove = "approve"
	UpdateReject  = "reject"
	// UpdateAddTasks takes an AddTasksInput.
	UpdateAddTasks = "add-tasks"
	// UpdateSetConcurrency takes a SetConcurrencyInput.
	UpdateSetConcurrency = "set-concurrency"
	// UpdateRelease takes a TaskInput without a task. It ends a held run.
	UpdateRelease = "release"

	// QueryTasks takes a TasksQueryInput and returns a TasksQueryResult.
	QueryTasks = "tasks"
	// QueryFinal returns the bytes of DAGResult.Final.
	QueryFinal = "final"
)

// RetryTasksInput lists failed tasks to retry, with the tasks they blocked. An empty list means all.
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

// DecideTaskInput approves or rejects a task.
type DecideTaskInput struct {
	Task string `json:"task"`
	By   string `json:"by,omitempty"`
	// Note becomes part of the task's result or error.
	Note string `json:"note,omitempty"`
}

// AddTasksInput adds or redefines tasks: a list like a spec's tasks, with `before` besides `needs`, at most 1 MiB.
type AddTasksInput struct {
	// Tasks is the list as JSON, for messages typed by hand.
	Tasks json.RawMessage `json:"tasks,omitempty"`
	// The list as YAML or JSON in place of Tasks, so that faults report the line in File.
	Text string `json:"text,omitempty"`
	File string `json:"file,omitempty"`
	By   string `json:"by,omitempty"`
}

// SetConcurrencyInput sets the maximum number of concurrent tasks of a run or of one fan-out.
type SetConcurrencyInput struct {
	Concurrency int    `json:"concurrency"`
	FanOut      string `json:"fan_out,omitempty"`
	By          string `json:"by,omitempty"`
}

// ConcurrencySetting is the only setting of an open DAG run. A dot and a name select a fan-out.
const ConcurrencySetting = "concurrency"

// ConcurrencyOf returns the name of a fan-out's setting, or of the run's for an empty name.
func ConcurrencyOf(fanOut string) string {
	if fanOut == "" {
		return ConcurrencySetting
	}
	return ConcurrencySetting + "." + fanOut
}

// ItemsInFlightOf returns the name of the limit of a chain, by its first fan-out.
func ItemsInFlightOf(fanOut string) string { return "items_in_flight." + fanOut }

// DAGChanged is the result of an update: the task states after it.
type DAGChanged struct {
	Counts map[string]int `json:"counts"`
	// Before is the previous limit (set-concurrency); 0 if there was none.
	Before int `json:"before,omitempty"`
	// Tasks lists the tasks added (add-tasks) or executed again.
	Tasks     []string `json:"tasks,omitempty"`
	Redefined []string `json:"redefined,omitempty"`
	// Limits has the new limits of existing fan-outs (add-tasks), by setting: concurrency.FANOUT or items_in_flight.FANOUT.
	Limits map[string]int `json:"limits,omitempty"`
}

// TasksQueryInput filters and pages the tasks of a run.
type TasksQueryInput struct {
	// States selects tasks in one of these states; empty selects all.
	States []string `json:"states,omitempty"`
	// Task selects one task, or all tasks of a fanned-out entry.
	Task string `json:"task,omitempty"`
	// Key selects the tasks with this id or key, and those of fan-outs for this item.
	Key string `json:"key,omitempty"`
	// Offset and Limit select a page. Limit 0 means 200; the maximum is 5,000.
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit,omitempty"`
}

// TasksQueryResult is one page of tasks in declaration order. Total counts all matches.
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
	// Redefined means that its definition was replaced after the run started.
	Redefined bool `json:"redefined,omitempty"`
	// Reason why a ready or running task is on no worker.
	Waiting string `json:"waiting,omitempty"`
	// Until is the due time of a retry, a sleep or an approval's timeout.
	Until time.Time `json:"until,omitzero"`
	// Timeout is the longest duration of one attempt; 0: no limit.
	Timeout jobtype.Duration `json:"timeout,omitempty"`
	// Addition of the task, and last change of its state. A run with over 20,000 tasks has no ModifiedAt of ended ones.
	CreatedAt  time.Time `json:"created_at,omitzero"`
	ModifiedAt time.Time `json:"modified_at,omitzero"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	// Result is kept while an unfinished task refers to it.
	Result json.RawMessage `json:"result,omitempty"`
}

const (
	// PhaseHeld is the phase of a DAG run that is kept open after a failure.
	PhaseHeld = "held"
	// PhaseEnded is the phase of a run of either kind that has its outcome. It delivers its last messages.
	PhaseEnded = "ended"
)

// DAGStatus is the result of QueryStatus of a DAG run.
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
	// ModifiedAt is the last change of the phase or of a task.
	ModifiedAt time.Time `json:"modified_at,omitzero"`
	// HeldUntil is the time at which a held run ends unless an operator acts.
	HeldUntil   time.Time      `json:"held_until,omitzero"`
	Total       int            `json:"total"`
	Counts      map[string]int `json:"counts"`
	Concurrency int            `json:"concurrency"`
	// Approvals lists the tasks that wait for an approval, at most 100.
	Approvals []TaskView `json:"approvals,omitempty"`
	// Failed lists the first failed tasks, at most 50.
	Failed  []TaskView `json:"failed,omitempty"`
	Waiting string     `json:"waiting,omitempty"`
	// Workers lists the usable workers; empty for a run that needs none.
	Workers []GroupWorker `json:"workers,omitempty"`
	// Runs counts the workflow runs so far.
	Runs int `json:"runs"`
}

// Activities of a DAG run. All run in the control plane.
const (
	// CompileDAGActivity takes a CompileDAGInput and returns the encoded graph as bytes.
	CompileDAGActivity = "roundsman.CompileDAG"
	// LookUpJobTypeActivity takes a LookUpJobTypeInput and returns a LookUpJobTypeResult.
	LookUpJobTypeActivity = "roundsman.LookUpJobType"
	// NoopActivity takes no argument and does nothing, for tasks that only join.
	NoopActivity = "roundsman.Noop"
)

// CompileDAGInput is a spec to compile. Files holds its sub-DAGs; Params override its declared params.
type CompileDAGInput struct {
	Name   string            `json:"name"`
	Text   string            `json:"text"`
	Files  map[string]string `json:"files,omitempty"`
	Params json.RawMessage   `json:"params,omitempty"`
}

// CommandHandler is the name of the handler that runs commands, also those of a DAG's tasks.
const CommandHandler = "command"

// DAGSource is the DAG of a job type as written.
type DAGSource struct {
	Name string `json:"name"`
	// File is the path relative to the configuration's folder.
	File string `json:"file"`
	Text string `json:"text"`
	// Files are the sub-DAGs, by path.
	Files map[string]string `json:"files,omitempty"`
}

// LookUpJobTypeInput names a job type.
type LookUpJobTypeInput struct {
	JobType string `json:"job_type"`
}

// LookUpJobTypeResult holds the applied job type; nil if none is applied.
type LookUpJobTypeResult struct {
	Spec *JobTypeSpec `json:"spec,omitempty"`
}

const dagPrefix = "dag/"

// DAGWorkflowID returns the workflow id of a DAG run; run separates runs of one DAG.
func DAGWorkflowID(name, run string) string { return dagPrefix + name + "/" + run }

// DAGOfWorkflow is the inverse of [DAGWorkflowID]. A sub-DAG's id is dag/<name>/<run>/<task>.
func DAGOfWorkflow(workflowID string) (name, run string, ok bool) {
	rest, ok := strings.CutPrefix(workflowID, dagPrefix)
	if !ok {
		return "", "", false
	}
	name, run, ok = strings.Cut(rest, "/")
	return name, run, ok && name != "" && run != ""
}

// SubDAGWorkflowID returns the workflow id of a sub-DAG task or of the DAG of a job.
func SubDAGWorkflowID(parent, task string) string { return parent + "/" + task }
