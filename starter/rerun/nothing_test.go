package rerun

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/starter"
)

// TestARunWithoutJobsHasNothingToRetry: a run whose detection failed has done nothing.
func TestARunWithoutJobsHasNothingToRetry(t *testing.T) {
	t.Parallel()
	of := starter.RunRef{WorkflowID: "group/scrub-2026-11-20T09:00:00Z"}
	assert.ErrorContains(t, nothing(of, Plan{JobType: "scrub"}), "it has no jobs; to detect again: `roundsman start scrub`")
	assert.ErrorContains(t, nothing(of, Plan{JobType: "scrub", Done: 3}), "all of its jobs were done")
}
