package fleete2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// TestManyWatchers: a change in a fleet with a large view reaches hundreds of runs. The server would terminate
// a registry that signals all of them in one workflow task.
func TestManyWatchers(t *testing.T) {
	t.Parallel()
	const watchers, workers = 400, 40
	s := &site{t: t, server: replay.StartServer(t)}
	s.client = s.server.Client(t)
	s.startControl()
	for i := range workers {
		r := registration(testsuite.CrowdID(i), "1")
		// A view of some 15 KiB: from 16 on it would be compressed.
		r.Labels = map[string]string{"rack": strings.Repeat(fmt.Sprint(i), 40), "disk": strings.Repeat("x", 40)}
		_, err := register(t.Context(), s.client, r)
		require.NoError(t, err)
	}
	for i := range watchers {
		id := fmt.Sprintf("watcher-%d", i)
		_, err := s.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}, "none")
		require.NoError(t, err)
		require.NoError(t, s.client.SignalWorkflow(t.Context(), contract.FleetWorkflowID, "", contract.SignalWatchFleet, contract.WatchFleetInput{WorkflowID: id}))
	}
	length := func(i int) int64 {
		described, err := s.client.DescribeWorkflowExecution(t.Context(), fmt.Sprintf("watcher-%d", i), "")
		require.NoError(t, err)
		return described.GetWorkflowExecutionInfo().GetHistoryLength()
	}
	var before [watchers]int64
	for i := range before {
		before[i] = length(i)
	}
	_, err := register(t.Context(), s.client, registration("one-more", "1"))
	require.NoError(t, err)
	heard := 0
	testsuite.WaitFor(t, time.Minute, "all to hear of it", func() bool {
		for heard < watchers && length(heard) > before[heard] {
			heard++
		}
		return heard == watchers
	})
	var view contract.FleetView
	testsuite.WaitFor(t, time.Minute, "the registry answers", func() bool {
		value, err := s.client.QueryWorkflow(t.Context(), contract.FleetWorkflowID, "", contract.QueryFleet)
		return err == nil && value.Get(&view) == nil
	})
	assert.Len(t, view.Workers, workers+1, "the registry is still the one that knows them")
}
