package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// keyless proposes jobs without keys, and executes them once the gate is open. It counts executions by job.
type keyless struct {
	n    int
	gate chan struct{}

	mu   *sync.Mutex
	done map[int]int
}

// apart returns the details of a job. A page of 440 KiB has about 350 such jobs.
func apart() string { return strings.Repeat("apart ", 200) }

func newKeyless(n int) keyless {
	return keyless{n: n, gate: make(chan struct{}), mu: &sync.Mutex{}, done: map[int]int{}}
}

func (keyless) Descriptor() jobtype.Descriptor { return jobtype.Descriptor{Name: "keyless"} }

func (k keyless) Detect(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
	for i := range k.n {
		p := jobtype.Proposal{Summary: fmt.Sprintf("number %d", i), Detail: apart(), Params: fmt.Appendf(nil, `{"n":%d}`, i)}
		if err := out.Emit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (k keyless) Execute(ctx context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
	select {
	case <-k.gate:
	case <-ctx.Done():
		return jobtype.Result{}, context.Cause(ctx)
	}
	var params struct{ N int }
	if err := json.Unmarshal(job.Params, &params); err != nil {
		return jobtype.Result{}, err
	}
	if job.Summary != fmt.Sprintf("number %d", params.N) || job.Detail != apart() || job.ID != contract.JobID(params.N+1) {
		return jobtype.Result{}, jobtype.Permanent(fmt.Errorf("%s has the proposal of %q, params %s", job.ID, job.Summary, job.Params))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.done[params.N]++
	return jobtype.Result{}, nil
}

// TestProposalsApart: most jobs of a large group are in pages and not in a history. Each is listed, found and
// canceled by its number before it is in the group's window. It runs with its own proposal across roll-overs,
// and is listed after the end of the group without a control plane.
func TestProposalsApart(t *testing.T) {
	t.Parallel()
	const jobs, canceled = 900, 845
	handler := newKeyless(jobs)
	p := newInProcess(t, 40, handler)
	spec := contract.JobTypeSpec{Name: "apart", Handler: "keyless", Policy: jobtype.Policy{
		MaxJobsPerDetection: jobs, GlobalExecutionConcurrency: 40, PerWorkerExecutionConcurrency: 40,
	}.WithDefaults()}
	run := p.launch(contract.JobGroupInput{Spec: spec, RollEvents: 1500})
	ref := starter.RunRef{WorkflowID: run.GetID()}
	item := func(n int) starter.Item {
		t.Helper()
		found, err := p.client.Runs().Item(t.Context(), starter.ItemRef{Run: ref, ID: contract.JobID(n)})
		require.NoError(t, err)
		return found
	}
	testsuite.WaitFor(t, time.Minute, "jobs run", func() bool {
		items, _, err := p.client.Runs().Items(t.Context(), ref, starter.ItemFilter{States: []string{contract.JobRunning}})
		return err == nil && len(items) == 40
	})
	items, total, err := p.client.Runs().Items(t.Context(), ref, starter.ItemFilter{Limit: starter.All})
	require.NoError(t, err)
	require.Equal(t, jobs, total)
	require.Len(t, items, jobs)
	for i, one := range items {
		require.Equal(t, contract.JobID(i+1), one.ID)
		require.Equal(t, fmt.Sprintf("number %d", i), one.Summary)
	}
	assert.Equal(t, contract.JobPending, item(canceled).State)
	assert.NotEmpty(t, item(canceled).Waiting)
	require.NoError(t, testsuite.CancelItem(t.Context(), p.client.Temporal(), ref.WorkflowID, contract.CancelItemInput{Item: contract.JobID(canceled), Reason: "not this one"}))
	testsuite.WaitFor(t, time.Minute, "it is canceled", func() bool { return item(canceled).State == contract.JobCanceled })

	close(handler.gate)
	result := p.end(run)
	result.Counts.Replacements = 0 // On a busy machine some are accepted too late.
	assert.Equal(t, contract.GroupCounts{Detected: jobs, Accepted: jobs, Completed: jobs - 1, Canceled: 1}, result.Counts)
	handler.mu.Lock()
	defer handler.mu.Unlock()
	require.Len(t, handler.done, jobs-1)
	for n, times := range handler.done {
		assert.Equal(t, 1, times, n)
	}
	events, bytes := p.largestHistory(run.GetID())
	t.Logf("largest histories of the chain: %d events, %d bytes", events, bytes)
	p.stopControl()
	items, total, err = p.client.Runs().Items(t.Context(), ref, starter.ItemFilter{Limit: starter.All})
	require.NoError(t, err)
	require.Equal(t, jobs, total)
	seen := map[string]bool{}
	for _, one := range items {
		require.False(t, seen[one.ID], one.ID)
		seen[one.ID] = true
		n, _ := contract.JobNumber(one.ID)
		require.Equal(t, fmt.Sprintf("number %d", n-1), one.Summary)
	}
	assert.Equal(t, contract.JobCanceled, item(canceled).State)
}

// TestACanceledBacklog: a canceled backlog is counted, stored by ranges, and can be retried with its proposals.
func TestACanceledBacklog(t *testing.T) {
	t.Parallel()
	const jobs = 900
	p := newInProcess(t, 10, newKeyless(jobs))
	spec := contract.JobTypeSpec{Name: "apart", Handler: "keyless", Policy: jobtype.Policy{
		MaxJobsPerDetection: jobs, GlobalExecutionConcurrency: 10, PerWorkerExecutionConcurrency: 10,
	}.WithDefaults()}
	run := p.launch(contract.JobGroupInput{Spec: spec})
	ref := starter.RunRef{WorkflowID: run.GetID()}
	testsuite.WaitFor(t, time.Minute, "jobs run", func() bool {
		items, _, err := p.client.Runs().Items(t.Context(), ref, starter.ItemFilter{States: []string{contract.JobRunning}})
		return err == nil && len(items) == 10
	})
	require.NoError(t, p.client.Temporal().CancelWorkflow(t.Context(), ref.WorkflowID, ""))
	require.Error(t, run.Get(t.Context(), nil))
	items, total, err := p.client.Runs().Items(t.Context(), ref, starter.ItemFilter{Limit: starter.All, Work: true, States: []string{contract.JobCanceled}})
	require.NoError(t, err)
	require.Equal(t, jobs, total)
	for _, one := range items {
		n, _ := contract.JobNumber(one.ID)
		var work contract.JobWork
		require.NoError(t, json.Unmarshal([]byte(one.Work), &work), one.ID)
		require.Len(t, work.Proposals, 1)
		assert.JSONEq(t, fmt.Sprintf(`{"n":%d}`, n-1), string(work.Proposals[0].Params))
	}
}
