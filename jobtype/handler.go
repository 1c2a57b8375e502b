package jobtype

import (
	"context"
	"encoding/json"
	"io"
)

// Handler finds and does the work of one kind of maintenance.
//
// All methods may be called concurrently and on several workers. A method may be called again for work
// that was already started elsewhere.
type Handler interface {
	// Descriptor describes the handler. It is called once at the start of a worker and must always
	// return the same value.
	Descriptor() Descriptor

	// Detect finds work and emits it to out, in any number of calls. When out returns [ErrSinkFull],
	// return that error, or nil if nothing was left to emit. ErrSinkFull is no failure; the group then
	// reports that more was found than counted. A detection that continues gets every proposal
	// counted. ctx ends at the detection timeout. A returned error fails the detection and drops its
	// proposals, because a partial detection must not pass for a complete one.
	Detect(ctx context.Context, in DetectInput, out ProposalSink) error

	// Execute does one job. ctx is canceled when the job is canceled, at its timeout, or when the
	// worker drains; [context.Cause] returns the reason (see [ErrCanceled], [ErrDeadline],
	// [ErrDraining], [ErrLeaseLost]). A returned error is retried up to the policy's retry_limit,
	// except one wrapped by [Permanent].
	Execute(ctx context.Context, job Job, progress Progress) (Result, error)
}

// NodePreparer is implemented by handlers whose leftovers on the node survive a killed worker process.
// It cleans up before the next process takes work.
type NodePreparer interface {
	// PrepareNode is called once per worker process with a data directory, before the worker
	// registers. No other process of that worker runs on the node meanwhile. dir belongs to this
	// handler and worker. An error is logged and the worker starts anyway.
	PrepareNode(ctx context.Context, workerID, dir string) error
}

// NodeChecker is implemented by handlers whose settings need something that a node may lack, such as a
// user or a permission.
type NodeChecker interface {
	// CheckNode is called at the start of a worker, for the applied job types that it may serve. It
	// returns every setting that the node cannot fulfil, joined.
	CheckNode(ctx context.Context, detect, execute json.RawMessage) error
}

// Alive is implemented by the sink of [Handler.Detect]. A long detection without proposals calls it
// under [LivenessActivity]; every Emit counts too. It may be called in a tight loop.
type Alive interface{ Alive() }

// Explainer is implemented by the sink of [Handler.Detect]; see [Explain].
type Explainer interface{ Explain(text string) }

// Explain adds a line about the detection that the run shows, for example why there is nothing to do.
// The first [MaxExplanations] lines are kept. Lines are discarded if the sink does not support them.
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

// Log returns the writer for the output shown by `roundsman logs`, also while the job runs. The
// worker's process keeps it; no history does. Writes are discarded if progress does not support logs.
func Log(progress Progress) io.Writer {
	if logger, ok := progress.(Logger); ok {
		return logger.Log()
	}
	return io.Discard
}

// Descriptor describes a handler. It travels with the worker's registration, so a configuration can be
// validated against handlers of other binaries.
type Descriptor struct {
	// Name identifies the handler in configuration files; see [ValidateName].
	Name string `json:"name"`
	// Help is one or more sentences for operators.
	Help string `json:"help,omitempty"`
	// Params is the JSON Schema (draft 2020-12) of the job type's params. Empty accepts any object.
	Params json.RawMessage `json:"params,omitempty"`
	// DetectSettings and ExecuteSettings are the JSON Schemas of the job type's `detect:` and
	// `execute:` blocks. Empty refuses the block.
	DetectSettings  json.RawMessage `json:"detect_settings,omitempty"`
	ExecuteSettings json.RawMessage `json:"execute_settings,omitempty"`
	// DefaultPolicy overrides the built-in defaults for all job types of the handler; the
	// configuration overrides both. Zero fields keep the built-in default.
	DefaultPolicy Policy `json:"default_policy"`
	// DefaultInterval is the interval of job types without a schedule of their own: whole seconds, 1s
	// to 365d. 0: a job type of the handler must have a schedule.
	DefaultInterval Duration `json:"default_interval,omitempty"`
	// MaxDetectConcurrency and MaxExecuteConcurrency limit the handler's concurrent detections and
	// jobs in one worker process. 0: only the worker's slots limit them.
	MaxDetectConcurrency  int `json:"max_detect_concurrency,omitempty"`
	MaxExecuteConcurrency int `json:"max_execute_concurrency,omitempty"`
	// Batches declares that Execute does all of [Job.Items]. Job types need it for `batch:`.
	Batches bool `json:"batches,omitempty"`
	// ExecuteOnly and DetectOnly declare a handler with only one of the two methods.
	ExecuteOnly bool `json:"execute_only,omitempty"`
	DetectOnly  bool `json:"detect_only,omitempty"`
}

// SettingsValidator is implemented by handlers with checks that JSON Schema cannot express, such as
// parsing a template. `roundsman validate` calls it, and so does every use of the settings.
type SettingsValidator interface {
	// ValidateSettings returns every fault of the job type's params, detect and execute blocks,
	// joined. A missing block is nil.
	ValidateSettings(params, detect, execute json.RawMessage) error
}

// ProposalSink receives the proposals of a detection.
type ProposalSink interface {
	// Emit sends proposals in order. It returns [ErrSinkFull] when the group accepts no more; the
	// surplus is counted exactly if the detection continues. It returns a [*ProposalError] for an
	// invalid proposal, after accepting the other proposals of the call, so the handler may continue.
	// It returns ctx's error when ctx has ended. A [Refused] proposal is only counted and shown as
	// invalid.
	Emit(ctx context.Context, proposals ...Proposal) error
}

// Progress reports the state of a running job. Its methods never block and are throttled, so a handler
// may call them at any rate.
type Progress interface {
	// Report shows operators the progress: percent 0..100 (negative: unknown), stage, and a short
	// message.
	Report(percent float64, stage, message string)
	// Alive is a sign of life without progress. Under liveness `progress`, a job that calls neither
	// Report nor Alive for stall_timeout counts as hung and is placed again.
	Alive()
	// Checkpoint stores v as JSON, at most 16 KiB; the last value wins. The next attempt on any worker
	// receives it in [Job.Checkpoint]. For a value that is too large or cannot be encoded it returns
	// an error and keeps the previous checkpoint.
	Checkpoint(v any) error
}
