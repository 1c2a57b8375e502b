package starter

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
)

// absentFor is how long a control plane that did not answer counts as absent: what a
// command asks meanwhile is not sent.
const absentFor = 2 * time.Second

// presence remembers whether a control plane answers. Until one has answered, questions
// are sent one at a time, so that a command waits for an absent one only once. A nil
// presence remembers nothing.
type presence struct {
	mu     sync.Mutex
	seen   bool
	absent *ControlPlaneDownError
	at     time.Time
}

// ask sends a question, unless the last one was not answered a moment ago.
func (p *presence) ask(send func() error) error {
	if p == nil {
		return send()
	}
	p.mu.Lock()
	if p.seen {
		p.mu.Unlock()
		return send()
	}
	defer p.mu.Unlock()
	if p.absent != nil && time.Since(p.at) < absentFor {
		return p.absent
	}
	err := send()
	// Other errors are the server's: they do not tell whether a control plane answers.
	p.seen, p.at = err == nil, time.Now()
	p.absent, _ = errors.AsType[*ControlPlaneDownError](err)
	return err
}

// patient bounds a question to a workflow: by answerTimeout, since a control plane may have
// to load a long history first. A client of a command also gives up after
// [Options.AskWithin] if no control plane answers at all: admission, whose history is short,
// is probed meanwhile. Entities are given no more than that.
func (c *Client) patient(ctx context.Context, ref RunRef) (context.Context, context.CancelFunc) {
	if c.askWithin <= 0 {
		return context.WithTimeout(ctx, answerTimeout)
	}
	switch ref.WorkflowID {
	case contract.FleetWorkflowID, contract.AdmissionWorkflowID, contract.AuditWorkflowID, contract.NotificationsWorkflowID:
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
