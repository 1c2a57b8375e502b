package recall

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/replay"
)

var recorded = filepath.Join("..", "..", "testsuite", "replay", "testdata")

// TestEachHistoryIsRecalledAnywhere: a control plane may be killed anywhere.
func TestEachHistoryIsRecalledAnywhere(t *testing.T) {
	t.Parallel()
	queries := map[string]any{contract.JobGroupWorkflow: contract.JobsQueryInput{Limit: 10}, contract.DAGWorkflow: contract.TasksQueryInput{Limit: 10}}
	lists := map[string]string{contract.JobGroupWorkflow: contract.QueryJobs, contract.DAGWorkflow: contract.QueryTasks}
	for kind, input := range queries {
		names, err := replay.List(recorded, kind)
		require.NoError(t, err)
		require.NotEmpty(t, names)
		for _, name := range names {
			t.Run(name.Workflow+"/"+name.Scenario, func(t *testing.T) {
				t.Parallel()
				history, err := replay.Load(recorded, name)
				require.NoError(t, err)
				events := history.GetEvents()
				cuts := cutsOf(events)
				for i := 0; i < len(cuts); i += len(cuts)/40 + 1 { // Each replay costs as much as all before it.
					n := cuts[i]
					state, err := of(events[:n])
					last := events[0]
					for _, event := range events[:n] {
						if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
							last = event
						}
					}
					if last == events[0] {
						require.ErrorIs(t, err, errNotBegun)
						continue
					}
					require.NoError(t, err, "%d events", n)
					assert.Equal(t, last.GetEventTime().AsTime(), state.At)
					_, err = state.Query(contract.QueryStatus)
					if err == nil {
						_, err = state.Query(lists[kind], input)
					}
					if err != nil {
						require.ErrorContains(t, err, "the run has not begun", "%d events", n)
					}
				}
			})
		}
	}
}

// cutsOf lists where a history can end. The server writes the events of a workflow task's commands together.
func cutsOf(events []*historypb.HistoryEvent) (cuts []int) {
	for i, event := range events {
		switch event.GetEventType() {
		case enums.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enums.EVENT_TYPE_WORKFLOW_TASK_STARTED, enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
			cuts = append(cuts, i+1)
		}
	}
	return append(cuts, len(events))
}

// TestAnotherHistoryIsAnError, and no panic.
func TestAnotherHistoryIsAnError(t *testing.T) {
	t.Parallel()
	names, err := replay.List(recorded, contract.JobGroupWorkflow)
	require.NoError(t, err)
	history, err := replay.Load(recorded, names[0])
	require.NoError(t, err)
	for _, event := range history.GetEvents() {
		if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
			scheduled.ActivityType.Name = "of another version"
		}
	}
	_, err = of(history.GetEvents())
	require.ErrorContains(t, err, "its history does not replay with this version")
}
