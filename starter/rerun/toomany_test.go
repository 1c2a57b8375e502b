package rerun

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/retry"
	"github.com/roundsman/roundsman/starter"
)

// TestARetryOfTooManyJobsIsRefusedByTheirNumber.
func TestARetryOfTooManyJobsIsRefusedByTheirNumber(t *testing.T) {
	t.Parallel()
	run := starter.Snapshot{Result: &contract.JobGroupResult{Counts: contract.GroupCounts{Failed: 10, NotStarted: 900_000}}}
	run.JobType = "scrub"
	require.ErrorContains(t, tooMany(run, retry.Choice{}), "900010 jobs are more than the new run would hold: 65536, and 1 MiB of proposals; name some, or `roundsman start scrub` detects again")
	require.Error(t, tooMany(run, retry.Choice{Missed: true}))
	require.NoError(t, tooMany(run, retry.Choice{Failed: true}))
	require.NoError(t, tooMany(run, retry.Choice{Items: []string{"job-00001"}}))
}
