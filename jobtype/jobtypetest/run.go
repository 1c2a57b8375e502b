package jobtypetest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/roundsman/roundsman/jobtype"
)

// TestWorkerID is the default worker id of detections and jobs.
const TestWorkerID = "node-test"

// Detect runs one detection. Zero fields of in get the values of a first run: sequence 1, 1000 results.
func Detect(ctx context.Context, handler jobtype.Handler, in jobtype.DetectInput) Detection {
	in = withInputDefaults(handler, in)
	sink := NewSink(in.MaxResults)
	err := handler.Detect(ctx, in, sink)
	detection := sink.Detection()
	if errors.Is(err, jobtype.ErrSinkFull) {
		detection.More, err = true, nil
	}
	detection.Err = err
	return detection
}

func withInputDefaults(handler jobtype.Handler, in jobtype.DetectInput) jobtype.DetectInput {
	in.JobType = cmp.Or(in.JobType, handler.Descriptor().Name)
	in.WorkerID = cmp.Or(in.WorkerID, TestWorkerID)
	in.Sequence = cmp.Or(in.Sequence, 1)
	in.MaxResults = cmp.Or(in.MaxResults, jobtype.DefaultPolicy().MaxJobsPerDetection)
	in.Params, in.Settings = orEmpty(in.Params), orEmpty(in.Settings)
	return in
}

// orEmpty returns an object for a missing block, as a worker does.
func orEmpty(block json.RawMessage) json.RawMessage {
	if len(block) == 0 {
		return json.RawMessage("{}")
	}
	return block
}

// JobOf returns the job of a proposal: params overlaid, first attempt. settings is the `execute:` block.
func JobOf(in jobtype.DetectInput, proposal jobtype.Proposal, settings json.RawMessage) (jobtype.Job, error) {
	params, err := jobtype.OverlayParams(in.Params, proposal.Params)
	if err != nil {
		return jobtype.Job{}, err
	}
	job := withJobDefaults(jobtype.Job{
		JobType: in.JobType, Cluster: in.Cluster, Settings: settings, Params: params, WorkerID: in.WorkerID,
		DedupeKey: proposal.DedupeKey, Summary: proposal.Summary, Detail: proposal.Detail, Labels: proposal.Labels,
	})
	if proposal.Node != "" {
		job.WorkerID = proposal.Node
	}
	return job, nil
}

// BatchOf returns the job of proposals under `batch:`. They should have equal nodes and labels.
func BatchOf(in jobtype.DetectInput, proposals []jobtype.Proposal, settings json.RawMessage) (jobtype.Job, error) {
	if len(proposals) == 0 {
		return jobtype.Job{}, errors.New("a batch has at least one proposal")
	}
	first := proposals[0]
	first.Params = nil
	job, err := JobOf(in, first, settings)
	if err != nil {
		return job, err
	}
	for _, p := range proposals {
		params, err := jobtype.OverlayParams(in.Params, p.Params)
		if err != nil {
			return job, err
		}
		job.Batch = append(job.Batch, jobtype.BatchItem{
			DedupeKey: p.DedupeKey, Summary: p.Summary, Detail: p.Detail, Priority: p.Priority, Labels: p.Labels, Params: params,
		})
	}
	if len(proposals) > 1 {
		job.DedupeKey, job.Detail = "", ""
		job.Summary = fmt.Sprintf("%d items", len(proposals))
	}
	return job, nil
}

func withJobDefaults(job jobtype.Job) jobtype.Job {
	job.JobType = cmp.Or(job.JobType, "test")
	job.ID = cmp.Or(job.ID, "job-00001")
	job.GroupID = cmp.Or(job.GroupID, "group/"+job.JobType+"-test")
	job.WorkerID = cmp.Or(job.WorkerID, TestWorkerID)
	job.Attempt = cmp.Or(job.Attempt, 1)
	job.Fence = cmp.Or(job.Fence, int64(job.Attempt))
	if len(job.Argv) == 0 {
		job.Params, job.Settings = orEmpty(job.Params), orEmpty(job.Settings)
	}
	return job
}

// Execution is the record of one attempt.
type Execution struct {
	Result      jobtype.Result
	Reports     []Report
	Checkpoints []json.RawMessage
	Alive       int
	// Err is the error of Execute, or the reason why its result cannot be encoded.
	Err error
}

// LastCheckpoint returns the checkpoint for the next attempt; nil if there is none.
func (e Execution) LastCheckpoint() json.RawMessage {
	if len(e.Checkpoints) == 0 {
		return nil
	}
	return e.Checkpoints[len(e.Checkpoints)-1]
}

// Option changes one execution.
type Option func(recorder *Recorder, cancel context.CancelCauseFunc)

// CancelAtReport cancels the job's context with cause, such as [jobtype.ErrDraining], in the handler's n-th Report (from 1).
func CancelAtReport(n int, cause error) Option {
	return func(recorder *Recorder, cancel context.CancelCauseFunc) {
		recorder.OnReport = func(count int, _ Report) {
			if count == n {
				cancel(cause)
			}
		}
	}
}

// CancelAtCheckpoint is like [CancelAtReport] for the n-th checkpoint.
func CancelAtCheckpoint(n int, cause error) Option {
	return func(recorder *Recorder, cancel context.CancelCauseFunc) {
		recorder.OnCheckpoint = func(count int, _ json.RawMessage) {
			if count == n {
				cancel(cause)
			}
		}
	}
}

// CancelBefore cancels the context before the handler is called.
func CancelBefore(cause error) Option {
	return func(_ *Recorder, cancel context.CancelCauseFunc) { cancel(cause) }
}

// CancelAtFirstSign cancels at the first Report, Alive or Checkpoint.
func CancelAtFirstSign(cause error) Option {
	return func(recorder *Recorder, cancel context.CancelCauseFunc) {
		recorder.OnReport = func(int, Report) { cancel(cause) }
		recorder.OnAlive = func(int) { cancel(cause) }
		recorder.OnCheckpoint = func(int, json.RawMessage) { cancel(cause) }
	}
}

// Execute runs one attempt of a job in the calling goroutine. Zero fields of job get test values.
func Execute(ctx context.Context, handler jobtype.Handler, job jobtype.Job, options ...Option) Execution {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	recorder := &Recorder{}
	for _, option := range options {
		option(recorder, cancel)
	}
	result, err := handler.Execute(ctx, withJobDefaults(job), recorder)
	return Execution{
		Result: result, Err: errors.Join(err, resultFault(result)),
		Reports: recorder.Reports(), Checkpoints: recorder.Checkpoints(), Alive: recorder.AliveCount(),
	}
}

func resultFault(result jobtype.Result) error {
	encoded, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("the result cannot be encoded: %w", err)
	}
	if len(encoded) > jobtype.MaxResultBytes {
		return fmt.Errorf("the encoded result has %d bytes, the limit is %d", len(encoded), jobtype.MaxResultBytes)
	}
	return nil
}

// Resume runs a job until the worker drains at its n-th checkpoint, then a second attempt as on another worker. If
// the first attempt does not reach the checkpoint, the second's Err reports it.
func Resume(ctx context.Context, handler jobtype.Handler, job jobtype.Job, n int) (first, second Execution) {
	job = withJobDefaults(job)
	first = Execute(ctx, handler, job, CancelAtCheckpoint(n, jobtype.ErrDraining))
	if len(first.Checkpoints) < n {
		return first, Execution{Err: fmt.Errorf("the first attempt ended after %d of %d checkpoints (its error: %w)", len(first.Checkpoints), n, first.Err)}
	}
	job.Attempt++
	job.Fence++
	job.Checkpoint = first.LastCheckpoint()
	return first, Execute(ctx, handler, job)
}
