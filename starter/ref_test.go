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
	for _, written := range []string{"group/scrub-2026-11-20T09:00:00Z/job-00012", "scrub-2026-11-20T09:00:00Z/job-00012"} {
		ref, err := ParseItemRef(written)
		require.NoError(t, err)
		assert.Equal(t, "group/scrub-2026-11-20T09:00:00Z", ref.Run.WorkflowID)
		assert.Equal(t, "job-00012", ref.ID)
		assert.Equal(t, "group/scrub-2026-11-20T09:00:00Z/job-00012", ref.String())
	}
	task, err := ParseItemRef("dag/nightly/x/load.7")
	require.NoError(t, err)
	assert.Equal(t, ItemRef{Run: RunRef{WorkflowID: "dag/nightly/x"}, ID: "load.7"}, task)
	inner, err := ParseItemRef("group/scrub-1/job-00001/ok")
	require.NoError(t, err)
	assert.Equal(t, ItemRef{Run: RunRef{WorkflowID: "group/scrub-1/job-00001"}, ID: "ok"}, inner)
	assert.Equal(t, []Kind{KindDAG, KindGroup}, []Kind{inner.Run.Kind(), RunRef{WorkflowID: "group/scrub-1"}.Kind()}, "the DAG of a job is a run of its own")
	for _, wrong := range []string{"", "job-00012", "/job-00012", "group/job-00012", "group/scrub", "group/scrub/job-", "group/scrub/12", "dag/nightly/x", "nightly/x"} {
		_, err := ParseItemRef(wrong)
		require.Error(t, err, wrong)
	}
}

func TestJobTypeOfRun(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "scrub", JobTypeOfRun("group/scrub-2026-11-20T09:00:00Z"))
	assert.Equal(t, "deep-scrub", JobTypeOfRun("group/deep-scrub-2026-11-20T09:00:00.123Z"))
	assert.Equal(t, "scrub", JobTypeOfRun(contract.DryRunWorkflowID("scrub", "x1")))
	assert.Equal(t, "scrub", JobTypeOfRun("group/scrub"))
}

// A run that ends between two requests is not one that never was.
func TestARunThatEndedMeanwhileIsNotMissing(t *testing.T) {
	t.Parallel()
	ref := RunRef{WorkflowID: "group/a-2026-11-20T09:00:00Z"}
	err := runEndedMeanwhile(ref, serviceerror.NewNotFound("workflow execution already completed"))
	require.ErrorIs(t, err, ErrAlreadyEnded)
	assert.EqualError(t, err, "run group/a-2026-11-20T09:00:00Z has already ended")
	require.ErrorContains(t, runEndedMeanwhile(ref, serviceerror.NewUnavailable("away")), "away")
	require.NoError(t, runEndedMeanwhile(ref, nil))
}
