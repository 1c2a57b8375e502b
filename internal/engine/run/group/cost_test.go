package group

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// passes is how many jobs are ended, one in each pass.
const passes = 200

// bytesOfPass returns what one pass of a group's loop allocates while n jobs wait: the
// end of a job, the start of the next one, and what the workflow reads afterwards.
func bytesOfPass(t *testing.T, n int) float64 {
	t.Helper()
	var found []jobtype.Proposal
	for i := range n {
		found = append(found, jobtype.Proposal{DedupeKey: fmt.Sprintf("object/%06d", i)})
	}
	policy := jobtype.Policy{MaxJobsPerDetection: n, GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 4}
	s := playWith(t, Config{Policy: policy, Claims: true}, nodes(node("a", 4)), found...)
	s.step(KeysClaimed{})
	require.Equal(t, PhaseRunning, s.g.Phase())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for job := 1; job <= passes; job++ {
		s.now = s.now.Add(time.Millisecond)
		s.g.Observe(s.now, 10, 10, 0)
		s.g.Next(s.now, Ran{run.Ended{Item: job, Attempt: 1, Ending: run.Ending{Duration: time.Millisecond}}})
		s.g.Notes()
		s.g.NextWake()
		s.g.Summary(s.now)
		s.g.MainWait(s.now)
		require.False(t, s.g.ShouldContinueAsNew())
	}
	runtime.ReadMemStats(&after)
	require.Equal(t, passes, s.g.Counts().Completed)
	return float64(after.TotalAlloc-before.TotalAlloc) / passes
}

// TestAPassCostsTheSameHoweverManyJobsWait: a list of the jobs that wait, made once per
// pass, takes 8 bytes for each of them.
func TestAPassCostsTheSameHoweverManyJobsWait(t *testing.T) { //nolint:paralleltest // It measures what the process allocates.
	few, many := bytesOfPass(t, 1_000), bytesOfPass(t, 21_000)
	t.Logf("%.0f bytes at 1,000 jobs, %.0f at 21,000", few, many)
	assert.Less(t, many, few+20_000, "less than one byte for each of the 20,000 others")
}

// TestOpenJobsAreThoseOfAMap compares the jobs by number with a map of them.
func TestOpenJobsAreThoseOfAMap(t *testing.T) {
	t.Parallel()
	var open openJobs
	naive := map[int]*job{}
	at := func(second int) time.Time {
		if second == 0 {
			return time.Time{}
		}
		return epoch.Add(time.Duration(second) * time.Second)
	}
	check := func() {
		want := startBounds{}
		begun, endless, dags := false, false, 0
		for n := 1; n <= 60; n++ {
			j := naive[n]
			require.Same(t, j, open.get(n), n)
			if j == nil {
				continue
			}
			if !begun || j.Proposal.NotBefore.Before(want.first) {
				want.first = j.Proposal.NotBefore
			}
			begun, endless = true, endless || j.Proposal.ExpiresAt.IsZero()
			want.last = latestOf(want.last, j.Proposal.ExpiresAt)
			if j.Proposal.DAG != "" {
				dags++
			}
		}
		if endless {
			want.last = time.Time{}
		}
		require.Equal(t, want, open.bounds())
		require.Equal(t, len(naive), open.len())
		require.Equal(t, dags, open.dags)
		last := 0
		for _, j := range open.sorted() {
			require.Greater(t, j.N, last)
			require.Same(t, naive[j.N], j)
			last = j.N
		}
		require.Len(t, open.sorted(), len(naive))
	}
	for _, n := range []int{3, 1, 2, 7, 50, 20, 21} {
		j := &job{N: n, Proposal: jobtype.Proposal{NotBefore: at(n % 3), ExpiresAt: at(100 + n)}}
		if n%2 == 0 {
			j.Proposal.DAG = "steps: []"
		}
		open.put(j)
		naive[n] = j
		check()
	}
	open.remove(&job{N: 7}) // It is another one.
	check()
	for _, n := range []int{1, 50, 2, 3, 21, 7, 20} {
		open.remove(naive[n])
		delete(naive, n)
		check()
	}
	assert.Nil(t, open.get(0))
	assert.Nil(t, open.get(1_000))
}
