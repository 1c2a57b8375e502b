package contract

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/roundsman/roundsman/jobtype"
)

// WithDefaults fills in missing values; it returns nil for a budget without rules.
func (b *RetryBudget) WithDefaults() *RetryBudget {
	if b == nil || b.PerKey == nil && b.PerType == nil {
		return nil
	}
	return &RetryBudget{PerKey: b.PerKey.withDefaults(), PerType: b.PerType.withDefaults()}
}

func (r *RetryBudgetRule) withDefaults() *RetryBudgetRule {
	if r == nil {
		return nil
	}
	filled := *r
	filled.Window = cmp.Or(filled.Window, DefaultBudgetWindow)
	filled.DisableFor = cmp.Or(filled.DisableFor, DefaultDisableFor)
	return &filled
}

// Validate returns all faults of a budget at once, or nil. Call it after [RetryBudget.WithDefaults].
func (b *RetryBudget) Validate() error {
	if b == nil {
		return nil
	}
	return errors.Join(b.PerKey.validate("retry_budget.per_key", MaxKeyFailures), b.PerType.validate("retry_budget.per_type", MaxTypeFailures))
}

func (r *RetryBudgetRule) validate(path string, most int) error {
	if r == nil {
		return nil
	}
	var faults []error
	if r.Count < 0 || r.Count > most {
		faults = append(faults, fmt.Errorf("%s.count: %d is out of range: use 1 to %d, or 0 to count on hard_timeout alone", path, r.Count, most))
	}
	within := func(key string, value, low, high jobtype.Duration) {
		if value < low || value > high {
			faults = append(faults, fmt.Errorf("%s.%s: %s is out of range: use %s to %s", path, key, value, low, high))
		}
	}
	within("window", r.Window, MinBudgetTime, MaxBudgetWindow)
	within("disable_for", r.DisableFor, MinBudgetTime, MaxDisableFor)
	if r.HardTimeout != 0 {
		within("hard_timeout", r.HardTimeout, MinBudgetTime, MaxBudgetWindow)
	}
	if r.Count == 0 && r.HardTimeout == 0 {
		faults = append(faults, fmt.Errorf("%s sets neither count nor hard_timeout, so it disables nothing: write \"count\": 3", path))
	}
	return errors.Join(faults...)
}

// CheckKept refuses more jobs than a group can have whose proposals a setting keeps in the group itself.
func CheckKept(policy jobtype.Policy, budget *RetryBudget, batch *BatchSpec, on DetectOn) error {
	jobs, setting := policy.MaxJobsPerDetection, ""
	switch {
	case jobs <= jobtype.MaxKeyedJobs || jobs > jobtype.MaxJobsLimit: // More is out of range anyway.
	case budget != nil && budget.PerKey != nil:
		setting = "retry_budget.per_key"
	case batch != nil:
		setting = "batch"
	case on == DetectOnEvery:
		setting = "detect_on: every"
	}
	if setting == "" {
		return nil
	}
	return &jobtype.PolicyFault{Key: "max_jobs_per_detection", Message: fmt.Sprintf(
		"%d is out of range: with %s the group itself must have all proposals: use 1 to %d, or remove %s", jobs, setting, jobtype.MaxKeyedJobs, setting)}
}
