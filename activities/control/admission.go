package control

import (
	"context"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

func admissionOptions() client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: contract.AdmissionWorkflowID, TaskQueue: contract.ControlQueue,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "who may do what when: lanes, claims, pools",
		StaticDetails: "Job groups and runs of DAGs ask it for their turn in a lane, for dedupe keys, objects and pools\n\n" +
			"`roundsman pools list`, `roundsman jobs disabled`, and `roundsman explain` for whoever waits\n\n" +
			"Leave it running: terminated, it asks all running groups what they hold before it grants anything",
	}
}

// EnsureAdmission is [contract.EnsureAdmissionActivity]. It starts admission if
// it is not running, with what the one before it knew, and sends in.Request, if
// given: in the same step if it starts it. A repeat changes nothing: requests are
// idempotent.
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

// tellAdmission must not start it: one that was ended in this very moment would
// begin without what it knew. The next attempt asks for that.
func (c *Control) tellAdmission(ctx context.Context, in contract.EnsureAdmissionInput) error {
	if in.Request == nil {
		return nil
	}
	if err := c.signals.SignalWorkflow(ctx, contract.AdmissionWorkflowID, "", contract.SignalAdmissionRequest, *in.Request); err != nil {
		return fmt.Errorf("tell admission: %w", err)
	}
	return nil
}
