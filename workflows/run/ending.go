package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// EndingOf computes the result of a success only if other items see it.
func EndingOf(state contract.ExecuteState, withResult bool) engine.Ending {
	end := engine.Ending{
		Failure: state.Failure, Message: state.Message, Checkpoint: state.Checkpoint, Done: state.Done,
		Worker: state.Worker, Instance: state.Instance, Duration: time.Duration(state.DurationMS) * time.Millisecond,
		Load: loadOf(state), Warning: state.Result.Warning, Delay: state.Delay.Std(),
	}
	if withResult && state.Failure == "" {
		end.Result = resultOf(state.Result)
	}
	return end
}

// loadOf returns the worker's load from other runs; empty if the report is not the worker's own.
func loadOf(state contract.ExecuteState) engine.LoadReport {
	if state.Instance == "" || state.StartedAt.IsZero() {
		return engine.LoadReport{}
	}
	return engine.LoadReport{
		At:     state.StartedAt.Add(time.Duration(state.DurationMS) * time.Millisecond),
		Others: state.Others, OfHandler: state.OthersOfHandler,
	}
}

// resultOf returns the result for other items: its data, and the handler's summary unless that is the line with the data.
func resultOf(result jobtype.Result) json.RawMessage {
	fields, printed := contract.ResultData(result)
	if _, own := fields["summary"]; result.Summary != "" && !own && !printed {
		fields["summary"] = result.Summary
	}
	// It was decoded from JSON, so it can be encoded; keys are sorted.
	data, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return data
}

// EndingOfError converts an activity's error. worker is empty for a shared queue.
func EndingOfError(err error, worker string) engine.Ending {
	ending := engine.Ending{Failure: contract.FailureFailed, Message: err.Error(), Worker: worker}
	var timeout *temporal.TimeoutError
	var canceled *temporal.CanceledError
	var application *temporal.ApplicationError
	switch {
	case errors.As(err, &timeout):
		readTimeout(timeout, worker, &ending)
	case errors.As(err, &canceled):
		ending.Failure, ending.Message = contract.FailureCanceled, "canceled"
		var state contract.ExecuteState
		if canceled.HasDetails() && canceled.Details(&state) == nil {
			ending.Checkpoint, ending.Done, ending.Load = state.Checkpoint, state.Done, loadOf(state)
		}
	case errors.As(err, &application):
		readApplicationError(application, &ending)
	}
	return ending
}

func readTimeout(timeout *temporal.TimeoutError, worker string, ending *engine.Ending) {
	ending.Unreported = true
	name := "worker " + worker
	if worker == "" {
		name = "any worker"
	}
	switch timeout.TimeoutType() {
	case enums.TIMEOUT_TYPE_SCHEDULE_TO_START:
		ending.Failure, ending.Message = contract.FailureNotTaken, name+" did not take it in time"
	case enums.TIMEOUT_TYPE_HEARTBEAT:
		ending.Failure, ending.Message, ending.Silent = contract.FailureWorkerLost, "no heartbeat from "+name, true
		var last contract.Heartbeat
		if timeout.HasLastHeartbeatDetails() && timeout.LastHeartbeatDetails(&last) == nil {
			readHeartbeat(last, worker, name, ending)
		}
	case enums.TIMEOUT_TYPE_UNSPECIFIED, enums.TIMEOUT_TYPE_START_TO_CLOSE, enums.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE:
		ending.Failure, ending.Message = contract.FailureTimeout, "timed out on "+name
	}
}

func readHeartbeat(last contract.Heartbeat, worker, name string, ending *engine.Ending) {
	ending.Checkpoint, ending.Done = last.Checkpoint, last.Done
	if worker == "" {
		ending.Worker = last.Worker
	}
	ending.Message += lastReport(last)
	if ending.Silent = last.Stalled == 0; !ending.Silent {
		ending.Message = fmt.Sprintf("the handler on %s reported nothing for %s (stall_timeout)%s: it hangs, or it should call Progress.Report or Alive more often",
			name, last.Stalled, lastReport(last))
	}
}

func lastReport(last contract.Heartbeat) string {
	switch {
	case last.Percent > 0 && last.Stage != "":
		return fmt.Sprintf(" since it was at %.0f%%, %s", last.Percent, last.Stage)
	case last.Percent > 0:
		return fmt.Sprintf(" since it was at %.0f%%", last.Percent)
	case last.Stage != "":
		return " since it was at " + last.Stage
	}
	return ""
}

func readApplicationError(application *temporal.ApplicationError, ending *engine.Ending) {
	ending.Message = application.Message()
	if kind := contract.FailureKind(application.Type()); kind != contract.FailureNone && kind.Valid() {
		ending.Failure = kind
	}
	var state contract.ExecuteState
	if application.HasDetails() && application.Details(&state) == nil {
		ending.Checkpoint, ending.Done, ending.Load = state.Checkpoint, state.Done, loadOf(state)
		ending.Duration, ending.Delay = time.Duration(state.DurationMS)*time.Millisecond, state.Delay.Std()
		if state.Worker != "" {
			ending.Worker, ending.Instance = state.Worker, state.Instance
			ending.Gone = ending.Failure == contract.FailureWorkerLost
		}
	}
}

// The SDK's messages are about its own concepts.
func endingOfDAG(err error, id string, recovery jobtype.Recovery) engine.Ending {
	var (
		canceled    *temporal.CanceledError
		terminated  *temporal.TerminatedError
		taken       *temporal.ChildWorkflowExecutionAlreadyStartedError
		application *temporal.ApplicationError
		timeout     *temporal.TimeoutError
	)
	switch {
	case errors.As(err, &canceled):
		message := id + " was canceled"
		var result contract.DAGResult
		if canceled.HasDetails() && canceled.Details(&result) == nil && result.Reason != "" {
			message += ": " + result.Reason
		}
		return engine.Ending{Failure: contract.FailureCanceled, Message: message}
	case errors.As(err, &terminated):
		return engine.Ending{Failure: contract.FailureFailed, Message: id + " was terminated"}
	case errors.As(err, &taken):
		return engine.Ending{
			Failure: contract.FailureNotTaken, Message: "another workflow is open under the id of this sub-DAG's run, " + id,
		}
	case errors.As(err, &timeout):
		return engine.Ending{Failure: contract.FailureTimeout, Message: id + " ran into its workflow timeout"}
	case errors.As(err, &application) && application.Type() == contract.DAGInvalidError:
		// Another attempt would read the same text.
		return engine.Ending{Failure: contract.FailurePermanent, Message: application.Message()}
	case errors.As(err, &application):
		var result contract.DAGResult
		if recovery == jobtype.RecoveryFail && contract.ResultOfFailure(err, &result) && result.WorkerLost {
			return engine.Ending{Failure: contract.FailureWorkerLost, Message: application.Message(), Gone: true}
		}
		return engine.Ending{Failure: contract.FailureFailed, Message: application.Message()}
	}
	return engine.Ending{Failure: contract.FailureFailed, Message: err.Error()}
}
