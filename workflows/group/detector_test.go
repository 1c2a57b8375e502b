package group_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TestADetectorThatFailedIsAvoidedByTheNextRun: a detection prefers its last worker, but not after a failure
// there if other workers are healthy.
func TestADetectorThatFailedIsAvoidedByTheNextRun(t *testing.T) {
	t.Parallel()
	var last contract.JobGroupResult
	var asked []string
	for range 3 {
		b := newBench(t)
		b.workers = append(b.workers, worker("node-b", 4))
		b.found = proposals(1)
		b.detect = func(contract.DetectActivityInput) error { return nil }
		sick := last.Record.Sequence == 0
		if sick {
			b.detect = func(contract.DetectActivityInput) error { return errors.New("no space left on device") }
		}
		b.SetLastCompletionResult(last)
		last = b.run(jobtype.Policy{})
		asked = append(asked, last.Detector)
		assert.Equal(t, sick, last.Record.AvoidDetector == last.Detector, "it is avoided until one succeeds")
		assert.Equal(t, sick, last.Outcome == contract.OutcomeFailed)
	}
	assert.NotEqual(t, asked[0], asked[1])
	assert.Equal(t, asked[1], asked[2], "and sticks to the one that is well")
}
