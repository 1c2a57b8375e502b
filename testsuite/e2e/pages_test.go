package e2e

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// TestPages: on a real server a page can be read while open and closed, and the keeper closes a page whose run
// is gone.
func TestPages(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 1, flood{})
	c := p.client.Temporal()
	store := pages.NewStore(c, p.client.Namespace(), starter.DataConverter())
	const run = "group/paged"
	largest := make([]byte, contract.MaxPage)
	_, err := rand.Read(largest)
	require.NoError(t, err)

	name, err := store.Put(t.Context(), run, largest)
	require.NoError(t, err)
	again, err := store.Put(t.Context(), run, largest)
	require.NoError(t, err)
	assert.Equal(t, name, again)
	other, err := store.Put(t.Context(), run, []byte("other"))
	require.NoError(t, err)
	reads := func(name string, want []byte) {
		t.Helper()
		got, err := store.Get(t.Context(), run, name)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, got))
	}
	events := func() int64 {
		described, err := c.DescribeWorkflowExecution(t.Context(), contract.PageWorkflowID(run, name), "")
		require.NoError(t, err)
		return described.GetWorkflowExecutionInfo().GetHistoryLength()
	}
	reads(name, largest)
	assert.EqualValues(t, 1, events())

	require.NoError(t, store.Close(t.Context(), run, []string{name}))
	require.NoError(t, store.Close(t.Context(), run, []string{name}), "a repeat changes nothing")
	reads(name, largest)
	_, err = store.Put(t.Context(), run, largest)
	require.NoError(t, err, "a closed page is written again")
	assert.EqualValues(t, 1, events())
	reads(name, largest)
	_, err = store.Get(t.Context(), run, contract.PageName([]byte("never written")))
	require.ErrorIs(t, err, pages.ErrLost)

	open := func() int64 {
		return p.count(fmt.Sprintf("WorkflowType = '%s' AND %s", contract.PageWorkflow, contract.QueryOpen))
	}
	testsuite.WaitFor(t, time.Minute, "both pages are listed", func() bool { return open() == 2 })
	keeper := pages.NewKeeper(store, c, testsuite.Quiet())
	closed, err := keeper.Sweep(t.Context(), time.Now())
	require.NoError(t, err)
	assert.Zero(t, closed, "whoever submits jobs writes pages before the run starts")

	started, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: run, TaskQueue: "nobody"}, contract.JobGroupWorkflow)
	require.NoError(t, err)
	closed, err = keeper.Sweep(t.Context(), time.Now().Add(24*time.Hour))
	require.NoError(t, err)
	assert.Zero(t, closed, "the run is open")
	require.NoError(t, c.TerminateWorkflow(t.Context(), started.GetID(), "", "the test"))
	closed, err = keeper.Sweep(t.Context(), time.Now())
	require.NoError(t, err)
	assert.Equal(t, 2, closed)
	reads(other, []byte("other"))
	testsuite.WaitFor(t, time.Minute, "no page is open", func() bool { return open() == 0 })
}

// TestThirtyMegabytesOfProposals: with proposals that do not compress, each run of the chain stays below the
// server's 50 MiB of history.
func TestThirtyMegabytesOfProposals(t *testing.T) {
	t.Parallel()
	for _, shape := range []struct {
		name        string
		jobs, bytes int
		dag         bool
	}{{"small", 8000, 3700, false}, {"DAGs", 170, 190_000, true}} {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			p := newInProcess(t, 200, flood{})
			spec := floodSpec("thirty", shape.jobs, shape.bytes, jobtype.Policy{
				MaxJobsPerDetection: shape.jobs, GlobalExecutionConcurrency: 200, PerWorkerExecutionConcurrency: 200,
			})
			spec.Params = fmt.Appendf(nil, `{"n":%d,"bytes":%d,"noise":true,"dag":%t}`, shape.jobs, shape.bytes, shape.dag)
			result, run := p.group(spec)
			assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
			assert.Equal(t, shape.jobs, result.Counts.Completed)
			largest := p.largestHistory(run.GetID())
			t.Logf("largest history of the chain: %d bytes", largest)
			assert.Less(t, largest, int64(49<<20))
		})
	}
}
