package group

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
	"github.com/roundsman/roundsman/internal/engine/run/group/proposed"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/jobtype"
)

// passes is how many jobs are ended, one in each pass.
const passes = 200

// bytesOfPass returns the allocations of one pass of a group's loop while n jobs wait: the end of a job, the start of
// the next one, and the reads of the workflow.
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
		s.g.engine.Observe(s.now, 10, 10, 0)
		s.g.Next(s.now, run.Ended{Item: job, Attempt: 1, Ending: run.Ending{Duration: time.Millisecond}})
		s.g.engine.Notes()
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
	var open openjobs.List
	naive := map[int]*job{}
	at := func(second int) time.Time {
		if second == 0 {
			return time.Time{}
		}
		return epoch.Add(time.Duration(second) * time.Second)
	}
	check := func() {
		want := openjobs.StartBounds{}
		begun, endless, dags := false, false, 0
		for n := 1; n <= 60; n++ {
			j := naive[n]
			require.Same(t, j, open.Get(n), n)
			if j == nil {
				continue
			}
			if !begun || j.Proposal.NotBefore.Before(want.First) {
				want.First = j.Proposal.NotBefore
			}
			begun, endless = true, endless || j.Proposal.ExpiresAt.IsZero()
			want.Last = instant.Later(want.Last, j.Proposal.ExpiresAt)
			if j.Proposal.DAG != "" {
				dags++
			}
		}
		if endless {
			want.Last = time.Time{}
		}
		require.Equal(t, want, open.Bounds())
		require.Equal(t, len(naive), open.Len())
		require.Equal(t, dags, open.DAGs)
		last := 0
		for _, j := range open.Sorted() {
			require.Greater(t, j.N, last)
			require.Same(t, naive[j.N], j)
			last = j.N
		}
		require.Len(t, open.Sorted(), len(naive))
	}
	for _, n := range []int{3, 1, 2, 7, 50, 20, 21} {
		j := &job{N: n, Work: proposed.Work{Proposal: jobtype.Proposal{NotBefore: at(n % 3), ExpiresAt: at(100 + n)}}}
		if n%2 == 0 {
			j.Proposal.DAG = "steps: []"
		}
		open.Put(j)
		naive[n] = j
		check()
	}
	open.Remove(&job{N: 7}) // It is another one.
	check()
	for _, n := range []int{1, 50, 2, 3, 21, 7, 20} {
		open.Remove(naive[n])
		delete(naive, n)
		check()
	}
	assert.Nil(t, open.Get(0))
	assert.Nil(t, open.Get(1_000))
}

// TestAGroupThatIsTooLargeIsRefusedAtOnce: a Schedule may have a setting of an earlier version. The group does not
// detect, and holds no lane.
func TestAGroupThatIsTooLargeIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{MaxJobsPerDetection: jobtype.MaxJobsLimit + 1}
	s := open(t, Config{Policy: policy, Claims: true, Turn: true, Lane: "default"}, node("a", 4))
	s.begin()
	outcome, why := s.outcome()
	assert.Equal(t, contract.OutcomeFailed, outcome)
	assert.Equal(t, "INVALID: max_jobs_per_detection is 1000001, a group has at most 1000000: `roundsman set jt max_jobs_per_detection=1000000`", why)
	require.Len(t, s.all, 1, "it requests nothing: %v", s.all)
	assert.Equal(t, contract.CodeInvalid, s.g.Result(s.now).Code)

	policy.MaxJobsPerDetection = jobtype.MaxJobsLimit
	s = open(t, Config{Policy: policy, Claims: true}, node("a", 4))
	s.begin()
	assert.Equal(t, PhaseDetecting, s.g.Phase())
}

// TestAFullAdmissionIsAskedAgain: all groups together hold too many keys. The group waits with a reason, and repeats its claim
// after longer and longer pauses, but not while it is paused. Its end counts all proposals.
func TestAFullAdmissionIsAskedAgain(t *testing.T) {
	t.Parallel()
	begin := func() *script {
		s := open(t, Config{Policy: wide(jobtype.Policy{MaxRuntime: seconds(1000)}), Claims: true, Turn: true, Lane: "default"}, node("a", 4))
		s.begin()
		s.step(TurnGranted{})
		s.detected(jobtype.Proposal{DedupeKey: "a"}, jobtype.Proposal{DedupeKey: "b"}, jobtype.Proposal{DedupeKey: "c"})
		require.Equal(t, PhaseClaiming, s.g.Phase())
		return s
	}
	refusal := contract.AdmissionRefusal{Code: contract.RefusedFull, Object: contract.FullKeys, N: 3, Used: 119_998, Limit: 120_000}
	refused := ClaimsRefused{Code: contract.Code(refusal.Code), Reason: refusal.String()}
	s := begin()
	for _, pause := range []time.Duration{5 * time.Second, 10 * time.Second} {
		require.Empty(t, s.step(refused))
		s.roll()
		wait := s.g.Waits(s.now)
		require.Len(t, wait, 1)
		assert.Equal(t, contract.WaitReason{
			Code: string(contract.CodeClaims), Since: wait[0].Since, Until: s.now.Add(pause), Detail: refusal.String(), Items: 3,
		}, wait[0])
		assert.Equal(t, s.now.Add(pause), s.g.NextWake())
		require.Empty(t, s.wait(pause-time.Second))
		assert.Equal(t, ClaimKeys{}, only[ClaimKeys](t, s.wait(time.Second)))
	}
	s.step(refused)
	s.step(source.Paused{})
	require.Empty(t, s.wait(time.Minute))
	only[ClaimKeys](t, s.step(source.Resumed{}))
	s.step(KeysClaimed{Fence: 1, Fences: 100})
	assert.Equal(t, PhaseRunning, s.g.Phase())
	assert.Empty(t, s.g.Waits(s.now))

	s = begin()
	s.step(refused)
	s.step(source.Canceled{Reason: "no more"})
	outcome, why := s.outcome()
	assert.Equal(t, contract.OutcomeCanceled, outcome)
	assert.Equal(t, "no more", why)
	assert.Equal(t, contract.GroupCounts{Detected: 3, Accepted: 3, Canceled: 3}, s.g.Counts())

	s = begin()
	commands := s.step(ClaimsRefused{Code: contract.CodeInvalid, Reason: "the request breaks a rule"})
	outcome, why = s.outcome()
	assert.Equal(t, contract.OutcomeFailed, outcome)
	assert.Equal(t, "INVALID: the claims were refused: the request breaks a rule", why)
	_, left := find[LeaveTurn](commands)
	assert.True(t, left, "its lane is free")
	assert.Equal(t, contract.GroupCounts{Detected: 3, Accepted: 3, NotStarted: 3}, s.g.Counts())
	assert.Empty(t, s.g.FailedDetector(), "the detector did what it should")
}
