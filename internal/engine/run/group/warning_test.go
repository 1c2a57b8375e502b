package group

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

func TestAJobWithAWarningIsDoneAndCountedApart(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{RetryLimit: 2}), []Worker{node("a", 2)}, jobtype.Proposal{DedupeKey: "x"}, jobtype.Proposal{DedupeKey: "y"})
	s.endWith(1, run.Ending{Warning: "borg exited with status 1"})
	job := s.job(1)
	assert.Equal(t, contract.JobWarning, job.State)
	assert.Equal(t, "borg exited with status 1", job.Error)
	s.roll()
	assert.Equal(t, contract.JobWarning, s.job(1).State, "the record of ended jobs keeps it")
	s.end(2, FailureNone)
	outcome, reason := s.outcome()
	assert.Equal(t, OutcomeCompleted, outcome)
	assert.Empty(t, reason)
	counts := s.g.Counts()
	assert.Equal(t, 1, counts.Completed)
	assert.Equal(t, 1, counts.Warning)
	assert.Equal(t, counts.Accepted, counts.Ended())
	assert.Zero(t, counts.Retries)
	assert.Contains(t, counts.String(), "1 completed, 1 with a warning")
	only, err := s.g.Jobs(contract.JobsQueryInput{States: []string{contract.JobWarning}}, s.now)
	assert.NoError(t, err)
	assert.Equal(t, 1, only.Total)
}

func TestWarningsAndFailuresArePartial(t *testing.T) {
	t.Parallel()
	s := play(t, wide(jobtype.Policy{}), []Worker{node("a", 2)}, make([]jobtype.Proposal, 2)...)
	s.endWith(1, run.Ending{Warning: "careful"})
	s.endWith(2, run.Ending{Failure: contract.FailurePermanent, Message: "no"})
	outcome, _ := s.outcome()
	assert.Equal(t, OutcomePartial, outcome)
}
