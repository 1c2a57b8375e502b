package explain

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

// TestTheReasonsOfARunHaveTrueCounts: a run has one entry for each wait of its jobs, and the number of jobs.
func TestTheReasonsOfARunHaveTrueCounts(t *testing.T) {
	t.Parallel()
	pending := func(job string, n int, code contract.Code, object string) ItemFacts {
		return ItemFacts{ID: job, State: contract.JobPending, More: n - 1, Waits: []contract.WaitReason{{Code: string(code), Object: object, Since: since}}}
	}
	f := Facts{Now: now, Run: &RunFacts{
		ID: "group/scrub-1", Open: true, JobType: "scrub", Answer: &RunAnswer{Phase: "dispatching", Running: 1},
		Pending: []ItemFacts{pending("job-00001", 900_000, contract.CodeBacklog, "scrub"), pending("job-00002", 20_000, contract.CodeNoWorker, "h"), pending("job-00003", 1, contract.CodeBackoff, ""), pending("job-00004", 5, contract.CodeNoWorker, "h")},
	}}
	reasons := Why(f)
	require.Len(t, reasons, 2, "a backlog is no delay while jobs run")
	assert.Equal(t, contract.CodeNoWorker, reasons[0].Code)
	assert.Equal(t, "group/scrub-1/job-00002", reasons[0].Of)
	assert.Contains(t, reasons[0].Detail, "(and 20004 more wait for it)")
	assert.NotContains(t, reasons[1].Detail, "more wait for it")

	f.Run.Answer, f.Run.Pending = &RunAnswer{Phase: "dispatching", Waits: []contract.WaitReason{{Code: string(contract.CodePaused)}}}, []ItemFacts{pending("", 1_000_000, contract.CodePaused, "")}
	reasons = Why(f)
	require.Len(t, reasons, 1)
	assert.Contains(t, reasons[0].Detail, "(and 1000000 more wait for it)", "all jobs of a paused run")
}
