package contract

import (
	"strings"

	"github.com/roundsman/roundsman/jobtype"
)

// MaxSubmissionBytes bounds the proposals of one submission, as JSON. They
// travel as the input of their group, which the server bounds at 2 MiB.
const MaxSubmissionBytes = 1 << 20

// Submission makes an ad-hoc group: its proposals come with its start, nothing
// is detected.
type Submission struct {
	// ID tells submissions of one job type apart. The same one twice is one
	// submission.
	ID string `json:"id"`
	// By is who submitted.
	By string `json:"by,omitempty"`
	// IgnoreWindow: it runs although the window of the job type is closed.
	IgnoreWindow bool `json:"ignore_window,omitempty"`
	// Proposals are what is to be done. Once the group has taken them they are
	// part of its state and not carried here any more.
	Proposals []jobtype.Proposal `json:"proposals,omitempty"`
	// BatchKeys are as in a [DetectPageInput].
	BatchKeys []string `json:"batch_keys,omitempty"`
}

const adHocInfix = "-adhoc-"

// AdHocWorkflowID names the group of a submission. An id never holds a colon,
// so that none is taken for the group of a tick.
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

// WithoutProposals is the input of a group that has taken its proposals.
func (in JobGroupInput) WithoutProposals() JobGroupInput {
	if in.Submission != nil {
		in.Submission = &Submission{ID: in.Submission.ID, By: in.Submission.By, IgnoreWindow: in.Submission.IgnoreWindow}
	}
	return in
}
