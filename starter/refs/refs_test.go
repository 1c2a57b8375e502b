package refs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/refs"
	"github.com/roundsman/roundsman/testsuite"
)

// TestReferencesOfRuns starts runs on a real server and finds each by every form.
func TestReferencesOfRuns(t *testing.T) {
	t.Parallel()
	c, err := starter.Dial(t.Context(), starter.Options{Address: testsuite.StartServer(t).Address(), HeartbeatInterval: -1})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	now := time.Now().UTC().Truncate(time.Minute)
	tick := func(ago time.Duration) string {
		return contract.GroupWorkflowID("scrub") + "-" + now.Add(-ago).Format(time.RFC3339)
	}
	bad, last, adHoc, dag := tick(2*time.Hour), tick(time.Hour), contract.AdHocWorkflowID("scrub", "ticket-47"), contract.DAGWorkflowID("nightly", "december")
	for _, id := range []string{bad, last, adHoc, dag} {
		begin(t, c, id)
		if id == bad || id == last {
			require.NoError(t, c.Temporal().TerminateWorkflow(t.Context(), id, "", "test"))
		}
	}
	find := refs.Of(c)
	testsuite.WaitFor(t, 20*time.Second, "visibility lists the runs", func() bool {
		runs, err := c.Runs().List(t.Context(), starter.RunFilter{JobType: "scrub"})
		require.NoError(t, err)
		open := 0
		for _, run := range runs {
			if run.Open() {
				open++
			}
		}
		found, dagErr := find.Run(t.Context(), "nightly")
		return len(runs) == 3 && open == 1 && dagErr == nil && found.WorkflowID == dag
	})
	short := func(ago time.Duration) string { return now.Add(-ago).Format("0102T1504Z") }
	for text, want := range map[string]string{
		"scrub": adHoc, "scrub@": adHoc, "scrub@open": adHoc, "scrub@last": last, "scrub@bad": last,
		"scrub@" + short(2*time.Hour): bad, "scrub@" + now.Add(-time.Hour).Format(time.RFC3339): last,
		"scrub@ticket-47": adHoc, "scrub@tick": adHoc, "scrub-adhoc-ticket-47": adHoc,
		bad: bad, bad[len("group/"):]: bad, "jobtype/scrub": adHoc,
		"nightly@": dag, "nightly@december": dag, "nightly@dec": dag, "nightly/december": dag, "dag/nightly": dag, dag: dag,
	} {
		found, err := find.Run(t.Context(), text)
		require.NoError(t, err, text)
		assert.Equal(t, want, found.WorkflowID, text)
	}
	for text, want := range map[string]starter.ItemRef{
		"scrub/12":      {Run: starter.RunRef{WorkflowID: adHoc}, ID: "job-00012"},
		"scrub@last/3":  {Run: starter.RunRef{WorkflowID: last}, ID: "job-00003"},
		last + "/12":    {Run: starter.RunRef{WorkflowID: last}, ID: "job-00012"},
		"nightly/load":  {Run: starter.RunRef{WorkflowID: dag}, ID: "load"},
		dag + "/load.7": {Run: starter.RunRef{WorkflowID: dag}, ID: "load.7"},
		// The dag/ is left out, and december is the run.
		"nightly/december/load": {Run: starter.RunRef{WorkflowID: dag}, ID: "load"},
	} {
		found, err := find.Item(t.Context(), text)
		require.NoError(t, err, text)
		assert.Equal(t, want, found, text)
	}
	for text, want := range map[string]string{
		"nightly@last": "the newest run is nightly@december", "nightly@bad": "no run that is kept failed; the newest run is nightly@december", "scrub@nothing": "run scrub@nothing does not exist", "scrub@0001": "run scrub@0001 does not exist",
		"no-such-thing": "job type no-such-thing does not exist", "dag/nothing": "run of DAG nothing does not exist",
	} {
		_, err := find.Run(t.Context(), text)
		require.ErrorIs(t, err, starter.ErrNotFound, text)
		assert.ErrorContains(t, err, want, text)
	}

	find.Strict = true
	second := contract.AdHocWorkflowID("scrub", "ticket-48")
	begin(t, c, second)
	testsuite.WaitFor(t, 20*time.Second, "a change of one of two open runs is refused with their ids", func() bool {
		_, err := find.Run(t.Context(), "scrub@")
		return err != nil
	})
	for _, text := range []string{"scrub@", "scrub@ticket-4"} {
		_, err := find.Run(t.Context(), text)
		require.ErrorAs(t, err, new(*starter.InvalidError), text)
		assert.ErrorContains(t, err, "\n  "+second, text)
		assert.ErrorContains(t, err, "\n  "+adHoc, text)
	}
	for _, wrong := range []string{"", "worker/node-a", "scrub:key", "A B"} {
		_, err := find.Run(t.Context(), wrong)
		require.ErrorAs(t, err, new(*starter.InvalidError), wrong)
	}
}

// begin starts a run without a worker.
func begin(t *testing.T, c *starter.Client, id string) {
	t.Helper()
	options := client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}
	kind := contract.DAGWorkflow
	if _, _, isDAG := contract.DAGOfWorkflow(id); !isDAG {
		kind = contract.JobGroupWorkflow
		options.TypedSearchAttributes = temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword(contract.SearchAttributeJobType).ValueSet(starter.JobTypeOfRun(id)))
	}
	_, err := c.Temporal().ExecuteWorkflow(t.Context(), options, kind)
	require.NoError(t, err)
}
