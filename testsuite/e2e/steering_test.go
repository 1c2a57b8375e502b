package e2e

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestTheLastWordCounts: of several requests to a group and to a DAG run without a control plane, the last one
// holds.
func TestTheLastWordCounts(t *testing.T) {
	t.Parallel()
	server := testsuite.StartServer(t)
	dialed, err := starter.Dial(t.Context(), starter.Options{Address: server.Address()})
	require.NoError(t, err)
	t.Cleanup(dialed.Close)
	_, err = dialed.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "group/flood-steered", TaskQueue: contract.ControlQueue},
		contract.JobGroupWorkflow, contract.JobGroupInput{Spec: floodSpec("flood", 3, 0, jobtype.Policy{})}, []byte(nil))
	require.NoError(t, err)
	dag := runDAG(t, dialed, compileDAG(t, "version: 1\nname: steered\ntasks:\n  - {id: gate, approval: {timeout: 5m}}\n", fstest.MapFS{}), starter.DAGOptions{})
	runs := []string{"group/flood-steered", dag.WorkflowID}
	for _, id := range runs {
		for _, note := range []string{"one", "two"} {
			require.NoError(t, dialed.Temporal().SignalWorkflow(t.Context(), id, "", contract.SignalResume, nil))
			require.NoError(t, dialed.Temporal().SignalWorkflow(t.Context(), id, "", contract.SignalPause, contract.PauseInput{Note: note}))
		}
	}

	control, err := app.StartControl(t.Context(), app.ControlOptions{Client: dialed, Logger: testsuite.Quiet()})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		require.NoError(t, control.Stop(ctx))
	})
	for _, id := range runs {
		var status struct {
			Phase     string `json:"phase"`
			Paused    bool   `json:"paused"`
			PauseNote string `json:"pause_note"`
		}
		testsuite.WaitFor(t, time.Minute, id+" has read what was said", func() bool {
			value, err := dialed.Temporal().QueryWorkflow(t.Context(), id, "", contract.QueryStatus)
			return err == nil && value.Get(&status) == nil && status.PauseNote != ""
		})
		assert.True(t, status.Paused, id)
		assert.Equal(t, "two", status.PauseNote, id)
	}
}
