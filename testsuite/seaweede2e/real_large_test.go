package seaweede2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/testsuite/sites"
)

// TestRealThousandVolumes balances a collection of 1,000 volumes until nothing is left to do.
func TestRealThousandVolumes(t *testing.T) {
	s := newRealSite(t)
	for i, server := range s.Servers()[:4] {
		s.Grow([]int{280, 240, 240, 240}[i], "000", server)
	}
	s.Write(3000, 2000, "000")
	s.Heartbeat()
	s.Verify()
	require.Equal(t, 1000, sum(s.volumes()))
	s.Apply(fmt.Sprintf("%scluster: {masters: [%q]}\njob_types:\n  large:\n    handler: volume_balance\n    schedule: {every: 365d, first_run: scheduled}\n    policy: {max_jobs_per_detection: 500, global_execution_concurrency: 16, per_worker_execution_concurrency: 16}\n    params: {collection_filter: \"^%s$\", imbalance_threshold: 0.001}\n", sites.Scaled, s.Master, s.Collection))
	s.Start("worker", "--id", "large", "--data-dir", s.Dir+"/large", "--max-execute", "16")
	s.AwaitFresh("large")
	before := s.volumes()
	began := time.Now()
	ref := s.Begin("large")
	result := s.Result(ref)
	took := time.Since(began)
	assert.Equal(t, contract.OutcomeCompleted, result.Outcome)
	assert.GreaterOrEqual(t, result.Counts.Completed, 20)
	s.Heartbeat()
	after := s.volumes()
	assert.Equal(t, 1000, sum(after))
	assert.LessOrEqual(t, slices.Max(after)-slices.Min(after), 1, "%v", after)
	s.Verify()
	s.Whole()
	t.Logf("%v volumes became %v by %d moves in %.1f s", before, after, result.Counts.Completed, took.Seconds())
}

// volumes counts the volumes of the collection on each server.
func (s *realSite) volumes() (counts []int) {
	s.t.Helper()
	for _, server := range s.Servers() {
		count := 0
		for _, disk := range server.Disks {
			for _, v := range disk.Volumes {
				if v.Collection == s.Collection {
					count++
				}
			}
		}
		counts = append(counts, count)
	}
	return counts
}

func sum(counts []int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}
