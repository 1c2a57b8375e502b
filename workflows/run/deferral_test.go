package run_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/activities/jobs"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/workflows/run"
)

// TestADeferralReachesTheEngine: as an activity's failure, and as an outcome delivered by the
// worker.
func TestADeferralReachesTheEngine(t *testing.T) {
	t.Parallel()
	for _, kind := range []contract.FailureKind{contract.FailureDeferred, contract.FailureGuard} {
		state := contract.ExecuteState{Failure: kind, Message: "not now", Worker: "a", Instance: "i1", Delay: jobtype.Duration(5 * time.Minute)}
		failed, delivered := run.EndingOfError(jobs.FailureOf(state), "a"), run.EndingOf(state, false)
		assert.Equal(t, kind, failed.Failure)
		assert.Equal(t, 5*time.Minute, failed.Delay)
		assert.Equal(t, "not now", failed.Message)
		assert.Equal(t, delivered.Delay, failed.Delay)
		assert.True(t, failed.Reported())
	}
}
