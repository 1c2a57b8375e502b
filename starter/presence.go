package starter

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

// patient bounds a request to a workflow by answerTimeout, since a control plane may have to
// load a long history first. With [Options.AskWithin] set, it also probes admission, whose
// history is short, and gives up if no control plane answers. Requests to entities are bounded
// by AskWithin.
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
		_, err := c.temporal.QueryWorkflowWithOptions(probing, &client.QueryWorkflowWithOptionsRequest{
			WorkflowID: contract.AdmissionWorkflowID, QueryType: contract.QueryAdmissionUsage,
		})
		if err != nil && isUnanswered(err) {
			cancel()
		}
	})
	return limited, func() {
		probe.Stop()
		cancel()
	}
}
