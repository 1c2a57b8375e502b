package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// A pause is at most a second: when a server comes back, the outcome must arrive within the group's grace (docs/adr/0004).
const (
	firstDeliveryWait = 50 * time.Millisecond
	maxDeliveryWait   = time.Second
	deliveryTimeout   = 10 * time.Second
)

type delivery struct {
	Token      []byte                   `json:"token"`
	WorkflowID string                   `json:"workflow_id"`
	Outcome    contract.JobOutcomeInput `json:"outcome"`
	// bySignal means that the server no longer has the activity, so the group gets a signal.
	bySignal bool
}

// deliver reports an outcome until it is accepted, the run is gone, or the worker's life has ended. A slow or refused
// first try puts it into the outbox. bySignal reports whether the group received it.
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

func (a *Activities) attemptDelivery(d *delivery) error {
	ctx, cancel := context.WithTimeout(a.life, deliveryTimeout)
	defer cancel()
	return d.send(ctx, a.options.Server, a.options.Logger)
}

// send completes the activity or, if the server no longer has it, signals the run.
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
		// This is a limit of a foreign server. A short failure is more useful than a lost job.
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

// DeliverOutbox delivers the outcomes of earlier processes. Call it before the worker polls. It returns at once.
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
