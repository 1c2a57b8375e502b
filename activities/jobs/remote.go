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

// An attempt in another process: a gateway starts the activity, and reports the messages of a remote worker.

// Merged returns the job for its handler, with merged params. The caller sets WorkerID, Deadline and Checkpoint.
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

// BeatOf bounds a handler's report. A checkpoint that is too large is an error and is omitted.
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

// Succeeded returns the end of a successful attempt; a result out of bounds is a permanent failure.
func Succeeded(state contract.ExecuteState, result jobtype.Result) contract.ExecuteState {
	return succeed(state, result)
}

// CheckResult refuses a result that [Succeeded] would turn into a failure, so that the worker can send a smaller one.
func CheckResult(result jobtype.Result) error {
	result.Output = tail(result.Output, jobtype.MaxOutputBytes)
	return checkResult(result)
}

// Failed returns the end of an unsuccessful attempt, with bounded texts.
func Failed(state contract.ExecuteState, kind contract.FailureKind, message, output string) contract.ExecuteState {
	state.Failure, state.Message = kind, jobtype.ClipCause(message, maxFailureMessage)
	state.Result = jobtype.Result{Output: tail(output, maxFailureOutput)}
	return state
}

// Deliver reports an outcome once. late means that the server no longer has the activity and the run got a signal. An
// error may be retried.
func Deliver(ctx context.Context, server Server, logger *slog.Logger, token []byte, workflowID string, outcome contract.JobOutcomeInput) (late bool, err error) {
	d := delivery{Token: token, WorkflowID: workflowID, Outcome: outcome}
	err = d.send(ctx, server, logger)
	return d.bySignal, err
}

// Sent counts the pages of a detection sent so far.
type Sent struct {
	Result contract.DetectActivityResult `json:"result"`
	// Full means that the group accepts no more.
	Full bool `json:"full,omitempty"`
}

// SendPages sends proposals as the next pages after those of before, and returns the new counts. A repeat sends the
// same pages. faults are about single proposals, counted as invalid.
func SendPages(ctx context.Context, pages Pages, in contract.DetectActivityInput, before Sent, proposals []jobtype.Proposal) (after Sent, faults, err error) {
	in.KeyedInGroup = 0 // This call does not know the keys of the calls before. The group does, if it has them.
	out := newSink(pages, in, func() {})
	if in.BatchBy != "" {
		if refused := out.readTemplate(); refused != nil {
			return before, nil, &RejectedError{Err: errors.New(refused.message)}
		}
	}
	out.result, out.full, out.apart.sent = before.Result, before.Full, before.Result.Pages > 1
	faults = out.Emit(ctx, proposals...)
	if errors.Is(faults, jobtype.ErrSinkFull) && out.failed == nil {
		faults = nil
	}
	if err := errors.Join(out.failed, out.close(ctx)); err != nil {
		return before, nil, err
	}
	return Sent{Result: out.summary(), Full: out.full}, faults, nil
}

// DetectionFailure returns the error of a failed detection.
func DetectionFailure(kind contract.FailureKind, message string) error {
	return detectionError(kind, message)
}

// CheckCheckpoint refuses a checkpoint that is too large for a heartbeat.
func CheckCheckpoint(encoded []byte) error {
	if len(encoded) > jobtype.MaxCheckpointBytes {
		return fmt.Errorf("checkpoint has %d bytes, the limit is %d: keep a position, not the data", len(encoded), jobtype.MaxCheckpointBytes)
	}
	return nil
}
