package retry

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Choice selects jobs of a run. The zero value selects all that were not done.
type Choice struct {
	// Failed selects failed and stale jobs. Missed selects jobs that were never executed: not
	// started, expired or canceled.
	Failed, Missed bool
	// Items selects jobs by number, id or dedupe key, in any state; a job that was done is
	// never executed again.
	Items []string
}

// Job is an earlier job. A worker that the run missed is a job without an id.
type Job struct {
	ID, DedupeKey, Summary, State, Error string

	Work contract.JobWork
}

// Unit is a proposal with its earlier job.
type Unit struct {
	Job

	Proposal jobtype.Proposal
}

// Kept is a job or a proposal that is not executed again.
type Kept struct {
	Job

	Why contract.KeptReason
	// By is the run that has its key, or did the work.
	By string
	// Hold is set for a key that is held back.
	Hold *contract.AdmissionHold
}

// Selection divides the jobs of a run that were not done.
type Selection struct {
	Units []Unit
	Kept  []Kept
	// Missed counts the proposals of jobs that were never executed, chosen or not.
	Missed int
	// Unknown lists the chosen items that are none of these jobs, in the order of the choice.
	Unknown []string
}

// Select applies a choice to the jobs that were not done. The units have the order of the jobs'
// numbers. Times that have passed are removed from them.
func Select(jobs []Job, choice Choice, now time.Time) Selection {
	var s Selection
	found := map[string]bool{}
	for _, job := range slices.SortedStableFunc(slices.Values(jobs), byNumber) {
		if missed(job.State) {
			s.Missed += len(job.Work.Proposals)
		}
		if !choice.has(job, found) {
			s.Kept = append(s.Kept, Kept{Job: job, Why: contract.KeptNotChosen})
			continue
		}
		if len(job.Work.Proposals) == 0 {
			s.Kept = append(s.Kept, Kept{Job: job, Why: contract.KeptNoProposal})
		}
		for _, p := range job.Work.Proposals {
			unit := Unit{Job: job, Proposal: fresh(p, now)}
			unit.DedupeKey, unit.Summary = p.DedupeKey, p.Summary
			s.Units = append(s.Units, unit)
		}
	}
	for _, item := range choice.Items {
		if !found[item] {
			found[item] = true
			s.Unknown = append(s.Unknown, item)
		}
	}
	return s
}

// byNumber compares jobs; missed workers are last.
func byNumber(a, b Job) int { return cmp.Compare(a.number(), b.number()) }

func (j Job) number() int {
	if n, is := contract.JobNumber(j.ID); is {
		return n
	}
	return math.MaxInt
}

// has reports whether the choice selects a job, and notes the items that name it.
func (c Choice) has(job Job, found map[string]bool) bool {
	if len(c.Items) == 0 {
		return c.selects(job.State)
	}
	names := job.names()
	has := false
	for _, item := range c.Items {
		if slices.Contains(names, item) {
			found[item], has = true, true
		}
	}
	return has
}

// selects reports whether the choice has jobs in this state.
func (c Choice) selects(state string) bool {
	all := !c.Failed && !c.Missed
	if missed(state) {
		return all || c.Missed
	}
	return all || c.Failed
}

func missed(state string) bool {
	switch state {
	case contract.JobNotStarted, contract.JobExpired, contract.JobCanceled, contract.JobPending, contract.JobAssigned:
		return true
	}
	return false
}

// names lists the id of a job, its number, and its keys.
func (j Job) names() []string {
	names := []string{j.ID, j.DedupeKey}
	if n, is := contract.JobNumber(j.ID); is {
		names = append(names, strconv.Itoa(n))
	}
	for _, p := range j.Work.Proposals {
		names = append(names, p.DedupeKey)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// fresh removes times that have passed.
func fresh(p jobtype.Proposal, now time.Time) jobtype.Proposal {
	if !p.ExpiresAt.IsZero() && !p.ExpiresAt.After(now) {
		p.ExpiresAt = time.Time{}
	}
	if !p.NotBefore.After(now) {
		p.NotBefore = time.Time{}
	}
	return p
}
