package contract

import (
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// MaxSubmissionBytes bounds the proposals in the input of a group, as JSON. The server limits the input to 2 MiB.
const MaxSubmissionBytes = 1 << 20

// Submission makes an ad-hoc group. It brings its proposals, and nothing is detected.
type Submission struct {
	// ID identifies a submission within its job type. A repeated id is the same submission.
	ID string `json:"id"`
	By string `json:"by,omitempty"`
	// IgnoreWindow runs the group in spite of a closed window.
	IgnoreWindow bool `json:"ignore_window,omitempty"`
	// Resumes is the workflow id of the run whose jobs are executed again.
	Resumes string `json:"resumes,omitempty"`
	// ScheduledAt is the nominal time of that run; zero means the start of this one.
	ScheduledAt time.Time `json:"scheduled_at,omitzero"`
	// Proposals are the work to do. Once accepted they are part of the group's state and removed here.
	Proposals []jobtype.Proposal `json:"proposals,omitempty"`
	// BatchKeys are as in a [DetectPageInput].
	BatchKeys []string `json:"batch_keys,omitempty"`
	// Pages describe further proposals, in pages of the group. Duplicates is the number of proposals dropped before.
	Pages      []ProposalPage `json:"pages,omitempty"`
	Duplicates int            `json:"duplicates,omitempty"`
	// OwnParams: the params of the run that it resumes are not those of the job type, and it has them, too.
	OwnParams bool `json:"own_params,omitempty"`
}

// FirstState is the state of a group with pages in its submission. Its version makes an older control plane refuse
// the group instead of dropping jobs.
const FirstState = `{"version":2}`

// Paged reports whether the submission has proposals in pages.
func (s *Submission) Paged() bool { return s != nil && len(s.Pages) > 0 }

// The infixes of the ids of groups that no Schedule starts.
const (
	adHocInfix  = "-adhoc-"
	detectInfix = "-detect-"
)

// AdHocWorkflowID returns the id of a submission's group, without a colon, unlike a tick's.
func AdHocWorkflowID(jobType, submission string) string {
	return groupPrefix + jobType + adHocInfix + submission
}

// AdHocOf is the inverse of [AdHocWorkflowID].
func AdHocOf(workflowID string) (jobType, submission string, ok bool) {
	name, infix, submission := cutGroupID(workflowID)
	return name, submission, infix == adHocInfix && !strings.Contains(submission, ":")
}

// DryRunOf is the inverse of [DryRunWorkflowID].
func DryRunOf(workflowID string) (jobType, unique string, ok bool) {
	name, infix, unique := cutGroupID(workflowID)
	return name, unique, infix == detectInfix
}

// A job type's name has no infix, see [ValidateJobTypeName], so the first infix ends the name.
func cutGroupID(workflowID string) (name, infix, rest string) {
	id, ok := strings.CutPrefix(workflowID, groupPrefix)
	if !ok {
		return "", "", ""
	}
	at := len(id)
	for _, each := range []string{adHocInfix, detectInfix} {
		if found := strings.Index(id, each); found >= 0 && found < at {
			at, infix = found, each
		}
	}
	return id[:at], infix, strings.TrimPrefix(id[at:], infix)
}

// ValidateJobTypeName also refuses names that make the ids of runs look like those of another job type.
func ValidateJobTypeName(name string) error {
	for _, infix := range []string{adHocInfix, detectInfix} {
		if strings.Contains(name+"-", infix) {
			return fmt.Errorf("name %q must not contain %s: the ids of submissions and dry runs do", name, strings.TrimSuffix(infix, "-"))
		}
	}
	return jobtype.ValidateName(name) //nolint:wrapcheck // it says all
}

// WithoutProposals returns the input without the proposals, which the group has taken.
func (in JobGroupInput) WithoutProposals() JobGroupInput {
	if in.Submission != nil {
		in.Submission = &Submission{ID: in.Submission.ID, By: in.Submission.By, IgnoreWindow: in.Submission.IgnoreWindow, Resumes: in.Submission.Resumes, ScheduledAt: in.Submission.ScheduledAt, OwnParams: in.Submission.OwnParams}
	}
	return in
}
