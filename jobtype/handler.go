package jobtype

import (
	"context"
	"encoding/json"
	"io"
)

// Handler finds and does the work of one kind of maintenance. All methods may be called concurrently and on several
// workers, also for work that was already started elsewhere.
type Handler interface {
	// Descriptor is called once at the start of a worker and must always return the same value.
	Descriptor() Descriptor

	// Detect emits found work to out, in any number of calls. When out returns [ErrSinkFull], return that error, or
	// continue until every proposal is counted. ctx ends at the detection timeout. A returned error fails the
	// detection and drops its proposals, because a partial detection must not pass for a complete one.
	Detect(ctx context.Context, in DetectInput, out ProposalSink) error

	// Execute does one job. ctx is canceled when the job is canceled, at its timeout, or when the worker drains;
	// [context.Cause] returns the reason, such as [ErrCanceled]. A returned error is retried up to retry_limit,
	// except one wrapped by [Permanent].
	Execute(ctx context.Context, job Job, progress Progress) (Result, error)
}

// NodePreparer is implemented by handlers whose leftovers on the node survive a killed worker process.
type NodePreparer interface {
	// PrepareNode is called once per worker process with a data directory, before the worker registers. No other
	// process of that worker runs then. dir belongs to this handler and worker. An error is logged and the worker
	// starts anyway.
	PrepareNode(ctx context.Context, workerID, dir string) error
}

// NodeChecker is implemented by handlers whose settings need a user or a permission of the node.
type NodeChecker interface {
	// CheckNode returns every setting that the node cannot fulfil, joined. It is called at the start of a worker.
	CheckNode(ctx context.Context, detect, execute json.RawMessage) error
}

// Alive is implemented by the sink of [Handler.Detect], for long detections under [LivenessActivity]. Every Emit
// counts too. It may be called in a tight loop.
type Alive interface{ Alive() }

// Explainer is implemented by the sink of [Handler.Detect]; see [Explain].
type Explainer interface{ Explain(text string) }

// Explain adds a line about the detection to the run, for example why there is nothing to do. The first
// [MaxExplanations] lines are kept.
func Explain(out ProposalSink, text string) {
	if explainer, ok := out.(Explainer); ok {
		explainer.Explain(text)
	}
}

// Bounds of a detection's explanations.
const (
	MaxExplanations     = 20
	MaxExplanationBytes = 300
)

// Logger is implemented by the progress of [Handler.Execute]; see [Log].
type Logger interface{ Log() io.Writer }

// Log returns the writer for the output shown by `roundsman logs`. Writes are discarded if progress does not support logs.
func Log(progress Progress) io.Writer {
	if logger, ok := progress.(Logger); ok {
		return logger.Log()
	}
	return io.Discard
}

// Settler is implemented by the progress of [Handler.Execute]; see [Settle].
type Settler interface {
	Settle(result Result, err error)
}

// Settle reports the outcome of a job whose work has ended by itself. [Handler.Execute] only cleans up afterwards, and returns the
// same outcome. The end of ctx no longer changes it, and progress_timeout no longer counts. A failure after the end of ctx is
// not settled, since that end may have caused it.
func Settle(ctx context.Context, progress Progress, result Result, err error) {
	if settler, ok := progress.(Settler); ok && (err == nil || ctx.Err() == nil) {
		settler.Settle(result, err)
	}
}

// Descriptor describes a handler. It travels with the worker's registration, so other binaries can validate configurations.
type Descriptor struct {
	// Name identifies the handler in configuration files; see [ValidateName].
	Name string `json:"name"`
	// Help is one or more sentences for operators.
	Help string `json:"help,omitempty"`
	// Params is the JSON Schema (draft 2020-12) of the job type's params. Empty accepts any object.
	Params json.RawMessage `json:"params,omitempty"`
	// JSON Schemas of the job type's `detect:` and `execute:` blocks. Empty refuses the block.
	DetectSettings  json.RawMessage `json:"detect_settings,omitempty"`
	ExecuteSettings json.RawMessage `json:"execute_settings,omitempty"`
	// Defaults for all job types of the handler; the configuration overrides them. Zero fields keep the built-in default.
	DefaultPolicy Policy `json:"default_policy"`
	// Interval of job types without their own schedule: whole seconds, 1s to 365d. 0: a schedule is required.
	DefaultInterval Duration `json:"default_interval,omitempty"`
	// Limits of concurrent detections and jobs in one worker process. 0: only the worker's slots limit them.
	MaxDetectConcurrency  int `json:"max_detect_concurrency,omitempty"`
	MaxExecuteConcurrency int `json:"max_execute_concurrency,omitempty"`
	// Batches declares that Execute does all of [Job.Items]. Job types need it for `batch:`.
	Batches bool `json:"batches,omitempty"`
	// ExecuteOnly and DetectOnly declare a handler with only one of the two methods.
	ExecuteOnly bool `json:"execute_only,omitempty"`
	DetectOnly  bool `json:"detect_only,omitempty"`
}

// SettingsValidator is implemented by handlers with checks beyond JSON Schema, such as parsing a template.
type SettingsValidator interface {
	// ValidateSettings returns every fault of the three blocks, joined. A missing block is nil.
	ValidateSettings(params, detect, execute json.RawMessage) error
}

// ProposalSink receives the proposals of a detection.
type ProposalSink interface {
	// Emit sends proposals in order. It returns [ErrSinkFull] when the group accepts no more; the surplus is counted
	// if the detection continues. It returns a [*ProposalError] for invalid proposals after accepting the others, so
	// the handler may continue. A [Refused] proposal is only counted and shown as invalid.
	Emit(ctx context.Context, proposals ...Proposal) error
}

// Progress reports the state of a running job. Its methods never block and are throttled: call them at any rate.
type Progress interface {
	// Report shows the progress to operators: percent 0..100 (negative: unknown), stage, and a short message.
	Report(percent float64, stage, message string)
	// Alive is a sign of life without progress. Under liveness `progress`, a job without Report and Alive for
	// stall_timeout is placed again.
	Alive()
	// Checkpoint stores v as JSON, at most 16 KiB, for [Job.Checkpoint] of the next attempt on any worker. For a
	// value that is too large or cannot be encoded it returns an error and keeps the previous checkpoint.
	Checkpoint(v any) error
}
