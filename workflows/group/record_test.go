package group_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TestTheRecordKnowsTheLastRunWithJobs: empty runs are successes, but a detection also gets the due time of the
// last run with jobs. This is its tick and not its end.
func TestTheRecordKnowsTheLastRunWithJobs(t *testing.T) {
	t.Parallel()
	tick := temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime")
	first := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	var last contract.JobGroupResult
	var given []time.Time
	for i, found := range []int{0, 2, 0, 0} {
		b := newBench(t)
		b.found = proposals(found)
		b.detect = func(in contract.DetectActivityInput) error {
			given = append(given, in.Input.LastWithJobs)
			return nil
		}
		assert.NoError(t, b.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(tick.ValueSet(first.Add(time.Duration(i)*time.Hour)))))
		b.SetLastCompletionResult(last)
		last = b.run(jobtype.Policy{})
		assert.Equal(t, last.EndedAt, last.Record.LastSuccess, "empty or not")
	}
	assert.Equal(t, []time.Time{{}, {}, first.Add(time.Hour), first.Add(time.Hour)}, given)
}
