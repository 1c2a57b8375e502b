package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// keptOutcomes bounds the stored outcomes sent by signal. An adoption may cross them in transit.
const keptOutcomes = 16

// attemptKey: the fence distinguishes attempts of two workflow runs with one id.
type attemptKey struct {
	group, job string
	attempt    int
	fence      int64
}

func keyOf(group string, job jobtype.Job) attemptKey {
	return attemptKey{group: group, job: job.ID, attempt: job.Attempt, fence: job.Fence}
}

type sentOutcome struct {
	key     attemptKey
	outcome contract.ExecuteState
}

// adopt attaches a new activity to a running attempt, see [contract.ExecuteInput.Adopt]. From then on the attempt
// beats and reports through it. An ended attempt reports its outcome again. The newest activity counts.
func (a *Activities) adopt(ctx context.Context, in contract.ExecuteInput) (contract.ExecuteState, error) {
	info, key := activity.GetInfo(ctx), keyOf(workflowOf(ctx, in), in.Job)
	next := lease{token: info.TaskToken, timeout: info.HeartbeatTimeout, since: time.Now()}
	outcome := a.sentOutcome(key)
	if running := a.find(key); running != nil {
		if outcome = running.hold.adopt(next); outcome == nil {
			a.options.Logger.Info("the run adopts a job that runs here", "job", key.job, "group", key.group, "attempt", key.attempt)
			return contract.ExecuteState{}, activity.ErrResultPending
		}
	}
	if outcome == nil {
		return contract.ExecuteState{}, a.notRunning(key)
	}
	a.deliver(delivery{Token: next.token, WorkflowID: key.group, Outcome: contract.JobOutcomeInput{
		JobID: key.job, Attempt: key.attempt, Fence: key.fence, Outcome: *outcome,
	}})
	return contract.ExecuteState{}, activity.ErrResultPending
}

// notRunning never goes by signal: it is no outcome of the attempt.
func (a *Activities) notRunning(key attemptKey) error {
	state := contract.ExecuteState{
		Failure: contract.FailureNotRunning, Worker: a.options.WorkerID, Instance: a.options.Instance, StartedAt: time.Now().UTC(),
		Message: fmt.Sprintf("attempt %d of %s does not run in this process of worker %s", key.attempt, key.job, a.options.WorkerID),
	}
	return FailureOf(state)
}

// An attempt that lost its job cannot be adopted.
func (a *Activities) find(key attemptKey) *attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	for r := range a.running {
		if r.key == key && !r.what.Detection && !errors.Is(context.Cause(r.ctx), jobtype.ErrLeaseLost) {
			return r
		}
	}
	return nil
}

func (a *Activities) keepSent(key attemptKey, outcome contract.ExecuteState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.sent) == keptOutcomes {
		a.sent = a.sent[1:]
	}
	a.sent = append(a.sent, sentOutcome{key, outcome})
}

func (a *Activities) sentOutcome(key attemptKey) *contract.ExecuteState {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.sent {
		if a.sent[i].key == key {
			return new(a.sent[i].outcome)
		}
	}
	return nil
}

// Attempt returns whether an attempt runs in this process, and its outcome if it is still known.
func (a *Activities) Attempt(in contract.AttemptQueryInput) (state contract.AttemptState, running *Running, outcome *contract.ExecuteState) {
	key := attemptKey{group: in.GroupID, job: in.JobID, attempt: in.Attempt, fence: in.Fence}
	r := a.find(key)
	if r == nil {
		if outcome = a.sentOutcome(key); outcome != nil {
			return contract.AttemptEnded, nil, outcome
		}
		return contract.AttemptUnknown, nil, nil
	}
	what := r.describe()
	if _, outcome = r.hold.describe(); outcome != nil {
		return contract.AttemptEnded, &what, outcome
	}
	return contract.AttemptRunning, &what, nil
}
