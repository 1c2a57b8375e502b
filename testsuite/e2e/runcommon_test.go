package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite"
)

// reader records for each worker whether its jobs had the common data of the run.
type reader struct {
	flood

	mu    *sync.Mutex
	whole map[string]int
	wrong map[string]int
}

func (r reader) Execute(_ context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
	var params struct {
		Filler string `json:"filler"`
	}
	err := json.Unmarshal(job.Params, &params)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && len(params.Filler) == 300 && strings.Contains(string(job.Settings), "settings") && strings.Contains(string(job.Cluster), "cluster") {
		r.whole[job.WorkerID]++
	} else {
		r.wrong[job.WorkerID]++
	}
	return jobtype.Result{}, err
}

// TestJobsHaveWhatTheyHaveInCommon: jobs have the common data on every worker. On a shared queue the first job
// brings the data to one process, and other processes query the run.
func TestJobsHaveWhatTheyHaveInCommon(t *testing.T) {
	t.Parallel()
	handler := reader{mu: &sync.Mutex{}, whole: map[string]int{}, wrong: map[string]int{}}
	p := newInProcess(t, 4, handler)
	node, err := app.StartNode(t.Context(), app.NodeOptions{
		Client: p.dial("node-b"), ID: "node-b", DataDir: t.TempDir(), MaxDetect: 1, MaxExecute: 4,
		Handlers: []jobtype.Handler{handler}, Shared: []string{"shared"}, Logger: testsuite.Quiet(),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Stop(context.WithoutCancel(t.Context())) })
	for routing, name := range map[jobtype.Routing]string{jobtype.RoutingShared: "shared", jobtype.RoutingWorker: "private"} {
		spec := floodSpec(name, 100, 0, jobtype.Policy{GlobalExecutionConcurrency: 8, PerWorkerExecutionConcurrency: 4, Routing: routing})
		spec.Params = fmt.Appendf(nil, `{"n":100,"filler":%q}`, strings.Repeat(name[:1], 300))
		spec.Execute, spec.Cluster = json.RawMessage(`{"settings":true}`), json.RawMessage(`{"cluster":true}`)
		result, run := p.of(t).group(spec)
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
		assert.Equal(t, 100, result.Counts.Completed)
		described, err := p.client.Temporal().DescribeWorkflowExecution(t.Context(), run.GetID(), "")
		require.NoError(t, err)
		assert.Less(t, described.GetWorkflowExecutionInfo().GetHistorySizeBytes(), int64(100*1300), name)
	}
	handler.mu.Lock()
	defer handler.mu.Unlock()
	assert.Empty(t, handler.wrong)
	assert.Positive(t, handler.whole["node-a"])
	assert.Positive(t, handler.whole["node-b"])
	assert.Equal(t, 200, handler.whole["node-a"]+handler.whole["node-b"])
}
