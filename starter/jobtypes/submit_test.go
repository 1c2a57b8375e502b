package jobtypes_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/starter/refs"
	"github.com/roundsman/roundsman/testsuite"
)

func TestSubmit(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	apply(t, c, map[string]bool{"tidy": false}, applied("tidy"))
	known, err := jobtypes.Of(c).Get(t.Context(), "tidy")
	require.NoError(t, err)
	require.True(t, known.Paused)

	for _, id := range []string{"open", "last", "bad", "1120T0900Z"} {
		reserved := contract.Submission{ID: id, By: "tester", Proposals: []jobtype.Proposal{{Summary: "one"}}}
		require.ErrorContains(t, jobtypes.CheckSubmission(known, reserved), "means another run", id)
	}
	work := contract.Submission{ID: "ticket-1", By: "tester", Proposals: []jobtype.Proposal{{Summary: "one"}, {DedupeKey: "k", NotBefore: time.Now().Add(time.Minute)}}}
	first, err := jobtypes.Of(c).Submit(t.Context(), known, work)
	require.NoError(t, err, "a paused job type takes jobs")
	assert.Equal(t, "group/tidy-adhoc-ticket-1", first.WorkflowID)
	assert.Equal(t, 2, first.Jobs)
	assert.False(t, first.Already)

	work.Proposals[1].NotBefore = time.Now().Add(2 * time.Minute)
	again, err := jobtypes.Of(c).Submit(t.Context(), known, work)
	require.NoError(t, err, "when is no part of what is submitted")
	assert.True(t, again.Already)
	assert.Empty(t, again.RunID)

	work.Proposals[0].Summary = "another"
	_, err = jobtypes.Of(c).Submit(t.Context(), known, work)
	var wrong *jobtypes.SubmissionError
	require.ErrorAs(t, err, &wrong)
	assert.Contains(t, err.Error(), "something else was submitted under it")

	testsuite.WaitFor(t, 20*time.Second, "the list shows it", func() bool {
		runs, err := c.Runs().List(t.Context(), starter.RunFilter{JobType: "tidy"})
		require.NoError(t, err)
		return len(runs) == 1 && runs[0].AdHoc == "ticket-1" && !runs[0].DryRun
	})
	ref, err := refs.Of(c).Run(t.Context(), "tidy-adhoc-ticket-1")
	require.NoError(t, err)
	assert.Equal(t, first.WorkflowID, ref.WorkflowID)
	ended := "still ended: a closed one is not started again"
	require.NoError(t, c.Temporal().TerminateWorkflow(t.Context(), first.WorkflowID, "", ended))
	work.Proposals[0].Summary = "one"
	again, err = jobtypes.Of(c).Submit(t.Context(), known, work)
	require.NoError(t, err)
	assert.True(t, again.Already, ended)
}

// Proposals that the group would drop never start a group.
func TestSubmitRefusesEverythingAtOnce(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	spec := contract.JobTypeSpec{Name: "never-applied", Policy: jobtype.Policy{MaxJobsPerDetection: 2}.WithDefaults()}
	known := jobtypes.JobType{Name: spec.Name, Spec: spec}
	_, err := jobtypes.Of(c).Submit(t.Context(), known, contract.Submission{ID: "not an id", Proposals: []jobtype.Proposal{
		{Priority: "urgent"},
		{NotBefore: time.Now().Add(time.Hour)},
		{ExpiresAt: time.Now().Add(-time.Hour)},
		{Detail: strings.Repeat("x", 5000)},
		{NotBefore: time.Now().Add(400 * 24 * time.Hour)},
	}})
	var wrong *jobtypes.SubmissionError
	require.ErrorAs(t, err, &wrong)
	for _, part := range []string{
		`id "not an id"`, "it has 5 proposals, max_jobs_per_detection of never-applied is 2", `proposal 1: proposal refused: priority "urgent"`,
		"proposal 2: not_before", "than max_runtime of never-applied (30m)", "proposal 5: not_before", "more than a year away", "proposal 3: expires_at", "proposal 4: proposal refused: encoded it has",
	} {
		assert.Contains(t, err.Error(), part)
	}
	_, err = jobtypes.Of(c).Submit(t.Context(), known, contract.Submission{ID: "x"})
	require.ErrorContains(t, err, "there is no proposal in it")

	known.Spec.Policy.MaxJobsPerDetection = 1000
	_, err = jobtypes.Of(c).Submit(t.Context(), known, contract.Submission{ID: "x", Proposals: make([]jobtype.Proposal, 400)})
	require.NoError(t, err)
	large := make([]jobtype.Proposal, 400)
	for i := range large {
		large[i].Detail, large[i].Exclusive = strings.Repeat("x", 3900), []string{"disk"} // The group's input has them.
	}
	_, err = jobtypes.Of(c).Submit(t.Context(), known, contract.Submission{ID: "y", Proposals: large})
	require.ErrorContains(t, err, "submit it in parts")

	known.Fault = "its spec cannot be read: run apply to repair it"
	_, err = jobtypes.Of(c).Submit(t.Context(), known, contract.Submission{ID: "z", Proposals: make([]jobtype.Proposal, 1)})
	require.ErrorContains(t, err, "run apply to repair it")
}

func TestAdHocNames(t *testing.T) {
	t.Parallel()
	id := contract.AdHocWorkflowID("deep-scrub", "20261120t090000-0a1b2c3d")
	name, submission, ok := contract.AdHocOf(id)
	assert.True(t, ok)
	assert.Equal(t, "deep-scrub", name)
	assert.Equal(t, "20261120t090000-0a1b2c3d", submission)
	assert.Equal(t, "deep-scrub", starter.JobTypeOfRun(id))
	assert.Equal(t, "scrub", starter.JobTypeOfRun("group/scrub-adhoc-2026-11-20T09Z"))
	for _, other := range []string{"group/scrub-2026-11-20T09:00:00Z", "group/x-adhoc-y-2026-11-20T09:00:00Z", "dag/a-adhoc-b"} {
		_, _, ok := contract.AdHocOf(other)
		assert.False(t, ok, other)
	}
	assert.Equal(t, "x-adhoc-y", starter.JobTypeOfRun("group/x-adhoc-y-2026-11-20T09:00:00Z"))
}

// Of many equal submissions at the same time, one starts the run and the others return Already.
func TestSubmitAtOnce(t *testing.T) {
	t.Parallel()
	c := ownServer(t)
	known := jobtypes.JobType{Name: "rushed", Spec: contract.JobTypeSpec{Name: "rushed", Policy: jobtype.DefaultPolicy()}}
	var group errgroup.Group
	var already atomic.Int64
	for range 8 {
		group.Go(func() error {
			submitted, err := jobtypes.Of(c).Submit(t.Context(), known, contract.Submission{ID: "once", Proposals: []jobtype.Proposal{{Summary: "one"}}})
			if submitted.Already {
				already.Add(1)
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	assert.EqualValues(t, 7, already.Load())
}
