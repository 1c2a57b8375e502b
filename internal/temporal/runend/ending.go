package runend

import (
	"errors"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/roundsman/roundsman/contract"
)

// ending has the common fields of the results of groups and DAGs.
type ending struct {
	JobType    string           `json:"job_type"`
	DAG        string           `json:"dag"`
	Outcome    contract.Outcome `json:"outcome"`
	Reason     string           `json:"reason"`
	DryRun     bool             `json:"dry_run"`
	DurationMS int64            `json:"duration_ms"`
	Counts     map[string]any   `json:"counts"`
	Errors     []struct {
		Message string `json:"message"`
	} `json:"errors"`
	Record struct {
		LastSuccess time.Time        `json:"last_success"`
		Values      *contract.Values `json:"values"`
	} `json:"record"`
	EndedAt time.Time `json:"ended_at"`

	run string
}

var errNoResult = errors.New("no result of a run")

// endingOf returns false if the workflow continues or is not a run.
func endingOf(request *workflowservice.RespondWorkflowTaskCompletedRequest, reader converter.DataConverter) (ending, bool) {
	for _, command := range request.GetCommands() {
		var payloads *common.Payloads
		switch {
		case command.GetCompleteWorkflowExecutionCommandAttributes() != nil:
			payloads = command.GetCompleteWorkflowExecutionCommandAttributes().GetResult()
		case command.GetCancelWorkflowExecutionCommandAttributes() != nil:
			payloads = command.GetCancelWorkflowExecutionCommandAttributes().GetDetails()
		case command.GetFailWorkflowExecutionCommandAttributes() != nil:
			payloads = detailsOf(command.GetFailWorkflowExecutionCommandAttributes().GetFailure())
		default:
			continue
		}
		end, err := read(payloads, reader)
		end.run = strings.TrimPrefix(request.GetResourceId(), "workflow:")
		return end, err == nil
	}
	return ending{}, false
}

func detailsOf(of *failure.Failure) *common.Payloads {
	if info := of.GetApplicationFailureInfo(); info.GetType() == contract.RunFailedError {
		return info.GetDetails()
	}
	return nil
}

func read(payloads *common.Payloads, reader converter.DataConverter) (ending, error) {
	var end ending
	if len(payloads.GetPayloads()) != 1 {
		return end, errNoResult
	}
	if err := reader.FromPayloads(payloads, &end); err != nil {
		return end, err
	}
	if end.Outcome == "" || (end.JobType == "") == (end.DAG == "") {
		return end, errNoResult
	}
	return end, nil
}

func (e ending) warnings() float64 {
	n, _ := e.Counts[contract.JobWarning].(float64)
	return max(n, 0)
}

func (e ending) sub() bool {
	if e.DAG == "" {
		return false
	}
	_, run, ok := contract.DAGOfWorkflow(e.run)
	return !ok || strings.Contains(run, "/")
}
