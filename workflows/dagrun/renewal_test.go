package dagrun_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
)

// A run that continued as new before its first view of the fleet subscribes again: a rebuilt
// registry has no subscription.
func TestDAGRenewsASubscriptionThatItNeverHeardOf(t *testing.T) {
	t.Parallel()
	loaded, err := spec.Load("dag.yaml", []byte("version: 1\nname: waits\ntasks: [{id: a, command: [x]}]\n"))
	require.NoError(t, err)
	compiled, err := spec.Compile(loaded, nil)
	require.NoError(t, err)
	run, err := dagrun.NewRun(compiled.Graph)
	require.NoError(t, err)
	b := newDAGBench(t)
	earlier, err := dagrun.New(run, dagrun.Config{}, b.Now())
	require.NoError(t, err)
	earlier.Next(b.Now(), dagrun.Started{})
	require.True(t, earlier.Engine().Watching())
	state, err := earlier.Snapshot()
	require.NoError(t, err)

	began := b.Now()
	b.ExecuteWorkflow(contract.DAGWorkflow, contract.DAGInput{Name: "waits", Carry: &contract.DAGCarry{Runs: 1}}, compiled.Graph.Encode(), state)
	require.NoError(t, b.GetWorkflowError())
	var result contract.DAGResult
	require.NoError(t, b.GetWorkflowResult(&result))
	assert.Equal(t, "node-a", result.Tasks["a"].Worker)
	assert.Less(t, b.Now().Sub(began), 10*time.Minute)
}

// TestADAGThatHasNotReadItsStateRefusesQueries: it would answer that it has no tasks.
func TestADAGThatHasNotReadItsStateRefusesQueries(t *testing.T) {
	t.Parallel()
	b := newDAGBench(t)
	b.RegisterActivityWithOptions(func(context.Context, contract.PageInput) ([]byte, error) {
		return nil, temporal.NewNonRetryableApplicationError("the test ends it", "", nil)
	}, activity.RegisterOptions{Name: contract.ReadPageActivity})
	refused := 0
	b.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name != contract.ReadPageActivity {
			return
		}
		for query, input := range map[string]any{contract.QueryStatus: nil, contract.QueryTasks: contract.TasksQueryInput{}, contract.QueryExplain: contract.ExplainQueryInput{}} {
			args := []any{input}
			if input == nil {
				args = nil
			}
			_, err := b.QueryWorkflow(query, args...)
			require.ErrorContains(t, err, contract.RunNotBegunError, query)
			refused++
		}
	})
	carry := contract.DAGCarry{Runs: 1, StatePages: contract.StatePages{Pages: []string{"lost"}}}
	b.ExecuteWorkflow(contract.DAGWorkflow, contract.DAGInput{Name: "waits", Carry: &carry}, []byte(nil), []byte(nil))
	require.ErrorContains(t, b.GetWorkflowError(), "the test ends it")
	assert.Equal(t, 3, refused)
}
