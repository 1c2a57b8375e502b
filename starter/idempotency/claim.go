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
	// digestKey is the memo with the digest of the request, versionKey that with the state of its thing.
	digestKey, versionKey = "roundsman_digest", "roundsman_version"
)

// ErrOther reports another request under the key.
var ErrOther = errors.New("another request was sent with this key: use a new key")

// Claim records a request and the version of its thing under its id, or finds its record. Another digest is
// [ErrOther]. First is false if the record is older: the request may be half done.
func Claim(ctx context.Context, c *starter.Client, id, digest, version string) (request starter.Request, first bool, err error) {
	memo := map[string]any{digestKey: digest}
	if version != "" {
		memo[versionKey] = version
	}
	_, err = c.Temporal().ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: recordPrefix + id, TaskQueue: recordQueue, WorkflowExecutionTimeout: openFor,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		Memo:                                     memo,
	}, recordType)
	_, again := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err)
	if err != nil && !again {
		return request, false, fmt.Errorf("record the request: %w", err)
	}
	recorded, request, err := read(ctx, c, id)
	if err != nil {
		return request, false, err
	}
	if recorded != digest {
		return request, false, ErrOther
	}
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

func read(ctx context.Context, c *starter.Client, id string) (digest string, request starter.Request, err error) {
	request.ID = id
	described, err := c.Temporal().DescribeWorkflowExecution(ctx, recordPrefix+id, "")
	if err != nil {
		return "", request, fmt.Errorf("read the record of the request: %w", err)
	}
	info := described.GetWorkflowExecutionInfo()
	request.At = info.GetStartTime().AsTime()
	fields := info.GetMemo().GetFields()
	err = starter.DataConverter().FromPayload(fields[digestKey], &digest)
	if version := fields[versionKey]; version != nil && err == nil {
		err = starter.DataConverter().FromPayload(version, &request.Version)
	}
	if err != nil {
		return "", request, fmt.Errorf("read the record of the request: %w", err)
	}
	return digest, request, nil
}
