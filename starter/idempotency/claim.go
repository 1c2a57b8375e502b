package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/starter"
)

const (
	// recordPrefix begins the workflow id of a request.
	recordPrefix = "request/"
	// No process polls the queue, and the workflow type is not registered. The started workflow is the record,
	// until the namespace deletes closed workflows.
	recordType, recordQueue = "roundsman.Request", "roundsman/none"
	// openFor is how long a record is open.
	openFor = time.Second
	// digestKey is the memo with the digest of the request.
	digestKey = "roundsman_digest"
)

// ErrOther reports another request under the key.
var ErrOther = errors.New("another request was sent with this key: use a new key")

// Claim records a request under its id, or finds its record. Another digest is [ErrOther]. First is false if the
// record is older: the request may be half done.
func Claim(ctx context.Context, c *starter.Client, id, digest string) (request starter.Request, first bool, err error) {
	request.ID = id
	_, err = c.Temporal().ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: recordPrefix + id, TaskQueue: recordQueue, WorkflowExecutionTimeout: openFor,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     map[string]any{digestKey: digest},
	}, recordType)
	_, again := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err)
	if err != nil && !again {
		return request, false, fmt.Errorf("record the request: %w", err)
	}
	recorded, at, err := read(ctx, c, id)
	if err != nil {
		return request, false, err
	}
	if recorded != digest {
		return request, false, ErrOther
	}
	request.At = at
	return request, !again, nil
}

// Known reports whether the request with this digest has a record under its id.
func Known(ctx context.Context, c *starter.Client, id, digest string) (bool, error) {
	recorded, _, err := read(ctx, c, id)
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return false, nil
	}
	return recorded == digest, err
}

func read(ctx context.Context, c *starter.Client, id string) (digest string, at time.Time, err error) {
	described, err := c.Temporal().DescribeWorkflowExecution(ctx, recordPrefix+id, "")
	if err != nil {
		return "", at, fmt.Errorf("read the record of the request: %w", err)
	}
	info := described.GetWorkflowExecutionInfo()
	if err := starter.DataConverter().FromPayload(info.GetMemo().GetFields()[digestKey], &digest); err != nil {
		return "", at, fmt.Errorf("read the record of the request: %w", err)
	}
	return digest, info.GetStartTime().AsTime(), nil
}
