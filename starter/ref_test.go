package starter

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/contract"
)

func TestItemRef(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "group/scrub-1/job-00012", ItemRef{Run: RunRef{WorkflowID: "group/scrub-1"}, ID: "job-00012"}.String())
	assert.Equal(t, []Kind{KindDAG, KindGroup}, []Kind{RunRef{WorkflowID: "group/scrub-1/job-00001"}.Kind(), RunRef{WorkflowID: "group/scrub-1"}.Kind()}, "the DAG of a job is a run of its own")
}

func TestNameOfRun(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "maintain", NameOfRun("dag/maintain/7/scrub"))
	assert.Equal(t, "scrub", NameOfRun("group/scrub-2026-11-20T09:00:00Z/job-00012"))
	assert.Equal(t, "scrub", NameOfRun("group/scrub-2026-11-20T09:00:00Z/job-00012/inner"))
	assert.Equal(t, "scrub", NameOfRun("group/scrub-2026-11-20T09:00:00Z"))
	assert.Equal(t, "tidy", NameOfRun("group/tidy-adhoc-ticket-1/job-00001"))
	assert.Equal(t, "deep-scrub", NameOfRun(contract.AdHocWorkflowID("deep-scrub", "2026-11-20")))
}

func TestJobTypeOfRun(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "scrub", JobTypeOfRun("group/scrub-2026-11-20T09:00:00Z"))
	assert.Equal(t, "deep-scrub", JobTypeOfRun("group/deep-scrub-2026-11-20T09:00:00.123Z"))
	assert.Equal(t, "scrub", JobTypeOfRun(contract.DryRunWorkflowID("scrub", "x1")))
	assert.Equal(t, "scrub", JobTypeOfRun("group/scrub"))
}

// A run that ends between two requests is not reported as missing.
func TestARunThatEndedMeanwhileIsNotMissing(t *testing.T) {
	t.Parallel()
	ref := RunRef{WorkflowID: "group/a-2026-11-20T09:00:00Z"}
	err := runEndedMeanwhile(ref, serviceerror.NewNotFound("workflow execution already completed"))
	require.ErrorIs(t, err, ErrAlreadyEnded)
	assert.EqualError(t, err, "run group/a-2026-11-20T09:00:00Z has already ended")
	require.ErrorContains(t, runEndedMeanwhile(ref, serviceerror.NewUnavailable("away")), "away")
	require.NoError(t, runEndedMeanwhile(ref, nil))
}
