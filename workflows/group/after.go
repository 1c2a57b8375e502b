package group

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/group"
)

// wakeFor bounds the time in which an ended run wakes others.
const wakeFor = time.Minute

// reportSuccess wakes the runs of other job types that wait for a success of this one.
func (r *groupRun) reportSuccess(result contract.JobGroupResult) error {
	if result.Outcome != contract.OutcomeCompleted || r.in.DryRun || r.apart() || len(r.in.Spec.AwaitedBy) == 0 {
		return nil
	}
	call := callSucceeded(r.ctx, contract.SucceededInput{
		SucceededSignal: contract.SucceededSignal{JobType: r.in.Spec.Name, At: result.EndedAt}, AwaitedBy: r.in.Spec.AwaitedBy,
		Before: r.record.LastSuccess,
	})
	for {
		ready, err := workflow.AwaitWithTimeout(r.ctx, wakeFor, call.Ready)
		if err != nil {
			return err
		}
		if !ready {
			workflow.GetLogger(r.ctx).Warn("The runs that wait for this job type are not woken in time. They look again later.")
			return nil
		}
		if done, err := call.Get(nil); done {
			if err != nil {
				workflow.GetLogger(r.ctx).Warn("The runs that wait for this job type are not woken. They look again later.", "error", err)
			}
			return nil
		}
	}
}

// A refused lookup counts as one without a success.
func (r *groupRun) collectSuccesses() {
	var result contract.SuccessesResult
	done, err := r.successes.Get(&result)
	if !done {
		return
	}
	if r.successes = nil; err != nil {
		workflow.GetLogger(r.ctx).Error("The successes of other job types cannot be looked up.", "error", err)
	}
	r.loop.Step(group.SuccessesKnown{Last: result.Last})
}

func (r *groupRun) collectSucceeded() {
	for {
		var in contract.SucceededSignal
		if !r.messages.succeeded.ReceiveAsync(&in) {
			return
		}
		r.loop.Step(group.Succeeded{SucceededSignal: in})
	}
}
