package workflows

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/admission"
	"github.com/roundsman/roundsman/jobtype"
)

func coreBudget(b *contract.RetryBudget) admission.Budget {
	if b == nil {
		return admission.Budget{}
	}
	return admission.Budget{PerKey: coreRule(b.PerKey), PerType: coreRule(b.PerType)}
}

func coreRule(r *contract.RetryBudgetRule) admission.Rule {
	if r == nil {
		return admission.Rule{}
	}
	return admission.Rule{Count: r.Count, Window: r.Window.Std(), HardTimeout: r.HardTimeout.Std(), DisableFor: r.DisableFor.Std()}
}

func wireRule(r admission.Rule) *contract.RetryBudgetRule {
	if r == (admission.Rule{}) {
		return nil
	}
	return &contract.RetryBudgetRule{
		Count: r.Count, Window: jobtype.Duration(r.Window), HardTimeout: jobtype.Duration(r.HardTimeout), DisableFor: jobtype.Duration(r.DisableFor),
	}
}

func coreEndings(jobType string, in contract.AdmissionEndings) (admission.Endings, error) {
	endings := admission.Endings{At: in.At, SuccessAt: in.SuccessAt}
	var err error
	if endings.Done, err = admission.UnpackKeys(in.Done); err != nil {
		return endings, err
	}
	if endings.Settled, err = admission.UnpackKeys(in.Settled); err != nil {
		return endings, err
	}
	for _, f := range in.Failed {
		failure := admission.Failure{Key: f.DedupeKey, Attempt: f.Attempt, At: f.At, Error: f.Error}
		if f.DedupeKey != "" {
			failure.Hash = contract.DedupeHash(jobType, f.DedupeKey)
		}
		endings.Failed = append(endings.Failed, failure)
	}
	return endings, nil
}

func wireHold(h admission.HeldBack) contract.AdmissionHold {
	return contract.AdmissionHold{
		JobType: h.JobType, DedupeKey: h.Key, Code: string(h.Code), Since: h.Since, Until: h.Until,
		Failures: h.Failures, Rule: wireRule(h.Rule), LastError: h.Error, By: h.By, Detail: h.Text(),
	}
}

func wireHeldKeys(off []admission.KeyOff) []contract.AdmissionHeldKey {
	var list []contract.AdmissionHeldKey
	for _, one := range off {
		list = append(list, contract.AdmissionHeldKey{AdmissionHold: wireHold(admission.HeldBack{Off: one.Off}), Index: one.Index})
	}
	return list
}
