package recall

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
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

// chain has the histories of a run.
type chain struct {
	client.Client

	runs map[string][]*historypb.HistoryEvent
}

func (c chain) GetWorkflowHistory(_ context.Context, _, runID string, _ bool, _ enums.HistoryEventFilterType) client.HistoryEventIterator {
	return &read{c.runs[runID]}
}

type read struct{ left []*historypb.HistoryEvent }

func (r *read) HasNext() bool { return len(r.left) > 0 }

func (r *read) Next() (*historypb.HistoryEvent, error) {
	next := r.left[0]
	r.left = r.left[1:]
	return next, nil
}

// TestARunThatHasNotReadItsState is in that of the run before: without one it would have no jobs.
func TestARunThatHasNotReadItsState(t *testing.T) {
	t.Parallel()
	load := func(scenario string) []*historypb.HistoryEvent {
		history, err := replay.Load(recorded, replay.Name{Workflow: contract.JobGroupWorkflow, Version: 1, Scenario: scenario})
		require.NoError(t, err)
		return history.GetEvents()
	}
	before, events := load("state-in-pages"), load("state-in-pages-2")
	orders := slices.IndexFunc(events, func(e *historypb.HistoryEvent) bool { return e.GetActivityTaskScheduledEventAttributes() != nil })
	require.Equal(t, contract.ReadPageActivity, events[orders].GetActivityTaskScheduledEventAttributes().GetActivityType().GetName())
	runs := map[string][]*historypb.HistoryEvent{
		"": events[:orders+1], events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId(): before,
	}
	state, err := Run(t.Context(), chain{runs: runs}, starter.RunRef{WorkflowID: "group/paged"})
	require.NoError(t, err)
	want, err := of(before)
	require.NoError(t, err)
	assert.Equal(t, want.At, state.At)
	list, err := state.Query(contract.QueryJobs, contract.JobsQueryInput{Limit: 1})
	require.NoError(t, err)
	jobs, _ := list.(contract.JobsQueryResult)
	assert.Equal(t, 700, jobs.Total)
}
