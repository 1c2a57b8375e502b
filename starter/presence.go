package starter

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

// patient bounds a request to a workflow by answerTimeout: a control plane may load a long history first. With
// [Options.AskWithin] it also probes admission, whose history is short, and gives up without an answer.
func (c *Client) patient(ctx context.Context, ref RunRef) (context.Context, context.CancelFunc) {
	if c.askWithin <= 0 {
		return context.WithTimeout(ctx, answerTimeout)
	}
	if isEntity(ref) {
		return context.WithTimeout(ctx, c.askWithin)
	}
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	pause := c.askWithin / 3
	probe := time.AfterFunc(pause, func() {
		probing, done := context.WithTimeout(limited, c.askWithin-pause)
		defer done()
		_, err := c.temporal.QueryWorkflowWithOptions(probing, &client.QueryWorkflowWithOptionsRequest{WorkflowID: contract.AdmissionWorkflowID, QueryType: contract.QueryAdmissionUsage})
		if err != nil && isUnanswered(err) {
			cancel()
		}
	})
	return limited, func() {
		probe.Stop()
		cancel()
	}
}

// lastPollTimeout is short: the caller has waited for an answer already.
const lastPollTimeout = time.Second

func (c *Client) down(ctx context.Context, asked string, began time.Time, cause error) *ControlPlaneDownError {
	last, err := c.lastPoll(ctx)
	return &ControlPlaneDownError{Asked: asked, Waited: time.Since(began), LastPoll: last, Unlisted: err, Cause: cause}
}

// The server keeps the last poll of a control plane for five minutes.
func (c *Client) lastPoll(ctx context.Context) (last time.Time, err error) {
	limited, cancel := context.WithTimeout(ctx, lastPollTimeout)
	defer cancel()
	queue, err := c.temporal.DescribeTaskQueue(limited, contract.ControlQueue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return last, fmt.Errorf("read the pollers of the control queue: %w", err)
	}
	for _, poller := range queue.GetPollers() {
		if at := poller.GetLastAccessTime().AsTime(); at.After(last) {
			last = at
		}
	}
	return last, nil
}
