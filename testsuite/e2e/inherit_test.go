package e2e

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/activities/control"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestAdmissionIsTerminatedAgainAndAgain: a changed pool size, a disabled key and the fences outlive 40
// terminations at random moments, most of them before the first workflow task of a run. Each is in the audit
// log.
func TestAdmissionIsTerminatedAgainAndAgain(t *testing.T) {
	t.Parallel()
	b := &brittle{site: newSite()}
	p := newInProcess(t, 8, b)
	ctx := t.Context()
	_, err := p.client.Admission().ResizePool(ctx, "db", 7, "ann")
	require.NoError(t, err)
	spec := siteSpec(t, "scrub", "", at("bad/1"), at("good"))
	spec.RetryBudget = budget(1, 0)
	assert.Equal(t, 1, p.end(p.begin("scrub-1", spec)).Counts.Failed)
	testsuite.WaitFor(t, 20*time.Second, "the key is disabled", func() bool { return p.held() == 1 })

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	temporal := p.client.Temporal()
	activities := control.New(temporal, contract.FleetConfig{}, control.WithConverter(starter.DataConverter()))
	var ended []string
	for range 40 {
		require.NoError(t, activities.EnsureAdmission(ctx, contract.EnsureAdmissionInput{}))
		pause(ctx, time.Duration(random.IntN(3)*random.IntN(40))*time.Millisecond)
		described, err := temporal.DescribeWorkflowExecution(ctx, contract.AdmissionWorkflowID, "")
		require.NoError(t, err)
		run := described.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		if temporal.TerminateWorkflow(ctx, contract.AdmissionWorkflowID, run, "again") == nil {
			ended = append(ended, run)
		}
	}
	require.Greater(t, len(ended), 20)
	require.NoError(t, activities.EnsureAdmission(ctx, contract.EnsureAdmissionInput{}))
	testsuite.WaitFor(t, 30*time.Second, "admission answers", func() bool {
		view, err := p.client.Admission().View(ctx, contract.AdmissionFilter{})
		return err == nil && !view.Recovering
	})
	view := p.admission()
	require.NotNil(t, view.Inherited)
	assert.Empty(t, view.Inherited.Fault)
	require.Len(t, view.Pools, 1)
	assert.Equal(t, 7, view.Pools[0].Operator)
	assert.Equal(t, 1, p.held())
	testsuite.WaitFor(t, 30*time.Second, "every termination is in the audit log", func() bool {
		log, err := p.client.Audit().Read(ctx, contract.AuditFilter{Limit: 1000})
		if err != nil {
			return false
		}
		n := 0
		for _, entry := range log.Entries {
			if entry.Action == contract.AdmissionWorkflowID+contract.AuditTerminated {
				n++
			}
		}
		return n == len(ended)
	})
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
