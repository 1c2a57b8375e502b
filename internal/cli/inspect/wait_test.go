package inspect

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

func TestAWaitWithoutAnObjectHasNoParentheses(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "GUARD of group/a/job-00001", waitText(explain.Reason{Code: contract.CodeGuard, Of: "group/a/job-00001"}, "group/a"))
	assert.Equal(t, "POOL_FULL(db) of group/a", waitText(explain.Reason{Code: contract.CodePoolFull, Object: "db"}, "group/a"))
}
