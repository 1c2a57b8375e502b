package inspect

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter"
)

func TestAWaitWithoutAnObjectHasNoParentheses(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "GUARD of group/a/job-00001", waitText(explain.Reason{Code: contract.CodeGuard, Of: "group/a/job-00001"}, "group/a"))
	assert.Equal(t, "POOL_FULL(db) of group/a", waitText(explain.Reason{Code: contract.CodePoolFull, Object: "db"}, "group/a"))
}

// TestAHeldRunIsNotDone: its failed and blocked tasks have ended.
func TestAHeldRunIsNotDone(t *testing.T) {
	t.Parallel()
	held := starter.Snapshot{Phase: contract.PhaseHeld, Run: starter.Run{Progress: &starter.Progress{Total: 11, Ended: 11, Failed: 2}}}
	assert.Equal(t, "held: 11 of 11 ended, 0 running, 2 failed", countsText(held))
}
