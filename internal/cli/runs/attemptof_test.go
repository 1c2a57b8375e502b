package runs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// TestAnOldAttemptsOutputIsNamed: the attempt that runs has no output yet.
func TestAnOldAttemptsOutputIsNamed(t *testing.T) {
	t.Parallel()
	detail := starter.ItemDetail{Item: starter.Item{State: contract.JobRunning}}
	detail.Attempts = []starter.Attempt{{Number: 1, EndedAt: time.Unix(1, 0)}, {Number: 2}}
	assert.Equal(t, " of attempt 1", attemptOf(detail))
	detail.Item.State, detail.Attempts[1].EndedAt = contract.JobCompleted, time.Unix(2, 0)
	assert.Empty(t, attemptOf(detail))
}
