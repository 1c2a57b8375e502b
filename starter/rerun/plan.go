package rerun

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/retry"
)

// MaxListed is how many jobs each list of a plan has at most.
const MaxListed = 1000

// Plan is the effect of a retry.
type Plan struct {
	JobType string `json:"job_type"`
	// Again lists the first proposals that are executed again, Kept the first that are not.
	Again      []Again `json:"again"`
	AgainTotal int     `json:"again_total"`
	Kept       []Kept  `json:"kept"`
	KeptTotal  int     `json:"kept_total"`
	// Missed counts the jobs that were never executed and could be, chosen or not.
	Missed int `json:"missed"`
	// Done counts the jobs that were done.
	Done int `json:"done"`
	// Unchecked is why claims and retry budgets are unknown. The new run checks both again.
	Unchecked string `json:"unchecked,omitempty"`

	submission contract.Submission
}

// Again is a proposal that is executed again.
type Again struct {
	// Job is the id of the earlier job; empty for a worker that the run missed.
	Job       string `json:"job,omitempty"`
	DedupeKey string `json:"dedupe_key,omitempty"`
	Summary   string `json:"summary,omitempty"`
	State     string `json:"state"`
	Error     string `json:"error,omitempty"`
}

// Kept is a proposal that is not executed again.
type Kept struct {
	Again
	Why contract.KeptReason `json:"why" enum:"done,done_by_retry,not_chosen,claimed,held_back,marked_done,no_proposal,over_limit"`
	// By is the run that has its key, or did the work.
	By string `json:"by,omitempty"`
	// Detail is the reason as text.
	Detail string `json:"detail"`
}

// decided fills the plan and its submission.
func (p *Plan) decided(again []retry.Unit, kept []retry.Kept) {
	for _, unit := range again {
		p.Again = append(p.Again, againOf(unit.Job))
		p.submission.Proposals = append(p.submission.Proposals, unit.Proposal)
		p.submission.BatchKeys = append(p.submission.BatchKeys, unit.Work.BatchKey)
	}
	for _, k := range kept {
		why := explain.Kept{JobType: p.JobType, Key: k.DedupeKey, State: k.State, Why: k.Why, By: k.By, Hold: k.Hold}
		p.Kept = append(p.Kept, Kept{Again: againOf(k.Job), Why: k.Why, By: k.By, Detail: why.String()})
	}
	p.AgainTotal, p.KeptTotal = len(p.Again), len(p.Kept)
	p.Again, p.Kept = p.Again[:min(len(p.Again), MaxListed)], p.Kept[:min(len(p.Kept), MaxListed)]
}

func againOf(job retry.Job) Again {
	return Again{Job: job.ID, DedupeKey: job.DedupeKey, Summary: job.Summary, State: job.State, Error: job.Error}
}
