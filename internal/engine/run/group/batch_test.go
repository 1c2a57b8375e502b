package group

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// batchOf is a submitted group with batches, whose jobs have no worker yet.
func batchOf(size int, claims bool, list []jobtype.Proposal, keys []string) *Group {
	cfg := Config{
		JobType: "jt", Handler: "h", Claims: claims, Submitted: true, BatchSize: size, Budget: true,
		Policy: wide(jobtype.Policy{MaxJobsPerDetection: 1000}).WithDefaults(),
	}
	g := New(cfg, epoch)
	g.Next(epoch, Submitted{Proposals: list, BatchKeys: keys})
	full := node("a", 4)
	g.Next(epoch, Prepared{Workers: []Worker{full}})
	return g
}

// jobAt is the job of that number, open or not.
func jobAt(g *Group, n int) *job {
	known, err := g.jobs.Known()
	if err != nil {
		panic(err)
	}
	for _, j := range known {
		if j.N == n {
			return j
		}
	}
	return nil
}

// TestEveryProposalIsInOneJob compares the counts with a reference that does not gather batches.
func TestEveryProposalIsInOneJob(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 6).Draw(t, "size")
		n := rapid.IntRange(0, 60).Draw(t, "n")
		proposals, keys := make([]jobtype.Proposal, n), make([]string, n)
		for i := range proposals {
			proposals[i] = proposalGen().Draw(t, "proposal")
			proposals[i].ExpiresAt = time.Time{}
			proposals[i].DedupeKey = fmt.Sprintf("k%d", i)
			if rapid.IntRange(0, 9).Draw(t, "dag") == 0 {
				proposals[i].DAG = "tasks: {}"
			}
			if rapid.IntRange(0, 9).Draw(t, "large") == 0 {
				proposals[i].Detail = strings.Repeat("x", 100_000) // Three of them do not fit into one batch.
			}
			keys[i] = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "batch")
		}
		for i := range proposals {
			proposals[i].Detail = proposals[i].Detail[:min(len(proposals[i].Detail), 3000)]
		}
		g := batchOf(size, false, proposals, keys)
		checkBatches(t, g, size, proposals, keys)
		again := batchOf(size, false, proposals, keys)
		require.Equal(t, g.jobs, again.jobs, "the same proposals make the same jobs")
	})
}

// checkWork: a retry of the job submits the proposals of its batch, each with its own claims.
func checkWork(t *rapid.T, j *job, at []int, proposals []jobtype.Proposal) {
	var work contract.JobWork
	require.NoError(t, json.Unmarshal([]byte(j.Again()), &work))
	require.Len(t, work.Proposals, len(at))
	for i, n := range at {
		want, err := json.Marshal(proposals[n])
		require.NoError(t, err)
		got, err := json.Marshal(work.Proposals[i])
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got))
	}
	require.Equal(t, j.BatchKey, work.BatchKey)
}

func checkBatches(t *rapid.T, g *Group, size int, proposals []jobtype.Proposal, keys []string) {
	seen := map[string]int{}
	first := 0
	for _, j := range g.jobs.Sorted() {
		members := j.Keys()
		require.NotEmpty(t, members)
		require.LessOrEqual(t, len(members), size)
		at := make([]int, len(members))
		for i, key := range members {
			_, err := fmt.Sscanf(key, "k%d", &at[i])
			require.NoError(t, err)
			seen[key]++
		}
		require.True(t, slices.IsSorted(at), "in the order of detection")
		require.True(t, j.N == 1 || at[0] > first, "jobs are in the order of their first proposals")
		first = at[0]
		checkWork(t, j, at, proposals)
		total := 0
		for _, i := range at {
			p := proposals[i]
			total += proposed.Bytes(p)
			require.Equal(t, keys[at[0]], keys[i], "batches do not mix keys")
			require.Equal(t, proposals[at[0]].Node, p.Node)
			require.Equal(t, proposals[at[0]].Labels, p.Labels)
			require.GreaterOrEqual(t, j.Proposal.Priority.Rank(), p.Priority.Rank())
			require.False(t, j.Proposal.NotBefore.Before(p.NotBefore))
			require.True(t, p.ExpiresAt.IsZero() || !j.Proposal.ExpiresAt.After(p.ExpiresAt))
			require.Subset(t, j.Proposal.Exclusive, p.Exclusive)
			require.Subset(t, append(slices.Clone(j.Proposal.Shared), j.Proposal.Exclusive...), p.Shared)
			for pool, amount := range p.Resources {
				require.GreaterOrEqual(t, j.Proposal.Resources[pool], amount)
			}
			if len(at) > 1 {
				require.Empty(t, p.DAG, "a graph stands alone")
				require.NotEmpty(t, keys[i], "so does what has no batch")
			}
		}
		require.True(t, len(at) == 1 || total <= jobtype.MaxBatchBytes)
		until := j.Proposal.ExpiresAt
		require.True(t, len(at) == 1 || until.IsZero() || j.Proposal.NotBefore.Before(until), "the job can start")
		require.NoError(t, j.Proposal.Validate())
	}
	require.Len(t, seen, len(proposals))
	for key, times := range seen {
		require.Equal(t, 1, times, key)
	}
	c := g.Counts()
	require.Equal(t, contract.GroupCounts{Detected: len(proposals), Accepted: g.jobs.Open.Len(), Batched: len(proposals) - g.jobs.Open.Len()}, c)
}

func items(keys ...string) []jobtype.Proposal {
	list := make([]jobtype.Proposal, len(keys))
	for i, key := range keys {
		list[i] = jobtype.Proposal{DedupeKey: key, Params: fmt.Appendf(nil, `{"item":%q}`, key)}
	}
	return list
}

func TestBatchClaimsWhatItsItemsClaim(t *testing.T) {
	t.Parallel()
	list := items("a", "b", "c")
	list[0].Resources, list[0].Exclusive, list[0].Shared = map[string]int{"db": 2}, []string{"v/1"}, []string{"r/1", "v/2"}
	list[1].Resources, list[1].Exclusive = map[string]int{"db": 1, "net": 3}, []string{"v/2"}
	list[1].Priority, list[1].EstimatedRuntime = jobtype.PriorityHigh, jobtype.Duration(5*time.Hour)
	list[2].EstimatedRuntime, list[2].ExpiresAt = jobtype.Duration(6*time.Hour), epoch.Add(time.Hour)
	g := batchOf(10, false, list, []string{"x", "x", "x"})
	require.Equal(t, 1, g.jobs.Open.Len())
	assert.Equal(t, jobtype.Proposal{
		Summary: "x: batch of 3", Priority: jobtype.PriorityHigh, Resources: map[string]int{"db": 2, "net": 3},
		Exclusive: []string{"v/1", "v/2"}, Shared: []string{"r/1"}, EstimatedRuntime: jobtype.MaxEstimatedRuntime, ExpiresAt: epoch.Add(time.Hour),
	}, jobAt(g, 1).Proposal)
	assert.Equal(t, map[string]int{"db": 2}, list[0].Resources, "what was found is not changed")
	var claims []Claim
	for _, key := range []string{"a", "b", "c"} {
		claims = append(claims, Claim{Job: 1, Key: key, Hash: contract.DedupeHash("jt", key)})
	}
	assert.Equal(t, claims, g.Claims(false))
}

// TestJobsTakeWhatTheirTypeTakes of pools, or more if their proposal does.
func TestJobsTakeWhatTheirTypeTakes(t *testing.T) {
	t.Parallel()
	list := items("a", "b", "c")
	list[1].Resources = map[string]int{"disks": 3, "net": 1}
	list[2].Resources = map[string]int{"disks": 1}
	g := New(Config{JobType: "jt", Handler: "h", Submitted: true, Resources: map[string]int{"disks": 2}, Policy: wide(jobtype.Policy{}).WithDefaults()}, epoch)
	g.Next(epoch, Submitted{Proposals: list})
	for n, want := range []map[string]int{{"disks": 2}, {"disks": 3, "net": 1}, {"disks": 2}} {
		assert.Equal(t, want, g.cfg.item(jobAt(g, n+1)).Needs.Pools)
	}
	assert.Equal(t, map[string]int{"disks": 1}, list[2].Resources, "what was found is not changed")
}

// TestBatchWithoutActiveKeys: a member that is active elsewhere is left out, the
// others are done.
func TestBatchWithoutActiveKeys(t *testing.T) {
	t.Parallel()
	g := batchOf(2, true, items("a", "b", "c", "d"), []string{"x", "x", "x", "x"})
	commands := g.Next(epoch, KeysClaimed{Active: []Active{{Job: 2, Key: "b", By: "group/other"}}, Fence: 1, Fences: 10})
	assert.Equal(t, contract.GroupCounts{Detected: 4, Accepted: 2, Batched: 1, AlreadyActive: 1}, g.Counts())
	var told [][]jobtype.BatchItem
	for _, c := range commands {
		if start, ok := c.(StartJob); ok {
			told = append(told, start.Batch)
		}
	}
	assert.Equal(t, [][]jobtype.BatchItem{
		{{DedupeKey: "a", Params: []byte(`{"item":"a"}`)}, {DedupeKey: "c", Params: []byte(`{"item":"c"}`)}},
		{{DedupeKey: "d", Params: []byte(`{"item":"d"}`)}},
	}, told, "the batch is as full as it can be, and a single one is a batch, too")
}

func TestBatchIsFoundAndCanceledByAnyOfItsKeys(t *testing.T) {
	t.Parallel()
	g := batchOf(5, false, items("a", "b", "c"), []string{"x", "x", ""})
	g.Next(epoch, source.Paused{})
	byKey := func(g *Group) contract.JobsQueryResult {
		result, err := g.Jobs(contract.JobsQueryInput{DedupeKey: "b"}, epoch)
		require.NoError(t, err)
		require.Equal(t, 1, result.Total)
		return result
	}
	view := byKey(g).Jobs[0]
	assert.Equal(t, "a", view.DedupeKey)
	assert.Len(t, view.Batch, 2)
	g.Next(epoch, run.Ended{Item: 1, Attempt: 1, Ending: run.Ending{Failure: FailureAtCapacity}})
	g.Next(epoch, source.CancelItem{Key: "b", Reason: "not now"})
	assert.Equal(t, StateCanceled, jobAt(g, 1).State)
	assert.Equal(t, "not now (with all 2 items of its batch)", jobAt(g, 1).Error)
	data, err := g.Snapshot()
	require.NoError(t, err)
	restored, err := Restore(data, epoch)
	require.NoError(t, err)
	byKey(restored)
	assert.Empty(t, jobAt(restored, 1).Items[0].Params, "what only its execution needed does not travel")
}

// TestBatchLosesAnItemThatIsDoneOtherwise while it waits; the others stay.
func TestBatchLosesAnItemThatIsDoneOtherwise(t *testing.T) {
	t.Parallel()
	g := batchOf(5, true, items("a", "b"), []string{"x", "x"})
	g.Next(epoch, source.Paused{})
	g.Next(epoch, KeysClaimed{Fence: 1, Fences: 9})
	g.Next(epoch, KeyStopped{DedupeKey: "a", Done: true, Reason: "marked as done"})
	assert.Equal(t, []string{"b"}, jobAt(g, 1).Keys())
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 1, Disabled: 1}, g.Counts())
	g.Next(epoch, KeyStopped{DedupeKey: "b", Done: true, Reason: "marked as done"})
	assert.Equal(t, StateCanceled, jobAt(g, 1).State)
	assert.Equal(t, contract.GroupCounts{Detected: 2, Accepted: 1, Disabled: 1, Canceled: 1}, g.Counts())
}

func TestFailuresOfBatchesFitIntoOneReport(t *testing.T) {
	t.Parallel()
	var keys, batches []string
	for i := range 1000 {
		keys, batches = append(keys, fmt.Sprint(i)), append(batches, "x")
	}
	g := batchOf(100, false, items(keys...), batches)
	require.Equal(t, 10, g.jobs.Open.Len())
	for i := range 30 {
		g.noteFailure(jobAt(g, i%10+1), &run.Report{Message: fmt.Sprint(i)}, epoch)
	}
	failed := g.TakeEndings(epoch).Failed
	require.Len(t, failed, 20, "each is reported for 100 keys")
	assert.Equal(t, "29", failed[19].Message)
}
