package dagrun_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

// TestWhoseSizesOfPoolsARunDeclares: a run without a configuration declares none, so that a pool
// that it names does not shrink. A child declares its parent's sizes, which may be stale.
func TestWhoseSizesOfPoolsARunDeclares(t *testing.T) {
	t.Parallel()
	before := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sizes := map[string]int{"db": 5}
	declared := func(in contract.DAGInput) (at, started time.Time) {
		b := newDAGBench(t)
		b.OnSignalExternalWorkflow(mock.Anything, contract.AdmissionWorkflowID, "", contract.SignalAdmissionRequest, mock.Anything).Return(
			func(_, _, _, _ string, arg any) error {
				request, ok := arg.(contract.AdmissionRequest)
				require.True(t, ok)
				if len(request.Items) > 0 {
					at = request.DeclaredAt
					b.SignalWorkflow(contract.SignalAdmissionAnswer, *grantAll(request))
				}
				return nil
			})
		b.SetStartTime(before.Add(time.Hour))
		result := b.run("version: 1\nname: pooled\ntasks: [{id: a, resources: {db: 1}, noop: true}]\n", in)
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
		return at, before.Add(time.Hour)
	}
	at, _ := declared(contract.DAGInput{Name: "pooled"})
	assert.True(t, at.IsZero(), at)
	at, started := declared(contract.DAGInput{Name: "pooled", Resources: sizes})
	assert.WithinDuration(t, started, at, time.Minute)
	at, _ = declared(contract.DAGInput{Name: "pooled", Resources: sizes, DeclaredAt: before})
	assert.Equal(t, before, at.UTC())
}
