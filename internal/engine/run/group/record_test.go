package group

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
)

// TestTheRecordKeepsEachJob: what is read is what was written, and a part of it is refused.
func TestTheRecordKeepsEachJob(t *testing.T) {
	t.Parallel()
	moments := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "unset") {
			return time.Time{}
		}
		return time.Unix(rapid.Int64Range(-1e9, 1e10).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).UTC()
	})
	jobs := rapid.Custom(func(t *rapid.T) *job {
		j := &job{
			N: rapid.IntRange(1, 1e6).Draw(t, "n"), Attempt: rapid.IntRange(0, 100).Draw(t, "attempt"), counted: true,
			State:  rapid.SampledFrom([]State{StateCompleted, StateCanceled, StateNotStarted, ""}).Draw(t, "state"),
			Worker: rapid.SampledFrom([]string{"", "node-a", "node-b"}).Draw(t, "worker"), Error: rapid.String().Draw(t, "error"),
			StartedAt: moments.Draw(t, "started"), EndedAt: moments.Draw(t, "ended"), Done: rapid.Float64().Draw(t, "done"),
		}
		j.Proposal.DedupeKey, j.Proposal.Summary = rapid.String().Draw(t, "key"), rapid.String().Draw(t, "summary")
		j.Proposal.Priority = rapid.SampledFrom([]jobtype.Priority{"", jobtype.PriorityHigh}).Draw(t, "priority")
		for i := range rapid.IntRange(0, 3).Draw(t, "items") {
			j.Items = append(j.Items, jobtype.BatchItem{DedupeKey: fmt.Sprint(i), Summary: rapid.String().Draw(t, "item")})
		}
		return j
	})
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(jobs, 0, 8).Draw(t, "jobs")
		packed := packEnded(list)
		got, err := unpackEnded(packed)
		require.NoError(t, err)
		require.Len(t, got, len(list))
		for i := range list {
			require.Equal(t, list[i], got[i])
		}
		if cut := rapid.IntRange(0, len(packed)-1).Draw(t, "cut"); cut > 0 {
			_, err = unpackEnded(packed[:cut])
			require.ErrorIs(t, err, errBadRecord)
		}
		_, _ = unpackEnded(rapid.SliceOf(rapid.Byte()).Draw(t, "noise")) // It must not panic.
	})
}

// TestEndedJobsAreListedAfterContinueAsNew: in a group of 10,000 none is lost, and each is
// found by its number and its key.
func TestEndedJobsAreListedAfterContinueAsNew(t *testing.T) {
	t.Parallel()
	const n, done = 10_000, 7_500
	found := make([]jobtype.Proposal, n)
	for i := range found {
		found[i] = jobtype.Proposal{
			DedupeKey: fmt.Sprintf("/srv/data/%02x/%06d/report-%04d.parquet", i%251, i*7919%999_983, i%1_000), Summary: fmt.Sprintf("compact report %d of the day", i),
		}
	}
	policy := jobtype.Policy{MaxJobsPerDetection: n, GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 4}
	s := play(t, policy, nodes(node("a", 4)), found...)
	for job := 1; job <= done; job++ {
		s.now = s.now.Add(3 * time.Millisecond)
		s.g.Next(s.now, Ran{run.Ended{Item: job, Attempt: 1, Ending: run.Ending{Duration: 2 * time.Millisecond}}})
	}
	all := contract.JobsQueryInput{Limit: n}
	before, err := s.g.Jobs(all, s.now)
	require.NoError(t, err)
	state, err := s.g.Snapshot()
	require.NoError(t, err)
	t.Logf("%d bytes of state", len(state))
	for range 3 {
		s.roll()
	}
	after, err := s.g.Jobs(all, s.now)
	require.NoError(t, err)
	require.Equal(t, n, after.Total)
	require.Equal(t, before.Jobs[:done], after.Jobs[:done])
	for _, job := range []int{1, done / 2, done} {
		one, err := s.g.Jobs(contract.JobsQueryInput{JobID: contract.JobID(job)}, s.now)
		require.NoError(t, err)
		require.Len(t, one.Jobs, 1)
		byKey, err := s.g.Jobs(contract.JobsQueryInput{DedupeKey: found[job-1].DedupeKey}, s.now)
		require.NoError(t, err)
		assert.Equal(t, one.Jobs, byKey.Jobs)
		assert.Equal(t, string(StateCompleted), one.Jobs[0].State)
	}
}

// TestAnEarlierStateIsRestored: its ended jobs are in the document, and nothing is behind it.
// A state whose record is damaged is refused.
func TestAnEarlierStateIsRestored(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{MaxJobsPerDetection: 10, GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 4}
	s := play(t, policy, nodes(node("a", 4)), jobtype.Proposal{DedupeKey: "one", Summary: "the first"}, jobtype.Proposal{DedupeKey: "two"})
	s.g.Next(s.now, Ran{run.Ended{Item: 1, Attempt: 1, Ending: run.Ending{Duration: time.Millisecond}}})
	want, err := s.g.Jobs(contract.JobsQueryInput{Limit: 10}, s.now)
	require.NoError(t, err)
	state, err := s.g.Snapshot()
	require.NoError(t, err)
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(state)))
	require.NoError(t, err)
	document, record, _ := bytes.Cut(raw, []byte("\n"))
	var earlier snapshot
	require.NoError(t, json.Unmarshal(document, &earlier))
	earlier.Ended, err = unpackEnded(record)
	require.NoError(t, err)
	require.Len(t, earlier.Ended, 1)
	old, err := json.Marshal(earlier)
	require.NoError(t, err)
	for _, ending := range []string{"", "\n"} {
		restored, err := Restore(deflated(t, append(old, ending...)), s.now)
		require.NoError(t, err)
		got, err := restored.Jobs(contract.JobsQueryInput{Limit: 10}, s.now)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = Restore(deflated(t, raw[:len(raw)-1]), s.now)
	require.ErrorIs(t, err, errBadRecord)
	_, err = Restore(deflated(t, append(raw, 0)), s.now)
	require.ErrorIs(t, err, errBadRecord)
}

func deflated(t *testing.T, raw []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	packer, err := flate.NewWriter(&out, flate.BestSpeed)
	require.NoError(t, err)
	_, err = packer.Write(raw)
	require.NoError(t, err)
	require.NoError(t, packer.Close())
	return out.Bytes()
}
