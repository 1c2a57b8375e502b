package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

func submitted(t *testing.T, claims bool, found ...jobtype.Proposal) *script {
	t.Helper()
	s := &script{t: t, now: epoch}
	s.g = New(Config{JobType: "jt", Handler: "h", Policy: wide(jobtype.Policy{MaxJobsPerDetection: 3}).WithDefaults(), Claims: claims, Submitted: true}, s.now)
	s.step(Submitted{Proposals: found})
	return s
}

func TestSubmittedJobsNeedNoDetection(t *testing.T) {
	t.Parallel()
	s := submitted(t, false, jobtype.Proposal{Priority: jobtype.PriorityLow}, jobtype.Proposal{DedupeKey: "k"}, jobtype.Proposal{DedupeKey: "k"})
	s.step(WorkersChanged{Workers: []Worker{node("a", 4)}})
	assert.Equal(t, []string{"2@a", "1@a"}, started(s.last))
	for _, d := range s.all {
		_, detects := d.(StartDetection)
		assert.False(t, detects)
	}
	s.end(1, FailureNone)
	s.end(2, FailureNone)
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome)
	assert.Equal(t, Counts{Detected: 3, Accepted: 2, Duplicates: 1, Completed: 2}, s.g.Counts())
}

func TestSubmittedJobThatOthersAreAtIsSkipped(t *testing.T) {
	t.Parallel()
	s := submitted(t, true, jobtype.Proposal{DedupeKey: "k"})
	require.Equal(t, []Decision{ClaimKeys{}}, s.last)
	s.step(KeysClaimed{Active: []int{1}, By: []string{"group/other"}, Fence: 1, Fences: 1})
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeSkipped, outcome)
	assert.Equal(t, `DEDUPED: "k" is active in group/other`, reason)
}

func TestSubmissionIsPartialWhereSomeAreTaken(t *testing.T) {
	t.Parallel()
	s := submitted(t, true, jobtype.Proposal{DedupeKey: "k"}, jobtype.Proposal{DedupeKey: "l"}, jobtype.Proposal{DedupeKey: "m"}, jobtype.Proposal{DedupeKey: "n"})
	s.step(KeysClaimed{Active: []int{2}, By: []string{"group/other"}, Fence: 1, Fences: 100})
	s.step(WorkersChanged{Workers: []Worker{node("a", 4)}})
	s.end(1, FailureNone)
	s.end(2, FailureNone)
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
	assert.Equal(t, "1 already active, 1 over the limit", reason)
}

func TestSubmissionWithoutWorkersTimesOut(t *testing.T) {
	t.Parallel()
	s := submitted(t, false, jobtype.Proposal{})
	s.wait(40 * time.Minute)
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeTimeout, outcome)
	assert.Equal(t, "max_runtime of 30m is over", reason, "nobody was to detect")
	assert.Equal(t, 1, s.g.Counts().NotStarted)
}

func TestSubmissionIsCanceledBeforeItsKeysAreClaimed(t *testing.T) {
	t.Parallel()
	s := submitted(t, true, jobtype.Proposal{DedupeKey: "k"})
	s.step(GroupCanceled{})
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomeCanceled, outcome)
	assert.Equal(t, Counts{Detected: 1, Accepted: 1, Canceled: 1}, s.g.Counts())
}
