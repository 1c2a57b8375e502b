package jobtype

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// DetectInput is the argument of a detection.
type DetectInput struct {
	// Name in the configuration. Several job types may share one handler.
	JobType string `json:"job_type"`
	// Cluster is the `cluster:` block of the configuration; may be empty.
	Cluster json.RawMessage `json:"cluster,omitempty"`
	// Params are the job type's params, already checked against the descriptor's schema.
	Params json.RawMessage `json:"params,omitempty"`
	// Settings is the job type's `detect:` block.
	Settings json.RawMessage `json:"settings,omitempty"`
	// LastSuccess is the end of the last completed group of the job type; zero if none is known.
	LastSuccess time.Time `json:"last_success,omitzero"`
	// LastWithJobs is the due time of the last completed group with at least one job, or its start without a schedule.
	LastWithJobs time.Time `json:"last_with_jobs,omitzero"`
	// Sequence counts the groups of this job type, from 1.
	Sequence int64 `json:"sequence"`
	// MaxResults is the policy's max_jobs_per_detection. The surplus is counted and reported.
	MaxResults int `json:"max_results"`
	// DryRun means that no job will be executed (`start --dry-run`).
	DryRun   bool   `json:"dry_run,omitempty"`
	WorkerID string `json:"worker_id,omitempty" required:"true"`
	// Liveness and StallTimeout come from the policy. Under [LivenessActivity] a detection without proposal or sign of
	// life for StallTimeout is ended.
	Liveness     Liveness `json:"liveness,omitempty"`
	StallTimeout Duration `json:"stall_timeout,omitempty"`
	Run          RunInfo  `json:"run,omitzero"`
	// WorkerLabels do not travel: a remote worker has its own.
	WorkerLabels map[string]string `json:"-"`
}

// RunInfo describes the run that a job, a task or a detection belongs to.
type RunInfo struct {
	// ID is the workflow id of the run.
	ID        string    `json:"id,omitempty" required:"true"`
	StartedAt time.Time `json:"started_at,omitzero"`
	// ScheduledAt is the time at which the run's Schedule was due, also in a backfill, in a DAG of a job, and in a
	// retry. Without a Schedule it is the start of the run.
	ScheduledAt time.Time `json:"scheduled_at,omitzero"`
}

// Job is one piece of work for its executor.
type Job struct {
	// ID is unique within the group and the same for every attempt.
	ID string `json:"id"`
	// GroupID is the workflow id of the job group.
	GroupID string `json:"group_id,omitempty" required:"true"`
	JobType string `json:"job_type"`
	// DedupeKey, Summary, Detail and Labels come from the proposal.
	DedupeKey string            `json:"dedupe_key,omitempty"`
	Summary   string            `json:"summary,omitempty"`
	Detail    string            `json:"detail,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	// The job type's params overlaid by the proposal's, key by key. In a job with a Batch they are the job type's alone.
	Params json.RawMessage `json:"params,omitempty"`
	// Batch lists the proposals under `batch:`; otherwise it is empty. [Job.Items] covers both cases. The proposals
	// share one worker, one timeout and one outcome. DedupeKey is empty if Batch has several.
	Batch []BatchItem `json:"batch,omitempty"`
	// Settings is the job type's `execute:` block.
	Settings json.RawMessage `json:"settings,omitempty"`
	// Argv is a command line without templates, from a DAG task with a command, for the command handler.
	Argv []string `json:"argv,omitempty"`
	// Cluster is the `cluster:` block of the configuration.
	Cluster json.RawMessage `json:"cluster,omitempty"`
	// Attempt counts from 1, retries and re-placements together.
	Attempt int `json:"attempt"`
	// Fence grows with every attempt that may have an effect, so that an object can refuse a late writer.
	Fence int64 `json:"fence"`
	// Checkpoint is the last value of [Progress.Checkpoint]. It may come from an earlier run stopped by its
	// maintenance window, with the same dedupe key or batch items. It is empty on the first attempt.
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
	WorkerID   string          `json:"worker_id,omitempty" required:"true"`
	// From the policy, for handlers that watch an external process. Under [LivenessActivity] that process's signs of
	// life count.
	Liveness     Liveness `json:"liveness,omitempty"`
	StallTimeout Duration `json:"stall_timeout,omitempty"`
	// Deadline is the latest end of ctx.
	Deadline time.Time `json:"deadline,omitzero"`
	// The ID of Run equals GroupID.
	Run RunInfo `json:"run,omitzero"`
	// WorkerLabels do not travel: a remote worker has its own.
	WorkerLabels map[string]string `json:"-"`
}

// Result is the result of a successful job. Its encoding is limited to [MaxResultBytes].
type Result struct {
	// Summary is one line for operators.
	Summary string `json:"summary,omitempty"`
	// Warning is the reason why the job, though done, ends as a warning; empty for a completed job.
	Warning string `json:"warning,omitempty"`
	// Output is the tail of the job's output, if any.
	Output string `json:"output,omitempty"`
	// Data holds values for later tasks and clients.
	Data map[string]any `json:"data,omitempty"`
}

// UnmarshalJSON keeps every integer in Data: one that is no exact float64 is a [json.Number].
func (r *Result) UnmarshalJSON(data []byte) error {
	type plain Result
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var read plain
	if err := decoder.Decode(&read); err != nil {
		return err
	}
	//workflowcheck:ignore each goes to a place of its own
	for key, value := range read.Data {
		read.Data[key] = exact(value)
	}
	*r = Result(read)
	return nil
}

func exact(value any) any {
	switch typed := value.(type) {
	case json.Number:
		float, err := typed.Float64()
		if whole := !strings.ContainsAny(typed.String(), ".eE"); err != nil || whole && strconv.FormatFloat(float, 'f', -1, 64) != typed.String() {
			return typed
		}
		return float
	case map[string]any:
		//workflowcheck:ignore each goes to a place of its own
		for key, element := range typed {
			typed[key] = exact(element)
		}
	case []any:
		for i, element := range typed {
			typed[i] = exact(element)
		}
	}
	return value
}

// ContinueAfter is the result of a DAG task that continues after new tasks, in the format of a spec. After their end
// the task starts again with checkpoint, at most [MaxCheckpointBytes] encoded, as [Job.Checkpoint]. Jobs of groups
// cannot return it.
func ContinueAfter(checkpoint any, tasks ...map[string]any) Result {
	return Result{Data: map[string]any{"tasks": tasks, "continue": checkpoint}}
}
