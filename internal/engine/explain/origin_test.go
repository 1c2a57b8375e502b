package explain_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

func TestTextOrigin(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "its schedule", explain.TextOrigin(contract.OriginSchedule, "", ""))
	assert.Equal(t, "ann (cli)", explain.TextOrigin(contract.OriginOperator, "ann", "cli"))
	assert.Equal(t, "a backfill by ann (console)", explain.TextOrigin(contract.OriginBackfill, "ann", "console"))
	assert.Equal(t, "its first apply by ann", explain.TextOrigin(contract.OriginApply, "ann", ""))
	assert.Equal(t, "a submission", explain.TextOrigin(contract.OriginSubmission, "", "api"))
	assert.Equal(t, "a retry by ann (api)", explain.TextOrigin(contract.OriginRetry, "ann", "api"))
	assert.Equal(t, "not known", explain.TextOrigin(contract.OriginUnknown, "", ""))
}
