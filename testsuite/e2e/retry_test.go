package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/rerun"
	"github.com/roundsman/roundsman/testsuite"
)

// fragile fails every proposal whose number divides by broken, until it is repaired.
type fragile struct {
	jobs, broken int
	propose      func(i int) jobtype.Proposal
	repaired     atomic.Bool
	mu           sync.Mutex
	// paths are those of the executions of each proposal since the repair.
	paths map[int][]string
}

func (*fragile) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{Name: "flood", Batches: true}
}

type fragileParams struct {
	I    int    `json:"i"`
	Path string `json:"path"`
}

func (f *fragile) Detect(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
	for i := range f.jobs {
		p := f.propose(i)
		p.Params = fmt.Appendf(nil, `{"i":%d,"path":"/srv/%d"}`, i, i)
		if err := out.Emit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (f *fragile) Execute(_ context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
	repaired := f.repaired.Load()
	for _, item := range job.Items() {
		var params fragileParams
		if err := json.Unmarshal(item.Params, &params); err != nil {
			return jobtype.Result{}, err
		}
		if !repaired && params.I%f.broken == 0 {
			return jobtype.Result{}, errors.New("broken")
		}
		if repaired {
			f.mu.Lock()
			f.paths[params.I] = append(f.paths[params.I], params.Path)
			f.mu.Unlock()
		}
	}
	return jobtype.Result{}, nil
}

// executed lists the proposals that were executed since the repair, once for each execution.
func (f *fragile) executed() (list []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.jobs {
		for range f.paths[i] {
			list = append(list, i)
		}
	}
	return list
}

// brokenGroup ends with its broken jobs failed, and repairs them.
func (f *fragile) brokenGroup(t *testing.T, p *inProcess, slots int, in contract.JobGroupInput) client.WorkflowRun {
	t.Helper()
	applyFlood(t, p.client, "fragile")
	in.Spec = floodSpec("fragile", f.jobs, 0, jobtype.Policy{GlobalExecutionConcurrency: slots, PerWorkerExecutionConcurrency: slots})
	run := p.start("fragile-2026-01-01T00:00:00Z", in)
	require.Equal(t, f.jobs/f.broken, p.end(run).Counts.Failed)
	f.repaired.Store(true)
	return run
}

// executedOnce checks that each broken job was executed once since the repair, with its params, and no other job.
func (f *fragile) executedOnce(t *testing.T) {
	t.Helper()
	want := map[int][]string{}
	for i := 0; i < f.jobs; i += f.broken {
		want[i] = []string{fmt.Sprintf("/srv/%d", i)}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	assert.Equal(t, want, f.paths)
}

// TestRetryAfterContinueAsNew: only the failed jobs of a group that continued as new at every step are executed
// again, with their params.
func TestRetryAfterContinueAsNew(t *testing.T) {
	t.Parallel()
	f := &fragile{jobs: 150, broken: 10, paths: map[int][]string{}, propose: func(i int) jobtype.Proposal {
		return jobtype.Proposal{DedupeKey: fmt.Sprintf("object/%d", i)}
	}}
	p := newInProcess(t, 8, f)
	run := f.brokenGroup(t, p, 8, contract.JobGroupInput{RollEvents: 1})
	described, err := p.client.Temporal().DescribeWorkflowExecution(t.Context(), run.GetID(), "")
	require.NoError(t, err)
	info := described.GetWorkflowExecutionInfo()
	require.NotEqual(t, info.GetFirstRunId(), info.GetExecution().GetRunId())

	started, err := rerun.Of(p.client).Start(t.Context(), starter.RunRef{WorkflowID: run.GetID()}, rerun.Choice{Failed: true}, "tester")
	require.NoError(t, err)
	assert.Equal(t, 15, started.Plan.AgainTotal)
	again, err := p.client.Runs().Result(t.Context(), started.RunRef)
	require.NoError(t, err)
	assert.Equal(t, contract.GroupCounts{Detected: 15, Accepted: 15, Completed: 15}, again.Counts)
	f.executedOnce(t)
}

// TestARetryOfManyJobsHasPages: a retry of more proposals than the input of a group has executes each of them once.
func TestARetryOfManyJobsHasPages(t *testing.T) {
	t.Parallel()
	const jobs = 320 // With 1.2 MB.
	f := &fragile{jobs: jobs, broken: 1, paths: map[int][]string{}, propose: func(i int) jobtype.Proposal {
		proposal := jobtype.Proposal{Detail: strings.Repeat("d", 3700)}
		if i%2 == 0 {
			proposal.DedupeKey = fmt.Sprintf("object/%d", i)
		}
		return proposal
	}}
	p := newInProcess(t, 40, f)
	of := starter.RunRef{WorkflowID: f.brokenGroup(t, p, 40, contract.JobGroupInput{}).GetID()}
	plan, err := rerun.Of(p.client).Preview(t.Context(), of, rerun.Choice{})
	require.NoError(t, err)
	assert.Equal(t, jobs, plan.AgainTotal)
	assert.Len(t, plan.Again, jobs)

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
	f.executedOnce(t)
}

// TestARetryDoesNothingThatARetryDid: neither the proposals of a batch, nor those that the retry of a retry did.
func TestARetryDoesNothingThatARetryDid(t *testing.T) {
	t.Parallel()
	f := &fragile{jobs: 9, broken: 1, paths: map[int][]string{}, propose: func(i int) jobtype.Proposal {
		return jobtype.Proposal{DedupeKey: fmt.Sprintf("object/%d", i)}
	}}
	p := newInProcess(t, 4, f)
	spec := floodSpec("fragile", f.jobs, 0, jobtype.Policy{CatchupWindow: jobtype.Duration(time.Minute)})
	spec.Schedule, spec.Batch = contract.ScheduleSpec{Every: jobtype.Duration(24 * time.Hour)}, &contract.BatchSpec{By: "{{dir .Params.path}}", MaxSize: 3}
	p.apply(spec)
	first := p.start("fragile-2026-01-01T00:00:00Z", contract.JobGroupInput{Spec: spec})
	counts := p.end(first).Counts
	require.Equal(t, []int{3, 6}, []int{counts.Failed, counts.Batched}, "three batches of three")
	retry := func(of starter.RunRef, choice rerun.Choice) starter.RunRef {
		started, err := rerun.Of(p.client).Start(t.Context(), of, choice, "tester")
		require.NoError(t, err)
		_, err = p.client.Runs().Await(t.Context(), started.RunRef)
		require.NoError(t, err)
		retried, err := p.client.Runs().Show(t.Context(), of)
		require.NoError(t, err)
		testsuite.WaitFor(t, 20*time.Second, "visibility shows the retry", func() bool {
			later, err := rerun.Of(p.client).Later(t.Context(), retried.Run)
			return err == nil && slices.Contains(later, started.WorkflowID)
		})
		return started.RunRef
	}
	whole := starter.RunRef{WorkflowID: first.GetID()}
	broken := retry(whole, rerun.Choice{Items: []string{"object/4"}})
	f.repaired.Store(true)
	retry(whole, rerun.Choice{Items: []string{"object/1"}})
	require.Equal(t, []int{0, 1, 2}, f.executed())
	again := retry(broken, rerun.Choice{})
	require.Equal(t, []int{0, 1, 2, 3, 4, 5}, f.executed())

	plan, err := rerun.Of(p.client).Preview(t.Context(), whole, rerun.Choice{})
	require.NoError(t, err)
	by := map[string]int{}
	for _, kept := range plan.Kept {
		by[kept.By]++
	}
	assert.Equal(t, 3, by[again.WorkflowID])
	retry(whole, rerun.Choice{})
	assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, f.executed())
}
