// Package auditlog sends entries to the audit log. It starts a missing log with the entries of the previous run. It
// also reads identities of senders.
package auditlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

// Client is the part of the SDK's client that the recorder uses.
type Client interface {
	DescribeWorkflowExecution(ctx context.Context, workflowID, runID string) (*workflowservice.DescribeWorkflowExecutionResponse, error)
	SignalWithStartWorkflow(ctx context.Context, workflowID, signalName string, signalArg any, options client.StartWorkflowOptions, workflow any, workflowArgs ...any) (client.WorkflowRun, error)
}

// At 2 KiB each, and with former settings as text, two thirds of the server's limit.
const perSignal = 100

// Record sends entries to the audit log. A repetition has no effect if the entries have ids.
func Record(ctx context.Context, c Client, record contract.AuditRecord) error {
	previous, first, err := closedRun(ctx, c)
	if err != nil {
		return err
	}
	input := contract.AuditInput{Keep: record.Keep, Previous: previous, First: first}
	for part := range slices.Chunk(record.Entries, perSignal) {
		_, err := c.SignalWithStartWorkflow(ctx, contract.AuditWorkflowID, contract.SignalRecord,
			contract.AuditRecord{Entries: part, Keep: record.Keep, MaxAge: record.MaxAge}, options(), contract.AuditWorkflow, input, []byte(nil))
		if err != nil {
			return fmt.Errorf("record in the audit log: %w", err)
		}
	}
	return nil
}

// Ensure starts the audit log if the previous one was ended. keep is its maximum number of entries.
func Ensure(ctx context.Context, c Client, keep int) error {
	previous, first, err := closedRun(ctx, c)
	if err != nil || previous == "" || first {
		return err
	}
	_, err = c.SignalWithStartWorkflow(ctx, contract.AuditWorkflowID, contract.SignalRecord, contract.AuditRecord{Keep: keep},
		options(), contract.AuditWorkflow, contract.AuditInput{Keep: keep, Previous: previous}, []byte(nil))
	if err != nil {
		return fmt.Errorf("start the audit log: %w", err)
	}
	return nil
}

func options() client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: contract.AuditWorkflowID, TaskQueue: contract.ControlQueue,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "what operators did, and what was refused or delayed",
		StaticDetails:            "`roundsman audit` reads it; terminated, the next one takes its entries over",
	}
}

func closedRun(ctx context.Context, c Client) (previous string, first bool, err error) {
	described, err := c.DescribeWorkflowExecution(ctx, contract.AuditWorkflowID, "")
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return "", true, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("look for the audit log: %w", err)
	}
	info := described.GetWorkflowExecutionInfo()
	if info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return "", false, nil
	}
	return info.GetExecution().GetRunId(), false, nil
}

// Identity is the identity of a client that acts for a person.
func Identity(program, actor, host string) string { return program + ":" + actor + "@" + host }

// Through returns the program in the [Identity] of a client that acts for a caller.
func Through(via, auth string) string { return via + "/" + auth }

// Origin parses the interface and the authentication in a client's identity.
func Origin(identity string) (via, auth string) {
	program, _, named := strings.Cut(identity, ":")
	via, auth, through := strings.Cut(program, "/")
	switch {
	case !named || strings.Contains(program, "@"):
		return "", ""
	case through:
		return via, auth
	case program == "roundsman":
		return contract.ViaCLI, ""
	case program == "temporal-cli":
		return contract.ViaTemporal, ""
	}
	return "", ""
}

// ParseIdentity returns the person and the host. An identity in another form is returned as the host.
func ParseIdentity(identity string) (actor, from string) {
	program, who, named := strings.Cut(identity, ":")
	at := strings.LastIndex(who, "@")
	if !named || at <= 0 {
		return "", identity
	}
	actor, from = who[:at], who[at+1:]
	if program == "temporal-cli" {
		from += " (temporal CLI)"
	}
	return actor, from
}
