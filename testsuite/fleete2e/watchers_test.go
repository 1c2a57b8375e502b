package fleete2e

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// TestManyWatchers: hundreds of runs request a large view at once. The server would terminate a registry that signals all of
// them in one workflow task.
func TestManyWatchers(t *testing.T) {
	t.Parallel()
	const watchers, workers = 500, 5
	s := &site{t: t, server: replay.StartServer(t)}
	s.client = s.server.Client(t)
	s.startControl()
	for i := range workers {
		r := registration(testsuite.CrowdID(i), "1")
		r.Labels = map[string]string{}
		for n := range 15 { // A view of 16 KiB, of which compression leaves some 12.
			noise := make([]byte, 150)
			_, _ = rand.Read(noise) // It never fails.
			r.Labels[fmt.Sprint(n)] = base64.RawURLEncoding.EncodeToString(noise)
		}
		_, err := register(t.Context(), s.client, r)
		require.NoError(t, err)
	}
	s.control.kill() // The next one gets all requests in one workflow task.
	for i := range watchers {
		id := fmt.Sprintf("watcher-%d", i)
		_, err := s.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}, "none")
		require.NoError(t, err)
		require.NoError(t, s.client.SignalWorkflow(t.Context(), contract.FleetWorkflowID, "", contract.SignalWatchFleet, contract.WatchFleetInput{WorkflowID: id}))
	}
	s.startControl()
	heard := 0
	testsuite.WaitFor(t, time.Minute, "all to hear of it", func() bool {
		for ; heard < watchers; heard++ {
			described, err := s.client.DescribeWorkflowExecution(t.Context(), fmt.Sprintf("watcher-%d", heard), "")
			require.NoError(t, err)
			if described.GetWorkflowExecutionInfo().GetHistoryLength() <= untouched {
				return false
			}
		}
		return true
	})
	var view contract.FleetView
	testsuite.WaitFor(t, time.Minute, "the registry answers", func() bool {
		value, err := s.client.QueryWorkflow(t.Context(), contract.FleetWorkflowID, "", contract.QueryFleet)
		return err == nil && value.Get(&view) == nil
	})
	assert.Len(t, view.Workers, workers, "the registry is still the one that knows them")
}

// untouched is the number of events of a started workflow without a worker.
const untouched = 2
