package jobtype

import (
	"encoding/json"
	"time"
)

// DetectInput is the argument of a detection.
type DetectInput struct {
	// JobType is the name of the job type in the configuration; several job
	// types may share one handler.
	JobType string `json:"job_type"`
	// Cluster is the `cluster:` block of the configuration: whatever the
	// operator wants detectors to know about the cluster. May be empty.
	Cluster json.RawMessage `json:"cluster,omitempty"`
	// Params are the job type's params, already checked against the
	// descriptor's schema.
	Params json.RawMessage `json:"params,omitempty"`
	// Settings is the job type's `detect:` block.
	Settings json.RawMessage `json:"settings,omitempty"`
	// LastSuccess is when the last group of this job type completed; zero if
	// none is known.
	LastSuccess time.Time `json:"last_success,omitzero"`
	// Sequence counts the groups of this job type, from 1.
	Sequence int64 `json:"sequence"`
	// MaxResults is the policy's max_jobs_per_detection: emitting more is
	// allowed, the surplus is counted and reported.
	MaxResults int `json:"max_results"`
	// DryRun is true when nothing will be executed (`jobtypes detect`).
	DryRun bool `json:"dry_run,omitempty"`
	// WorkerID names the worker that detects.
	WorkerID string `json:"worker_id,omitempty" required:"true"`
	// Liveness and StallTimeout are the policy's. Under [LivenessActivity] a detection
	// that emits nothing and gives no other sign of life for that long is ended.
	Liveness     Liveness `json:"liveness,omitempty"`
	StallTimeout Duration `json:"stall_timeout,omitempty"`
}

// Job is one piece of work, as its executor sees it.
type Job struct {
	// ID is unique within the group and the same for every attempt.
	ID string `json:"id"`
	// GroupID is the workflow id of the job group.
	GroupID string `json:"group_id,omitempty" required:"true"`
	// JobType is the name of the job type in the configuration.
	JobType string `json:"job_type"`
	// DedupeKey, Summary, Detail, Labels and DAG are the proposal's.
	DedupeKey string            `json:"dedupe_key,omitempty"`
	Summary   string            `json:"summary,omitempty"`
	Detail    string            `json:"detail,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Params are the job type's params overlaid by the proposal's, key by key; of
	// a job with a Batch the job type's alone.
	Params json.RawMessage `json:"params,omitempty"`
	// Batch lists the proposals that the job stands for, at least one, if the job
	// type says `batch:`; otherwise it is empty. [Job.Items] makes both cases one.
	// They share one place, one timeout and one outcome: an error fails all of
	// them, and all of them are done again by a retry. DedupeKey is empty where
	// there are several.
	Batch []BatchItem `json:"batch,omitempty"`
	// Settings is the job type's `execute:` block.
	Settings json.RawMessage `json:"settings,omitempty"`
	// Argv is a command line that is run as it is, without templates: that of a task
	// of a DAG that names a command. Only the command handler runs it.
	Argv []string `json:"argv,omitempty"`
	// Cluster is the `cluster:` block of the configuration.
	Cluster json.RawMessage `json:"cluster,omitempty"`
	// Attempt counts from 1, retries and re-placements together.
	Attempt int `json:"attempt"`
	// Fence grows with every attempt that may have an effect. An object that
	// remembers the highest fence it has seen can refuse a late writer.
	Fence int64 `json:"fence"`
	// Checkpoint is what the last attempt kept by [Progress.Checkpoint], be it one
	// of an earlier run, with the same dedupe key (or the same items of a batch),
	// that the end of its maintenance window stopped; empty on the first one.
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
	// WorkerID names the worker that runs this attempt.
	WorkerID string `json:"worker_id,omitempty" required:"true"`
	// Liveness and StallTimeout are the policy's, for handlers that watch what they
	// have started: under [LivenessActivity] its signs of life are the job's.
	Liveness     Liveness `json:"liveness,omitempty"`
	StallTimeout Duration `json:"stall_timeout,omitempty"`
	// Deadline is when ctx ends at the latest.
	Deadline time.Time `json:"deadline,omitzero"`
}

// Result is what a successful job leaves behind. Encoded it must stay within
// [MaxResultBytes].
type Result struct {
	// Summary is one line for operators.
	Summary string `json:"summary,omitempty"`
	// Output is the tail of what the job printed, where that makes sense.
	Output string `json:"output,omitempty"`
	// Data are values for whoever uses the result.
	Data map[string]any `json:"data,omitempty"`
}

// ContinueAfter is what a task of a DAG returns that wants to continue when other
// tasks have ended: the run adds them, written as a spec writes them, and starts the
// task again with the checkpoint as [Job.Checkpoint]. Encoded a checkpoint has at most
// [MaxCheckpointBytes]; null is none. Jobs of groups cannot return it.
func ContinueAfter(checkpoint any, tasks ...map[string]any) Result {
	return Result{Data: map[string]any{"tasks": tasks, "continue": checkpoint}}
}
