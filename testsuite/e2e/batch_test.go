package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
)

// shelves is a job type that packs files by shelf. Each attempt writes a line with all its files.
func shelves(dir string) string {
	return fmt.Sprintf(`  pack:
    handler: command
    lane: side
    schedule: {every: 365d, first_run: scheduled}
    policy: {global_execution_concurrency: 4, per_worker_execution_concurrency: 4, heartbeat_timeout: 5s}
    batch: {by: "{{dir .Params.item}}", max_size: 4}
    detect: {command: [find, %[1]q, -name, "*.log", -size, "+0"], format: lines}
    execute: {command: [sh, -c, 'while [ -e %[2]s/hold ]; do sleep 0.1; done; echo "$@" >> %[2]s/packed; for f; do : > "$f"; done', sh, "{{each}}{{.Item.Params.item}}"]}
`, filepath.Join(dir, "shelves"), dir)
}

// TestBatches: ten files on three shelves become four jobs of at most four files. A file that another job packs
// is left out.
func TestBatches(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	// Four batches and the submitted jobs run at once.
	c.worker("node-a", "--max-execute", "5")
	c.awaitFresh("node-a")
	var files []string
	for i := range 10 {
		shelf := filepath.Join(c.dir, "shelves", fmt.Sprint("s", []int{0, 0, 0, 0, 0, 1, 1, 1, 2, 2}[i]))
		require.NoError(t, os.MkdirAll(shelf, 0o700))
		files = append(files, filepath.Join(shelf, fmt.Sprintf("%d.log", i)))
		require.NoError(t, os.WriteFile(files[i], []byte("x"), 0o600))
	}
	c.apply(shelves(c.dir))
	hold := filepath.Join(c.dir, "hold")
	require.NoError(t, os.WriteFile(hold, nil, 0o600))

	mine := c.submitFile("one", files[7])
	testsuite.WaitFor(t, 20*time.Second, "the submitted job runs", func() bool {
		jobs, _, err := c.client.Runs().Items(t.Context(), mine, starter.ItemFilter{States: []string{"running"}})
		return err == nil && len(jobs) == 1
	})
	run := c.run("pack")
	var found []starter.Item
	testsuite.WaitFor(t, 30*time.Second, "all batches run", func() bool {
		jobs, _, err := c.client.Runs().Items(t.Context(), run, starter.ItemFilter{States: []string{"running"}})
		return err == nil && len(jobs) == 4
	})
	found, total, err := c.client.Runs().Items(t.Context(), run, starter.ItemFilter{DedupeKey: files[6]})
	require.NoError(t, err)
	require.Equal(t, 1, total, "a job is found by any of its keys")
	assert.Equal(t, 2, found[0].Items)
	assert.ElementsMatch(t, []string{files[5], files[6]}, []string{found[0].Batch[0].DedupeKey, found[0].Batch[1].DedupeKey})
	assert.Equal(t, filepath.Dir(files[6])+": batch of 2", found[0].Summary)
	status, err := c.client.Runs().Show(t.Context(), run)
	require.NoError(t, err)
	assert.Equal(t, []contract.DedupedProposal{{DedupeKey: files[7], By: mine.WorkflowID}}, status.Group.Deduped)

	// Every key of a batch is claimed, so no other job has one of its files.
	taken := c.start("submit", "pack:"+files[6], "-p", "item="+files[6], "--wait")
	taken.Code(t, 2*time.Minute)
	assert.Equal(t, 1, taken.ProcessState.ExitCode())
	assert.Contains(t, taken.Stdout.String(), fmt.Sprintf("DEDUPED: %q is active in %s", files[6], run.WorkflowID))

	require.NoError(t, os.Remove(hold))
	result := c.result(run, time.Minute)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.Equal(t, contract.GroupCounts{Detected: 10, Accepted: 4, Batched: 5, AlreadyActive: 1, Completed: 4}, result.Counts)
	assert.Equal(t, contract.OutcomeCompleted, c.result(mine, time.Minute).Outcome)
	c.checkPacked(files)
	assert.Zero(t, c.result(c.run("pack"), time.Minute).Counts.Detected, "everything is packed")
}

// submitFile submits one file under an id.
func (c *cluster) submitFile(id, file string) starter.RunRef {
	c.t.Helper()
	p := c.start("submit", "pack:"+file, "--as", id, "-p", "item="+file)
	require.Equal(c.t, 0, p.Code(c.t, 2*time.Minute), p.Stderr.Last())
	return starter.RunRef{WorkflowID: contract.AdHocWorkflowID("pack", id)}
}

// checkPacked: every file was packed once, only with files of its shelf, at most four at a time.
func (c *cluster) checkPacked(files []string) {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, "packed"))
	require.NoError(c.t, err)
	var packed []string
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	require.Len(c.t, lines, 5, "four batches and the submitted one")
	for _, line := range lines {
		together := strings.Fields(line)
		assert.LessOrEqual(c.t, len(together), 4)
		for _, file := range together {
			assert.Equal(c.t, filepath.Dir(together[0]), filepath.Dir(file))
		}
		packed = append(packed, together...)
	}
	slices.Sort(packed)
	assert.Equal(c.t, files, packed)
}

// TestBatchIsCanceledAsAWhole: the signal with one key of a batch cancels all of it, and the next run does all
// of it again.
func TestBatchIsCanceledAsAWhole(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "node-a")
	require.NoError(t, os.MkdirAll(filepath.Join(c.dir, "shelves"), 0o700))
	var files []string
	for i := range 3 {
		files = append(files, filepath.Join(c.dir, "shelves", fmt.Sprintf("%d.log", i)))
		require.NoError(t, os.WriteFile(files[i], []byte("x"), 0o600))
	}
	c.apply(shelves(c.dir))
	hold := filepath.Join(c.dir, "hold")
	require.NoError(t, os.WriteFile(hold, nil, 0o600))
	run := c.run("pack")
	testsuite.WaitFor(t, 30*time.Second, "the batch runs", func() bool {
		jobs, _, err := c.client.Runs().Items(t.Context(), run, starter.ItemFilter{States: []string{"running"}})
		return err == nil && len(jobs) == 1
	})
	err := testsuite.CancelItem(t.Context(), c.client.Temporal(), run.WorkflowID, contract.CancelItemInput{Key: files[2], Reason: "not now"})
	require.NoError(t, err)
	result := c.result(run, time.Minute)
	assert.Equal(t, contract.GroupCounts{Detected: 3, Accepted: 1, Batched: 2, Canceled: 1}, result.Counts)
	jobs, _, err := c.client.Runs().Items(t.Context(), run, starter.ItemFilter{DedupeKey: files[1]})
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	assert.Equal(t, "not now (with all 3 items of its batch)", jobs[0].Error)
	require.NoError(t, os.Remove(hold))
	assert.Equal(t, 1, c.result(c.run("pack"), time.Minute).Counts.Completed)
}
