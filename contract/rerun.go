package contract

// MemoResumes is the memo with the workflow id of the run that a run resumes.
const MemoResumes = "roundsman_resumes"

// RetryPrefix begins the submission id of a retry.
const RetryPrefix = "retry-"

// KeptReason is the reason why a retry does not execute a job again.
type KeptReason string

// The reasons.
const (
	// KeptDone: the job was done.
	KeptDone KeptReason = "done"
	// KeptRetried: an earlier retry of the run did it.
	KeptRetried KeptReason = "done_by_retry"
	// KeptNotChosen: the retry does not choose its state.
	KeptNotChosen KeptReason = "not_chosen"
	// KeptClaimed: another open run has the key.
	KeptClaimed KeptReason = "claimed"
	// KeptHeldBack: the retry budget holds the key or its job type back.
	KeptHeldBack KeptReason = "held_back"
	// KeptMarkedDone: an operator marked the key as done.
	KeptMarkedDone KeptReason = "marked_done"
	// KeptNoProposal: the run did not keep its proposal.
	KeptNoProposal KeptReason = "no_proposal"
	// KeptOverLimit: one run does not take so many proposals.
	KeptOverLimit KeptReason = "over_limit"
)

// Chosen reports whether the retry chose the job.
func (r KeptReason) Chosen() bool { return r != KeptNotChosen }
