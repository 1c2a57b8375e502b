package dev

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

func TestRunsWithWarningsHaveAnExitCodeOfTheirOwn(t *testing.T) {
	t.Parallel()
	report := func(outcome contract.Outcome, counts contract.GroupCounts) GroupReport {
		return reportOf(starter.Snapshot{Result: &contract.JobGroupResult{Outcome: outcome, Counts: counts}})
	}
	clean, odd := report(contract.OutcomeCompleted, contract.GroupCounts{Completed: 1}), report(contract.OutcomeCompleted, contract.GroupCounts{Completed: 1, Warning: 2})
	bad := report(contract.OutcomePartial, contract.GroupCounts{Failed: 1})
	assert.Equal(t, 2, odd.Warning)
	assert.Equal(t, ui.ExitOK, exitOf([]GroupReport{clean}))
	assert.Equal(t, ui.ExitWarning, exitOf([]GroupReport{odd, clean}))
	assert.Equal(t, ui.ExitFailed, exitOf([]GroupReport{odd, bad, clean}))
	assert.Equal(t, ui.ExitFailed, exitOf([]GroupReport{bad, odd}))
}
