package explainer

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

func TestRemediesOfJobs(t *testing.T) {
	t.Parallel()
	const again = "`roundsman start scrub`; see `roundsman show group/scrub-2026-11-20T09:00:00Z/job-00001`"
	for state, want := range map[string]string{
		contract.JobFailed:     "repair it, then " + again,
		contract.JobStale:      "wait, or " + again,
		contract.JobExpired:    "wait, or " + again,
		contract.JobNotStarted: "wait, or " + again,
	} {
		item := starter.Item{Run: starter.RunRef{WorkflowID: "group/scrub-2026-11-20T09:00:00Z"}, ID: "job-00001", Kind: starter.KindJob, State: state}
		assert.Equal(t, want, endedItem(item, "scrub").Remedy, state)
	}
}
