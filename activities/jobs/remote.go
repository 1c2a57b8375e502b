package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// This file has the rules of this package for an attempt that runs in another
// process than the one that speaks with the server: a gateway takes the activity,
// and reports what a remote worker tells it.

// Merged returns the job as its handler sees it: with the params of the job type
// and the proposal as one, for each item of a batch as well. WorkerID, Deadline and
// Checkpoint are the caller's to set.
func Merged(in contract.ExecuteInput) (jobtype.Job, error) {
	job := in.Job
	params, err := mergeParams(job.Params, in.ProposalParams)
	if err != nil {
		return job, err
	}
	if job.Batch, err = completeItems(in.Job); err != nil {
		return job, err
	}
	job.Params = params
	job.Liveness, job.StallTimeout = in.Liveness, in.StallTimeout
	return job, nil
}

// BeatOf bounds what a handler reports. A checkpoint that is too large is an error
// and left out.
func BeatOf(worker string, percent float64, stage, message string, checkpoint json.RawMessage) (contract.Heartbeat, error) {
	percent, stage, message = boundReport(percent, stage, message)
	beat := contract.Heartbeat{Percent: percent, Stage: stage, Message: message, At: time.Now().UTC(), Worker: worker}
	if err := CheckCheckpoint(checkpoint); err != nil {
		return beat, err
	}
	if len(checkpoint) > 0 {
		beat.Checkpoint, beat.Done = checkpoint, max(percent, 0)
	}
	return beat, nil
}

// Succeeded is how a successful attempt ends: with its result, within bounds, else
// as a permanent failure.
func Succeeded(state contract.ExecuteState, result jobtype.Result) contract.ExecuteState {
	return succeed(state, result)
}

// CheckResult refuses a result that [Succeeded] would turn into a failure: a remote worker
// can still send a smaller one.
func CheckResult(result jobtype.Result) error {
	result.Output = tail(result.Output, jobtype.MaxOutputBytes)
	return checkResult(result)
}

// Failed is how an attempt ends that did not succeed: with bounded texts.
func Failed(state contract.ExecuteState, kind contract.FailureKind, message, output string) contract.ExecuteState {
	state.Failure, state.Message = kind, jobtype.ClipCause(message, maxFailureMessage)
	state.Result = jobtype.Result{Output: tail(output, maxFailureOutput)}
	return state
}

// Deliver reports an outcome once. Of an activity that the server does not know any
// more, the run is told: late is true then, and the outcome counts if the run still
// waits for it. An error may be repeated.
func Deliver(ctx context.Context, server Server, logger *slog.Logger, token []byte, workflowID string, outcome contract.JobOutcomeInput) (late bool, err error) {
	d := delivery{Token: token, WorkflowID: workflowID, Outcome: outcome}
	err = d.send(ctx, server, logger)
	return d.bySignal, err
}

// Sent is what a detection has sent so far.
type Sent struct {
	// Result counts what was emitted and how many pages were sent.
	Result contract.DetectActivityResult `json:"result"`
	// Full: the group takes no more.
	Full bool `json:"full,omitempty"`
}

// SendPages sends proposals as the next pages of a detection, after those that were
// sent before, and returns what has been sent then. Repeated with the same arguments
// it sends the same pages, which the group answers as before. faults are about single
// proposals, which are counted as invalid and left out.
func SendPages(ctx context.Context, pages Pages, in contract.DetectActivityInput, before Sent, proposals []jobtype.Proposal) (after Sent, faults, err error) {
	out := newSink(pages, in, func() {})
	if in.BatchBy != "" {
		if refused := out.readTemplate(); refused != nil {
			return before, nil, &RejectedError{Err: errors.New(refused.message)}
		}
	}
	out.result, out.full = before.Result, before.Full
	faults = out.Emit(ctx, proposals...)
	if errors.Is(faults, jobtype.ErrSinkFull) && out.failed == nil {
		faults = nil
	}
	if err := errors.Join(out.failed, out.close(ctx)); err != nil {
		return before, nil, err
	}
	return Sent{Result: out.summary(), Full: out.full}, faults, nil
}

// DetectionFailure is the error by which a detection ends that failed.
func DetectionFailure(kind contract.FailureKind, message string) error {
	return detectionError(kind, message)
}

// CheckCheckpoint refuses a checkpoint that cannot travel with every heartbeat.
func CheckCheckpoint(encoded []byte) error {
	if len(encoded) > jobtype.MaxCheckpointBytes {
		return fmt.Errorf("checkpoint has %d bytes, the limit is %d: keep a position, not the data", len(encoded), jobtype.MaxCheckpointBytes)
	}
	return nil
}
