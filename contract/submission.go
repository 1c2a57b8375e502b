package contract

import (
	"strings"

	"github.com/roundsman/roundsman/jobtype"
)

// MaxSubmissionBytes bounds the proposals of one submission, as JSON. They travel in the input of
// their group, which the server limits to 2 MiB.
const MaxSubmissionBytes = 1 << 20

// Submission makes an ad-hoc group: it brings its proposals, and nothing is detected.
type Submission struct {
	// ID identifies a submission within its job type. A repeated id is the same submission.
	ID string `json:"id"`
	By string `json:"by,omitempty"`
	// IgnoreWindow runs the group in spite of a closed window.
	IgnoreWindow bool `json:"ignore_window,omitempty"`
	// Proposals are the work to do. Once accepted they are part of the group's state and removed here.
	Proposals []jobtype.Proposal `json:"proposals,omitempty"`
	// BatchKeys are as in a [DetectPageInput].
	BatchKeys []string `json:"batch_keys,omitempty"`
}

const adHocInfix = "-adhoc-"

// AdHocWorkflowID returns the id of a submission's group. It contains no colon, unlike the id of a
// tick's group.
func AdHocWorkflowID(jobType, submission string) string {
	return groupPrefix + jobType + adHocInfix + submission
}

// AdHocOf is the inverse of [AdHocWorkflowID].
func AdHocOf(workflowID string) (jobType, submission string, ok bool) {
	rest, ok := strings.CutPrefix(workflowID, groupPrefix)
	if !ok || strings.Contains(rest, ":") {
		return "", "", false
	}
	return strings.Cut(rest, adHocInfix)
}

// WithoutProposals returns the input without the proposals, which the group has taken.
func (in JobGroupInput) WithoutProposals() JobGroupInput {
	if in.Submission != nil {
		in.Submission = &Submission{ID: in.Submission.ID, By: in.Submission.By, IgnoreWindow: in.Submission.IgnoreWindow}
	}
	return in
}
