package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

func admissionOptions() client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: contract.AdmissionWorkflowID, TaskQueue: contract.ControlQueue,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "grants of lanes, claims and pools",
		StaticDetails: "Job groups and runs of DAGs request their turn in a lane, dedupe keys, objects and pools from it\n\n" +
			"`roundsman resources`, `roundsman holds`, and `roundsman explain` for a wait\n\n" +
			"Leave it running: after a termination it grants nothing until all running groups have reported their grants",
	}
}

// EnsureAdmission is [contract.EnsureAdmissionActivity]. It starts a missing admission with the state of the previous
// one, and sends in.Request in the same step. A repeat changes nothing.
func (c *Control) EnsureAdmission(ctx context.Context, in contract.EnsureAdmissionInput) error {
	running, inherited, err := c.inheritance(ctx, contract.AdmissionWorkflowID)
	if err != nil {
		return fmt.Errorf("start admission: %w", err)
	}
	if running {
		return c.tellAdmission(ctx, in)
	}
	start := contract.AdmissionInput{Inherited: inherited}
	if in.Request == nil {
		_, err = c.fleet.ExecuteWorkflow(ctx, admissionOptions(), contract.AdmissionWorkflow, start)
	} else {
		_, err = c.fleet.SignalWithStartWorkflow(ctx, contract.AdmissionWorkflowID, contract.SignalAdmissionRequest, *in.Request,
			admissionOptions(), contract.AdmissionWorkflow, start)
	}
	if err != nil {
		return fmt.Errorf("start admission: %w", err)
	}
	return nil
}

// callTimeout leaves time to send the request as a signal within the waiting workflow task.
const callTimeout = 1500 * time.Millisecond

// CallAdmission is [contract.CallAdmissionActivity]. A message with releases only is a signal, a message with
// requests an update, repeated as a signal without a timely answer. A repeat changes nothing.
func (c *Control) CallAdmission(ctx context.Context, in contract.AdmissionRequest) (contract.CallAdmissionResult, error) {
	if len(in.Items) > 0 {
		answer, err := c.answered(ctx, in)
		if err == nil {
			return contract.CallAdmissionResult{Answer: answer}, nil
		}
		if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
			return contract.CallAdmissionResult{Missing: true}, nil
		}
	}
	err := c.tellAdmission(ctx, contract.EnsureAdmissionInput{Request: &in})
	_, missing := errors.AsType[*serviceerror.NotFound](err)
	if missing {
		err = nil
	}
	return contract.CallAdmissionResult{Missing: missing}, err
}

func (c *Control) answered(ctx context.Context, in contract.AdmissionRequest) (*contract.AdmissionAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	handle, err := c.updates.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: contract.AdmissionWorkflowID, UpdateName: contract.UpdateAdmissionRequest, Args: []any{in},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return nil, fmt.Errorf("call admission: %w", err)
	}
	var answer contract.AdmissionAnswer
	if err := handle.Get(ctx, &answer); err != nil {
		return nil, fmt.Errorf("call admission: %w", err)
	}
	return &answer, nil
}

// tellAdmission must not start admission: a new one would lack the state of one that has just ended.
func (c *Control) tellAdmission(ctx context.Context, in contract.EnsureAdmissionInput) error {
	if in.Request == nil {
		return nil
	}
	if err := c.signals.SignalWorkflow(ctx, contract.AdmissionWorkflowID, "", contract.SignalAdmissionRequest, *in.Request); err != nil {
		return fmt.Errorf("tell admission: %w", err)
	}
	return nil
}
