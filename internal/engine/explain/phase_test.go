package explain_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

func TestPhasesHaveTexts(t *testing.T) {
	t.Parallel()
	phases := []contract.GroupPhase{
		{Phase: "preparing"},
		{Phase: "waiting", Code: "WINDOW_CLOSED_UNTIL"},
		{Phase: "waiting", Code: "LANE_BUSY"},
		{Phase: "waiting", Code: "NO_WORKER"},
		{Phase: "waiting", Code: "NOT_BEFORE"},
		{Phase: "waiting", Code: "PAUSED"},
		{Phase: "detecting"},
		{Phase: "claiming"},
		{Phase: "dispatching"},
		{Phase: "ended"},
	}
	explain.Phases(phases)
	texts := make([]string, len(phases))
	for i, phase := range phases {
		texts[i] = phase.Text
	}
	assert.Equal(t, []string{
		"looking up workers", "waiting for its window", "waiting for its turn in the lane", "waiting for a worker", "waiting for not_before", "paused",
		"detecting", "claiming keys", "running jobs", "ended",
	}, texts)
}
