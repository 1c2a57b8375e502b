package group

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// TestJobsHaveATimeOfCreationAndOfTheLastChange: pending, running and ended ones, before
// and after a continue-as-new, and in the record.
func TestJobsHaveATimeOfCreationAndOfTheLastChange(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{MaxJobsPerDetection: 10, GlobalExecutionConcurrency: 1, PerWorkerExecutionConcurrency: 1}
	s := play(t, policy, nodes(node("a", 1)), jobtype.Proposal{DedupeKey: "one"}, jobtype.Proposal{DedupeKey: "two"}, jobtype.Proposal{DedupeKey: "three"})
	created := s.now
	s.now = s.now.Add(time.Minute)
	s.ran(run.Ended{Item: 1, Attempt: 1, Ending: run.Ending{Duration: time.Second}})
	listed, err := s.g.Jobs(contract.JobsQueryInput{}, s.now)
	require.NoError(t, err)
	require.Len(t, listed.Jobs, 3)
	for i, modified := range []time.Duration{time.Minute, time.Minute, 0} {
		job := listed.Jobs[i]
		assert.Equal(t, created, job.CreatedAt, job.JobID)
		assert.Equal(t, modified, job.ModifiedAt.Sub(created), job.JobID)
	}
	assert.Equal(t, s.now, s.g.Status(s.now).ModifiedAt)
	ended, err := record.Read(s.g.jobs.Record.Rest())
	require.NoError(t, err)
	require.Len(t, ended, 1)
	assert.Equal(t, created.UTC(), ended[0].CreatedAt)
	state, err := s.g.Snapshot()
	require.NoError(t, err)
	back, err := Restore(state, s.now)
	require.NoError(t, err)
	page, err := back.Jobs(contract.JobsQueryInput{JobID: contract.JobID(3)}, s.now)
	require.NoError(t, err)
	assert.True(t, created.Equal(page.Jobs[0].CreatedAt))
	assert.True(t, s.now.Equal(back.Status(s.now).ModifiedAt))
}
