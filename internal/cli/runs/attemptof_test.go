package runs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// TestAnOldAttemptsOutputIsNamed: the attempt that runs has no output yet.
func TestAnOldAttemptsOutputIsNamed(t *testing.T) {
	t.Parallel()
	detail := starter.ItemDetail{Item: starter.Item{State: contract.JobRunning}}
	assert.Equal(t, " of an earlier attempt", attemptOf(detail))
	detail.Item.State = contract.JobCompleted
	assert.Empty(t, attemptOf(detail))
}
