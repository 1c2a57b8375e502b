package group

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/record"
	"github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/internal/engine/run/group/openjobs"
	"github.com/roundsman/roundsman/internal/engine/run/source"
	"github.com/roundsman/roundsman/internal/lib/pack"
	"github.com/roundsman/roundsman/jobtype"
)

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
	stored, refused := map[string][]byte{}, 0
	next := func(event source.Event) {
		for _, command := range s.g.Next(s.now, event) {
			if store, ok := command.(StoreRecord); ok {
				stored[contract.PageName(store.Segment)] = slices.Clone(store.Segment)
				require.False(t, s.g.ShouldContinueAsNew(), "the answer would be lost")
			}
		}
	}
	for job := 1; job <= done; job++ {
		s.now = s.now.Add(3 * time.Millisecond)
		next(run.Ended{Item: job, Attempt: 1, Ending: run.Ending{Duration: 2 * time.Millisecond}})
		if len(stored) == 1 && refused == 0 {
			refused++
			next(RecordNotStored{})
			again := s.g.NextWake()
			require.WithinRange(t, again, s.now.Add(time.Second), s.now.Add(10*time.Second))
			s.now = again
			clear(stored)
			next(run.Tick{})
			require.Len(t, stored, 1, "it is ordered again")
			for name := range stored {
				next(RecordStored{Page: name})
			}
		}
	}
	require.Len(t, stored, 1)
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
	require.Equal(t, before, after)
	require.Len(t, after.Record, 1)
	past := after.Record[0].States[contract.JobCompleted]
	require.Equal(t, n, after.Total+past)
	paged, err := record.Read(stored[after.Record[0].Page])
	require.NoError(t, err)
	require.Len(t, paged, past)
	for i, j := range paged {
		require.Equal(t, i+1, j.N)
		require.Equal(t, found[i].DedupeKey, j.Key)
	}
	for _, job := range []int{past + 1, done, n} {
		one, err := s.g.Jobs(contract.JobsQueryInput{JobID: contract.JobID(job)}, s.now)
		require.NoError(t, err)
		require.Len(t, one.Jobs, 1)
		byKey, err := s.g.Jobs(contract.JobsQueryInput{DedupeKey: found[job-1].DedupeKey}, s.now)
		require.NoError(t, err)
		assert.Equal(t, one.Jobs, byKey.Jobs)
	}
}

// TestWorkThatWasNotDoneIsKept: of a job that failed or never ran the record has the whole
// proposal, of one that was done it has none.
func TestWorkThatWasNotDoneIsKept(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{MaxJobsPerDetection: 10, GlobalExecutionConcurrency: 2, PerWorkerExecutionConcurrency: 2, RetryLimit: 0}
	found := make([]jobtype.Proposal, 3)
	for i, key := range []string{"done", "failed", "missed"} {
		found[i] = jobtype.Proposal{
			DedupeKey: key, Summary: "about " + key, Node: "a", Params: json.RawMessage(`{"path":"/` + key + `"}`),
		}
	}
	found[2].Resources, found[2].Exclusive = map[string]int{"io": 2}, []string{"volume/7"}
	s := play(t, policy, nodes(node("a", 2)), found...)
	s.end(1, contract.FailureNone)
	s.end(2, contract.FailurePermanent)
	s.step(source.Canceled{Reason: "enough"})
	for range 2 {
		listed, err := s.g.Jobs(contract.JobsQueryInput{Work: true}, s.now)
		require.NoError(t, err)
		require.Len(t, listed.Jobs, 3)
		assert.Empty(t, listed.Jobs[0].Work)
		for i := 1; i < 3; i++ {
			var work contract.JobWork
			require.NoError(t, json.Unmarshal([]byte(listed.Jobs[i].Work), &work))
			assert.Equal(t, contract.JobWork{Proposals: found[i : i+1]}, work)
		}
		s.roll()
	}
	short, err := s.g.Jobs(contract.JobsQueryInput{}, s.now)
	require.NoError(t, err)
	assert.Empty(t, short.Jobs[1].Work, "lists do not carry it")
}

// TestADamagedStateIsRefused: its record is cut off, or something is behind it.
func TestADamagedStateIsRefused(t *testing.T) {
	t.Parallel()
	policy := jobtype.Policy{MaxJobsPerDetection: 10, GlobalExecutionConcurrency: 4, PerWorkerExecutionConcurrency: 4}
	s := play(t, policy, nodes(node("a", 4)), jobtype.Proposal{DedupeKey: "one", Summary: "the first"}, jobtype.Proposal{DedupeKey: "two"})
	s.g.Next(s.now, run.Ended{Item: 1, Attempt: 1, Ending: run.Ending{Duration: time.Millisecond}})
	state, err := s.g.Snapshot()
	require.NoError(t, err)
	raw, err := pack.Open(state, maxSnapshotBytes)
	require.NoError(t, err)
	_, err = Restore(pack.Bytes(raw[:len(raw)-1]), s.now)
	require.ErrorIs(t, err, record.ErrDamaged)
	_, err = Restore(pack.Bytes(append(raw, 1)), s.now)
	require.ErrorIs(t, err, record.ErrDamaged)
}

// TestLongTextsFollowTheDocument: the DAG of an open job is in the state once, and not as JSON.
func TestLongTextsFollowTheDocument(t *testing.T) {
	t.Parallel()
	graph := "version: 1\nname: heavy\ntasks: [{id: a, noop: true}]\n# " + strings.Repeat(`"<>&`, 1000) + "\n"
	policy := jobtype.Policy{MaxJobsPerDetection: 10, GlobalExecutionConcurrency: 1, PerWorkerExecutionConcurrency: 1}
	s := play(t, policy, nodes(node("a", 4)), jobtype.Proposal{DedupeKey: "small"}, jobtype.Proposal{DedupeKey: "large", DAG: graph})
	state, err := s.g.Snapshot()
	require.NoError(t, err)
	raw, err := pack.Open(state, maxSnapshotBytes)
	require.NoError(t, err)
	document, rest, _ := bytes.Cut(raw, []byte("\n"))
	assert.NotContains(t, string(document), "heavy")
	assert.Contains(t, string(rest), graph)
	_, err = Restore(pack.Bytes(raw[:len(raw)-100]), s.now)
	require.ErrorIs(t, err, openjobs.ErrTexts)
	s.roll()
	assert.Equal(t, graph, s.g.jobs.Open.Get(2).Proposal.DAG)
	assert.Equal(t, 1, s.g.jobs.Open.DAGs)
}
