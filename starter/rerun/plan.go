package rerun

import (
	"encoding/json"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/jobtype"
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

// unit is a proposal with its earlier job.
type unit struct {
	Again
	proposal jobtype.Proposal
	batchKey string
}

// keep notes that a proposal is not executed again.
func (p *Plan) keep(one Again, kept explain.Kept) {
	kept.JobType, kept.Key, kept.State = p.JobType, one.DedupeKey, one.State
	p.Kept = append(p.Kept, Kept{Again: one, Why: kept.Why, By: kept.By, Detail: kept.String()})
}

// take fills the submission with as many proposals as one run accepts.
func (p *Plan) take(units []unit, most int) error {
	bytes := 2
	for i, u := range units {
		encoded, err := json.Marshal(u.proposal)
		if err != nil {
			return err
		}
		if bytes += len(encoded) + 1; i >= most || bytes > contract.MaxSubmissionBytes {
			for _, left := range units[i:] {
				p.keep(left.Again, explain.Kept{Why: contract.KeptOverLimit})
			}
			return nil
		}
		p.Again = append(p.Again, u.Again)
		p.submission.Proposals = append(p.submission.Proposals, u.proposal)
		p.submission.BatchKeys = append(p.submission.BatchKeys, u.batchKey)
	}
	return nil
}

// listed counts the lists and cuts them.
func (p *Plan) listed() {
	p.AgainTotal, p.KeptTotal = len(p.Again), len(p.Kept)
	p.Again, p.Kept = p.Again[:min(len(p.Again), MaxListed)], p.Kept[:min(len(p.Kept), MaxListed)]
}
