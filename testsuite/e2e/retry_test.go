package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/rerun"
)

// fragile is a flood whose every tenth job fails until it is repaired.
type fragile struct {
	flood
	mu       sync.Mutex
	repaired bool
	paths    map[string]string
}

type fragileParams struct {
	I    int    `json:"i"`
	Path string `json:"path"`
}

func (b *fragile) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	var params floodParams
	if err := json.Unmarshal(in.Params, &params); err != nil {
		return err
	}
	for i := range params.N {
		p := jobtype.Proposal{DedupeKey: fmt.Sprintf("object/%d", i), Params: fmt.Appendf(nil, `{"i":%d,"path":"/srv/%d"}`, i, i)}
		if err := out.Emit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (b *fragile) Execute(_ context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
	var params fragileParams
	if err := json.Unmarshal(job.Params, &params); err != nil {
		return jobtype.Result{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.paths[job.DedupeKey] = params.Path
	if params.I%10 == 0 && !b.repaired {
		return jobtype.Result{}, errors.New("broken")
	}
	return jobtype.Result{}, nil
}

// TestRetryAfterContinueAsNew: only the failed jobs of a group that continued as new at every step are executed
// again, with their params.
func TestRetryAfterContinueAsNew(t *testing.T) {
	t.Parallel()
	b := &fragile{paths: map[string]string{}}
	p := newInProcess(t, 8, b)
	applyFlood(t, p.client, "fragile")
	run, err := p.client.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "group/fragile-2026-01-01T00:00:00Z", TaskQueue: contract.ControlQueue,
	}, contract.JobGroupWorkflow, contract.JobGroupInput{RollEvents: 1, Spec: floodSpec("fragile", 150, 0, jobtype.Policy{
		GlobalExecutionConcurrency: 8, PerWorkerExecutionConcurrency: 8,
	})})
	require.NoError(t, err)
	result := p.end(run)
	require.Equal(t, 15, result.Counts.Failed)
	described, err := p.client.Temporal().DescribeWorkflowExecution(t.Context(), run.GetID(), "")
	require.NoError(t, err)
	info := described.GetWorkflowExecutionInfo()
	require.NotEqual(t, info.GetFirstRunId(), info.GetExecution().GetRunId())

	b.mu.Lock()
	b.repaired, b.paths = true, map[string]string{}
	b.mu.Unlock()
	started, err := rerun.Of(p.client).Start(t.Context(), starter.RunRef{WorkflowID: run.GetID()}, rerun.Choice{Failed: true}, "tester")
	require.NoError(t, err)
	assert.Equal(t, 15, started.Plan.AgainTotal)
	again, err := p.client.Runs().Result(t.Context(), started.RunRef)
	require.NoError(t, err)
	assert.Equal(t, contract.GroupCounts{Detected: 15, Accepted: 15, Completed: 15}, again.Counts)
	want := map[string]string{}
	for i := 0; i < 150; i += 10 {
		want[fmt.Sprintf("object/%d", i)] = fmt.Sprintf("/srv/%d", i)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	assert.Equal(t, want, b.paths)
}
