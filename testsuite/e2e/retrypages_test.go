package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/rerun"
)

// bulky is a flood of large proposals, whose jobs fail until it is repaired.
type bulky struct {
	flood
	repaired atomic.Bool
	done     []atomic.Int32
}

func (b *bulky) Detect(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
	for i := range b.done {
		p := jobtype.Proposal{Detail: strings.Repeat("d", 2000), Params: fmt.Appendf(nil, `{"i":%d}`, i)}
		if i%2 == 0 {
			p.DedupeKey = fmt.Sprintf("object/%d", i)
		}
		if err := out.Emit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (b *bulky) Execute(_ context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
	var params fragileParams
	if err := json.Unmarshal(job.Params, &params); err != nil {
		return jobtype.Result{}, err
	}
	if !b.repaired.Load() {
		return jobtype.Result{}, jobtype.Permanent(errors.New("broken"))
	}
	b.done[params.I].Add(1)
	return jobtype.Result{}, nil
}

// TestARetryOfManyJobsHasPages: a retry of more proposals than the input of a group has executes each of them once.
func TestARetryOfManyJobsHasPages(t *testing.T) {
	t.Parallel()
	const jobs = 600
	b := &bulky{done: make([]atomic.Int32, jobs)}
	p := newInProcess(t, 40, b)
	applyFlood(t, p.client, "bulky")
	run, err := p.client.Temporal().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "group/bulky-2026-01-01T00:00:00Z", TaskQueue: contract.ControlQueue,
	}, contract.JobGroupWorkflow, contract.JobGroupInput{Spec: floodSpec("bulky", jobs, 0, jobtype.Policy{
		GlobalExecutionConcurrency: 40, PerWorkerExecutionConcurrency: 40,
	})})
	require.NoError(t, err)
	require.Equal(t, jobs, p.end(run).Counts.Failed)
	of := starter.RunRef{WorkflowID: run.GetID()}
	plan, err := rerun.Of(p.client).Preview(t.Context(), of, rerun.Choice{})
	require.NoError(t, err)
	assert.Equal(t, jobs, plan.AgainTotal)
	assert.Len(t, plan.Again, jobs)

	b.repaired.Store(true)
	started, err := rerun.Of(p.client).Start(t.Context(), of, rerun.Choice{}, "tester")
	require.NoError(t, err)
	var in contract.JobGroupInput
	require.NoError(t, p.client.Runs().StartedWith(t.Context(), started.RunRef, &in))
	require.NotEmpty(t, in.Submission.Pages)
	require.NotNil(t, in.State, "an earlier version of the control plane refuses it")
	require.Less(t, len(in.Submission.Proposals), jobs/2)
	result := p.end(p.client.Temporal().GetWorkflow(t.Context(), started.WorkflowID, ""))
	result.Counts.Replacements = 0
	assert.Equal(t, contract.GroupCounts{Detected: jobs, Accepted: jobs, Completed: jobs}, result.Counts)
	for i := range b.done {
		require.Equal(t, int32(1), b.done[i].Load(), i)
	}
}
