package starter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

// TestARunIsRecalledOnceAndForReadersOnly: a command has one state of a run, which an absent control plane makes
// necessary.
func TestARunIsRecalledOnceAndForReadersOnly(t *testing.T) {
	t.Parallel()
	server, err := launched()
	require.NoError(t, err)
	recalls, failure := 0, errors.New("another version")
	state := contract.JobsQueryResult{Jobs: []contract.JobView{{JobID: "job-00001", State: contract.JobFailed}}, Total: 1}
	at := time.Date(2026, 11, 27, 14, 2, 11, 0, time.UTC)
	connection := &silent{}
	c, err := starter.Dial(t.Context(), starter.Options{
		Address: server.Address(), HeartbeatInterval: -1, AskWithin: time.Second, Intercept: connection.intercept,
		Recall: func(context.Context, client.Client, starter.RunRef) (starter.Recalled, error) {
			recalls++
			if failure != nil {
				return starter.Recalled{}, failure
			}
			return starter.Recalled{At: at, Query: func(string, ...any) (any, error) { return state, nil }}, nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ref := starter.RunRef{WorkflowID: contract.AdHocWorkflowID("recalled", "1")}
	_, err = c.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: ref.WorkflowID, TaskQueue: contract.ControlQueue}, contract.JobGroupWorkflow, contract.JobGroupInput{})
	require.NoError(t, err)
	list := func(ctx context.Context) ([]starter.Item, error) {
		items, _, err := c.Runs().Items(ctx, ref, starter.ItemFilter{})
		return items, err
	}

	_, err = list(t.Context())
	var down *starter.ControlPlaneDownError
	require.ErrorAs(t, err, &down)
	assert.Zero(t, recalls, "a reader must want it")

	ctx := starter.WithMemory(t.Context())
	_, err = list(ctx)
	require.ErrorAs(t, err, &down)
	require.ErrorContains(t, err, "; the state of the run is unknown: another version")
	require.NoError(t, starter.RecallOf(ctx))

	failure, recalls = nil, 0
	for range 2 {
		items, err := list(ctx)
		require.NoError(t, err)
		require.Len(t, items, 1)
		assert.Equal(t, contract.JobFailed, items[0].State)
	}
	assert.Equal(t, 1, recalls)
	assert.Equal(t, at, starter.AsOf(ctx))
	require.ErrorContains(t, starter.RecallOf(ctx), "; this is the state of 2026-11-27T14:02:11Z, from the history")
}
