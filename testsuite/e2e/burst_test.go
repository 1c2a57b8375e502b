package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// noise is text that does not compress well.
func noise(n int) string {
	random := rand.New(rand.NewPCG(1, uint64(n))) //nolint:gosec // for a test
	text := make([]byte, n)
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[random.IntN(64)]
	}
	return string(text)
}

// TestLargeStarts: the server terminates a workflow with more than 4 MiB in one workflow task, or with a
// history over 50 MiB. Large jobs that start all at once must not cause either.
func TestLargeStarts(t *testing.T) {
	t.Parallel()
	p := newInProcess(t, 450, flood{})
	heavy := func(name string, jobs, concurrency, bytes int) contract.JobTypeSpec {
		spec := floodSpec(name, jobs, 0, jobtype.Policy{GlobalExecutionConcurrency: concurrency, PerWorkerExecutionConcurrency: concurrency})
		spec.Execute = fmt.Appendf(nil, "%q", noise(bytes))
		return spec
	}
	t.Run("6 MB at once", func(t *testing.T) {
		t.Parallel()
		p := p.of(t)
		result, _ := p.group(heavy("at-once", 450, 450, 14<<10))
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
		assert.Equal(t, 450, result.Counts.Completed)
	})
	sizeOf := func(t *testing.T, p *inProcess, run client.WorkflowRun) (bytes int64, renewed bool) {
		t.Helper()
		described, err := p.client.Temporal().DescribeWorkflowExecution(t.Context(), run.GetID(), "")
		require.NoError(t, err)
		info := described.GetWorkflowExecutionInfo()
		return info.GetHistorySizeBytes(), info.GetFirstRunId() != info.GetExecution().GetRunId()
	}
	t.Run("55 MB in common", func(t *testing.T) {
		t.Parallel()
		p := p.of(t)
		result, run := p.group(heavy("in-common", 110, 20, 500<<10))
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
		assert.Equal(t, 110, result.Counts.Completed)
		bytes, _ := sizeOf(t, p, run)
		assert.Less(t, bytes, int64(4<<20), "it travels once to each worker process")
	})
	t.Run("15 MB of jobs", func(t *testing.T) {
		t.Parallel()
		p := p.of(t)
		// With 450 at once an attempt takes more than rollover.Drain on a busy machine, and the run waits for its hard limit.
		spec := floodSpec("in-all", 0, 0, jobtype.Policy{GlobalExecutionConcurrency: 100, PerWorkerExecutionConcurrency: 100, MaxJobsPerDetection: 2000})
		spec.Params = []byte(`{"n":2000,"bytes":3700,"noise":true}`)
		result, run := p.group(spec)
		assert.Equal(t, contract.OutcomeCompleted, result.Outcome, result.Reason)
		assert.Equal(t, 2000, result.Counts.Completed)
		bytes, renewed := sizeOf(t, p, run)
		assert.True(t, renewed, "it continued in a new run, after %d bytes in this one", bytes)
	})
	t.Run("7 MB of a DAG", func(t *testing.T) {
		t.Parallel()
		p := p.of(t)
		text := fmt.Sprintf("version: 1\nname: heavy\nconcurrency: 400\ntasks:\n  - {id: a, for_each: [%s1], params: {x: %q}, job_type: heavy}\n",
			strings.Repeat("1, ", 239), noise(30_000))
		applyFlood(t, p.client, "heavy")
		ref := runDAG(t, p.client, compileDAG(t, text, nil), starter.DAGOptions{Run: "1"})
		result := awaitDAG(t, p.client, ref, time.Minute)
		assert.Equal(t, map[string]int{"completed": 240}, result.Counts)
	})
}

// applyFlood applies a job type for DAGs.
func applyFlood(t *testing.T, c *starter.Client, name string) {
	t.Helper()
	spec := floodSpec(name, 0, 0, jobtype.Policy{CatchupWindow: jobtype.Duration(time.Minute)})
	spec.Schedule, spec.Hash = contract.ScheduleSpec{Every: jobtype.Duration(24 * time.Hour)}, name
	plan, err := jobtypes.Of(c).Plan(t.Context(), []contract.JobTypeSpec{spec}, map[string]bool{name: false})
	require.NoError(t, err)
	_, err = jobtypes.Of(c).Apply(t.Context(), plan)
	require.NoError(t, err)
}
