package config

import "github.com/roundsman/roundsman/jobtype"

// jobsLimit refuses more jobs than a group can have whose proposals do not lie in pages.
func (l *loader) jobsLimit(e entry, read JobType) {
	most := read.Policy.MaxJobsPerDetection
	if most <= jobtype.MaxKeyedJobs || most > jobtype.MaxJobsLimit { // More is out of range anyway.
		return
	}
	for _, needs := range []struct {
		set bool
		key string
	}{
		{read.RetryBudget != nil && read.RetryBudget.PerKey != nil, "retry_budget.per_key"},
		{read.Batch != nil, "batch"},
		{read.DetectOn != "", "detect_on: every"},
	} {
		if needs.set {
			l.fault(e.blame("policy", "max_jobs_per_detection"), e.path+".policy.max_jobs_per_detection",
				"%d is out of range: with %s the group itself must have all proposals: use 1 to %d, or remove %s", most, needs.key, jobtype.MaxKeyedJobs, needs.key)
			return
		}
	}
}
