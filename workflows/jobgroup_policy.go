package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/dispatch"
	"github.com/roundsman/roundsman/jobtype"
)

func (r *groupRun) checkPolicy(_ workflow.Context, in contract.SetPolicyInput) error {
	if r.core == nil {
		return r.notBegun()
	}
	policy, err := in.Over(r.core.Policy())
	if err != nil {
		return err
	}
	return errors.Join(r.core.CheckPolicy(policy), in.RetryBudget.WithDefaults().Validate())
}

// notBegun refuses what needs a group that has begun, and says what keeps it from
// beginning if that may take long.
func (r *groupRun) notBegun() error {
	if status := r.statusBefore(); status.Waiting != "" {
		return fmt.Errorf("the group has not begun yet, waiting: %s; change the job type with apply, or try again then", status.Waiting)
	}
	return errNotBegun
}

// setPolicy changes the policy and, if the message has one, the retry budget. A
// budget holds for what fails from now on; what it has stopped already stays
// stopped.
func (r *groupRun) setPolicy(ctx workflow.Context, in contract.SetPolicyInput) (contract.SetPolicyResult, error) {
	policy, err := in.Over(r.core.Policy())
	if err != nil {
		return contract.SetPolicyResult{}, err // The validator has refused that.
	}
	result := contract.SetPolicyResult{Before: r.core.Policy(), After: policy, RetryBudgetBefore: r.in.Spec.RetryBudget}
	r.auditPolicy(ctx, result, in)
	if in.RetryBudget != nil {
		r.setBudget(in.RetryBudget.WithDefaults())
	}
	r.setGrace(policy.HeartbeatTimeout)
	r.step(dispatch.PolicySet{Policy: policy})
	r.touched = true
	return result, nil
}

// setGrace: what the group holds is kept from others for a heartbeat timeout after
// its end, the longest one that anything of it may run under. Admission hears of a
// longer one at once.
func (r *groupRun) setGrace(timeout jobtype.Duration) {
	if timeout <= r.link.base.Grace {
		return
	}
	r.link.base.Grace = timeout
	r.link.dirty = r.link.dirty || r.link.spoke
}

// setBudget: the rule travels with everything that is said to admission, and with
// the group when it continues as new.
func (r *groupRun) setBudget(budget *contract.RetryBudget) {
	r.in.Spec.RetryBudget = budget
	r.link.base.Budget = budget
	if budget != nil && !r.in.DryRun {
		r.link.spoke = true // What failed last is told at the group's end.
	}
	r.step(dispatch.BudgetSet{Counts: budget != nil})
}
