package jobtypes

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
)

// An interrupted or failed detection does not prove that there is nothing to do.
func TestOnlyACompletedDetectionHasNothingToDo(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[contract.Outcome]string{
		contract.OutcomeCompleted: "nothing to do\ncompleted: 0 found\n- 8 volumes without garbage\n",
		contract.OutcomeCanceled:  "canceled: 0 found: the operator no longer waits\n",
		contract.OutcomeFailed:    "failed: 0 found: the operator no longer waits\n",
	} {
		var out bytes.Buffer
		c := &commands{&ui.Program{Env: ui.Env{Stdout: &out}}}
		result := contract.JobGroupResult{Outcome: outcome}
		if outcome == contract.OutcomeCompleted {
			result.Explanations = []string{"8 volumes without garbage"}
		} else {
			result.Reason = "the operator no longer waits"
		}
		c.printProposals(result)
		assert.Equal(t, want, out.String())
	}
}
