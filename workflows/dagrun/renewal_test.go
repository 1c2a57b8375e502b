package dagrun_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
