package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Pauses of delivery. A pause is at most a second. When a server comes back, the heartbeat timer
// of a job may fire, and the outcome must arrive within the group's grace (docs/adr/0004).
const (
	firstDeliveryWait = 50 * time.Millisecond
	maxDeliveryWait   = time.Second
	deliveryTimeout   = 10 * time.Second
)

// delivery is one outcome in transit, and an entry of the outbox.
type delivery struct {
	Token      []byte                   `json:"token"`
	WorkflowID string                   `json:"workflow_id"`
	Outcome    contract.JobOutcomeInput `json:"outcome"`
	// bySignal means that the server no longer has the activity, so the group gets a signal.
	bySignal bool
}

// deliver reports an outcome until the server or the group has accepted it, the run is gone, or
// the worker's life has ended. The outcome goes to the outbox if the first try is refused or not
// answered soon. bySignal reports whether the group received it.
func (a *Activities) deliver(d delivery) (bySignal bool) {
	wait, kept := firstDeliveryWait, a.keepUnlessTaken(d)
	for {
		err := a.attemptDelivery(&d)
		if err == nil {
			kept.taken()
			return d.bySignal
		}
		kept.keep(err)
		if !pause(a.life, &wait) {
			return false
		}
	}
}

// pause waits, doubles the wait up to maxDeliveryWait, and reports whether ctx is still active.
func pause(ctx context.Context, wait *time.Duration) bool {
	timer := time.NewTimer(*wait)
	defer timer.Stop()
	*wait = min(2**wait, maxDeliveryWait)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// attemptDelivery returns nil when nothing is left to do.
func (a *Activities) attemptDelivery(d *delivery) error {
	ctx, cancel := context.WithTimeout(a.life, deliveryTimeout)
	defer cancel()
	return d.send(ctx, a.options.Server, a.options.Logger)
}

// send completes the activity or, if the server no longer has it, signals the run. It returns
// nil when nothing is left to do.
func (d *delivery) send(ctx context.Context, server Server, logger *slog.Logger) error {
	if !d.bySignal {
		done, err := d.complete(ctx, server, logger)
		if done || err != nil {
			return err
		}
		d.bySignal = true
	}
	err := server.SignalOutcome(ctx, d.WorkflowID, d.Outcome)
	if errors.Is(err, jobtype.ErrLeaseLost) {
		return nil // The group is gone; its result stands.
	}
	return d.giveUpIfRejected(logger, err)
}

// complete reports the activity. done is false without an error if the server no longer has it.
func (d *delivery) complete(ctx context.Context, server Server, logger *slog.Logger) (done bool, err error) {
	err = server.Complete(ctx, d.Token, d.Outcome.Outcome, FailureOf(d.Outcome.Outcome))
	if errors.Is(err, jobtype.ErrLeaseLost) {
		return false, nil
	}
	var rejected *RejectedError
	if errors.As(err, &rejected) && d.Outcome.Outcome.Failure == "" {
		// Bounds were checked before, so this is a limit of a foreign server. A short failure is
		// more useful to the operator than a lost job.
		d.Outcome.Outcome = refusedResult(d.Outcome.Outcome, rejected)
		err = server.Complete(ctx, d.Token, d.Outcome.Outcome, FailureOf(d.Outcome.Outcome))
	}
	return true, d.giveUpIfRejected(logger, err)
}

func refusedResult(state contract.ExecuteState, rejected error) contract.ExecuteState {
	state.Failure = contract.FailurePermanent
	state.Message = head("the job was done, but the server refuses its result: "+rejected.Error(), maxFailureMessage)
	state.Result, state.Checkpoint = jobtype.Result{}, nil
	return state
}

// giveUpIfRejected returns transient errors only.
func (d *delivery) giveUpIfRejected(logger *slog.Logger, err error) error {
	if _, rejected := errors.AsType[*RejectedError](err); !rejected {
		return err
	}
	logger.Error("the server refuses the outcome of a job; the group will see a lost worker",
		"job", d.Outcome.JobID, "group", d.WorkflowID, "error", err)
	return nil
}

// DeliverOutbox delivers the outcomes of earlier processes. Call it before the worker polls. It
// returns at once; done is closed when everything is delivered or the worker's life ends.
func (a *Activities) DeliverOutbox() (done <-chan struct{}, err error) {
	finished := make(chan struct{})
	if a.options.Outbox == nil {
		close(finished)
		return finished, nil
	}
	kept, err := a.options.Outbox.load()
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(finished)
		for _, d := range kept {
			a.deliver(d)
			if a.life.Err() != nil {
				return
			}
			a.options.Outbox.drop(d)
		}
	}()
	return finished, nil
}
