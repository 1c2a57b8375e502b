package contract_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
)

func TestNamesThatLookLikeRunsOfOthers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x-adhoc-y", "x-detect-y", "x-adhoc", "x-detect", "a-detect-b-adhoc-c", "X"} {
		assert.Error(t, contract.ValidateJobTypeName(name), name)
	}
	for _, name := range []string{"x", "adhoc", "adhoc-x", "x-adhocs", "x_adhoc_y", "detect-x"} {
		assert.NoError(t, contract.ValidateJobTypeName(name), name)
	}
}

// The id of a submission or a dry run names the job type, for any name that a caller chose.
func TestIDsOfGroupsNameTheirJobType(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "b-", "-adhoc-", "-detect-", "2026-01-01t00", "adhoc", "-"})
		text := func(label string) (made string) {
			for _, each := range rapid.SliceOfN(part, 1, 5).Draw(t, label) {
				made += each
			}
			return made
		}
		name, chosen := text("name"), text("chosen")
		if contract.ValidateJobTypeName(name) != nil {
			return
		}
		found, submission, ok := contract.AdHocOf(contract.AdHocWorkflowID(name, chosen))
		assert.True(t, ok)
		assert.Equal(t, []string{name, chosen}, []string{found, submission})
		found, unique, ok := contract.DryRunOf(contract.DryRunWorkflowID(name, chosen))
		assert.True(t, ok)
		assert.Equal(t, []string{name, chosen}, []string{found, unique})
	})
}

// TestASubmissionWithoutItsProposals: the other fields travel to the next workflow run.
func TestASubmissionWithoutItsProposals(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	in := contract.JobGroupInput{Submission: &contract.Submission{ID: "x", ScheduledAt: at, Pages: []contract.ProposalPage{{Page: "p"}}}}
	assert.True(t, in.Submission.Paged())
	next := in.WithoutProposals().Submission
	assert.False(t, next.Paged())
	assert.Equal(t, at, next.ScheduledAt)
}
