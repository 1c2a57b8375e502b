package jobtype

import (
	"context"
	"encoding/json"
	"io"
)

// Handler finds and does the work of one kind of maintenance.
//
// All methods may be called concurrently, on several workers at once, and a
// method may be called again for work that was already started elsewhere.
type Handler interface {
	// Descriptor says who this handler is. It is called once when the worker
	// starts and must return the same value every time.
	Descriptor() Descriptor

	// Detect finds what needs doing and emits it to out, in as many calls as
	// it likes. It stops when out answers [ErrSinkFull], which is not a
	// failure: return it, or nil if nothing was left to emit. The group then says
	// that more was found than was counted; one that continues has all counted. ctx ends at the detection timeout. A returned
	// error fails the detection; what was emitted before it is dropped,
	// because half a detection must not look like a whole one.
	Detect(ctx context.Context, in DetectInput, out ProposalSink) error

	// Execute does one job. ctx is canceled when the job is canceled, when its
	// time is over, or when the worker drains; [context.Cause] tells which (see
	// [ErrCanceled], [ErrDeadline], [ErrDraining], [ErrLeaseLost]). A returned
	// error is retried under the policy's retry_limit unless it is wrapped by
	// [Permanent].
	Execute(ctx context.Context, job Job, progress Progress) (Result, error)
}

// NodePreparer is implemented by handlers that leave something on the node which
// outlives a killed worker process, and must be dealt with before the next one
// takes work.
type NodePreparer interface {
	// PrepareNode is called once in the life of a worker process that has a data
	// directory, before it registers and while no other process of that worker runs
	// on the node. dir is the handler's own for that worker. An error is logged; the
	// worker starts nevertheless.
	PrepareNode(ctx context.Context, workerID, dir string) error
}

// Alive is implemented by the sink of [Handler.Detect]. A detection that works for
// long before it emits anything calls it under [LivenessActivity]; every Emit counts
// as well. It may be called in a tight loop.
type Alive interface{ Alive() }

// Logger is implemented by the progress of [Handler.Execute]; see [Log].
type Logger interface{ Log() io.Writer }

// Log is where a job writes what operators read with `roundsman jobs logs` while it
// runs: kept by the worker's process, never in a history. Nothing is written where
// progress does not take it.
func Log(progress Progress) io.Writer {
	if logger, ok := progress.(Logger); ok {
		return logger.Log()
	}
	return io.Discard
}

// Descriptor is what a handler tells about itself. It travels with the
// worker's registration, so that a configuration can be validated against
// handlers that live in other binaries.
type Descriptor struct {
	// Name identifies the handler in configuration files. It matches the
	// pattern of [ValidateName].
	Name string `json:"name"`
	// Help is one or more sentences for operators.
	Help string `json:"help,omitempty"`
	// Params is the JSON Schema (draft 2020-12) of the job type's params.
	// Empty means that any object is accepted.
	Params json.RawMessage `json:"params,omitempty"`
	// DetectSettings and ExecuteSettings are the JSON Schemas of the job type's
	// `detect:` and `execute:` blocks. Empty means that the handler takes no
	// such block and writing one is an error.
	DetectSettings  json.RawMessage `json:"detect_settings,omitempty"`
	ExecuteSettings json.RawMessage `json:"execute_settings,omitempty"`
	// DefaultPolicy overrides the built-in policy defaults for every job type
	// of this handler; the configuration overrides both. Zero fields mean
	// "the built-in default".
	DefaultPolicy Policy `json:"default_policy"`
	// MaxDetectConcurrency and MaxExecuteConcurrency cap how many of this
	// handler's detections and jobs one worker process runs at once. 0: only
	// the worker's own slots limit it.
	MaxDetectConcurrency  int `json:"max_detect_concurrency,omitempty"`
	MaxExecuteConcurrency int `json:"max_execute_concurrency,omitempty"`
	// Batches declares that Execute does all of [Job.Items]. Without it a job type
	// of this handler cannot say `batch:`.
	Batches bool `json:"batches,omitempty"`
	// ExecuteOnly and DetectOnly declare a handler that does only half.
	ExecuteOnly bool `json:"execute_only,omitempty"`
	DetectOnly  bool `json:"detect_only,omitempty"`
}

// SettingsValidator is implemented by handlers whose settings need a check
// that JSON Schema cannot express, for instance that a template parses. It is
// called by `roundsman validate` and again before each use.
type SettingsValidator interface {
	// ValidateSettings returns every fault of the job type's params, detect and
	// execute blocks, joined. Nil blocks were not written.
	ValidateSettings(params, detect, execute json.RawMessage) error
}

// ProposalSink takes what a detection found.
type ProposalSink interface {
	// Emit hands over proposals in order. It returns [ErrSinkFull] when the
	// group takes no more (the surplus is counted and reported; whoever continues
	// emitting gets it counted exactly), a [*ProposalError] for a proposal that
	// breaks a rule (the others of the same call are still taken, and a handler
	// may continue), or ctx's error. [Refused] makes a proposal that is only
	// counted and shown as invalid.
	Emit(ctx context.Context, proposals ...Proposal) error
}

// Progress is how a running job shows that it lives. Its methods never block
// and may be called as often as the handler likes; they are throttled.
type Progress interface {
	// Report tells how far the job is: percent 0..100 (negative: unknown), the
	// stage it is in and a short message. All three are shown to operators.
	Report(percent float64, stage, message string)
	// Alive says "still working" where there is nothing to report. Under
	// liveness `progress`, a job that calls neither Report nor Alive for
	// stall_timeout is taken for hung and re-placed.
	Alive()
	// Checkpoint keeps v (encoded as JSON, at most 16 KiB) so that the next
	// attempt, wherever it runs, finds it in [Job.Checkpoint]. The last one
	// wins. A value that cannot be encoded or is too large is reported as an
	// error and the previous checkpoint stays.
	Checkpoint(v any) error
}
