package seaweedfs

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// TestADetectionRepairsWhatAKilledJobLeft: the worker is killed after the copy, and its job has no attempt
// left.
func TestADetectionRepairsWhatAKilledJobLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3, weed.KeeperOptions{})
	for id := range uint32(2) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
	}
	found := f.detect("volume_balance", `{}`)
	require.NotEmpty(t, found)
	ctx, kill := context.WithCancelCause(t.Context())
	f.SetFault(func(_ context.Context, called, _ string) fakecluster.Verdict {
		if called == "VolumeTailReceiver" {
			kill(jobtype.ErrLeaseLost)
		}
		return fakecluster.Pass
	})
	require.Error(t, f.execute(ctx, "volume_balance", `{}`, found[0]).Err)
	f.SetFault(nil)
	holders, readOnly := f.Replicas(1)
	require.Equal(t, f.servers[:2], holders)
	require.Equal(t, f.servers[:1], readOnly)
	// A client writes to the copy meanwhile.
	require.True(t, f.Write(1, 1<<32+99, 50))

	repairs := f.detect("volume_balance", `{}`)
	require.NotEmpty(t, repairs)
	assert.Equal(t, found[0].DedupeKey, repairs[0].DedupeKey, "one of both at a time")
	assert.Equal(t, jobtype.PriorityHigh, repairs[0].Priority)
	assert.Regexp(t, "volume 1: complete its move from "+f.servers[0]+`.* to `+f.servers[1], repairs[0].Summary)
	done := f.execute(t.Context(), "volume_balance", `{}`, repairs[0])
	require.NoError(t, done.Err)
	assert.Equal(t, "volume 1: its move is completed, which an earlier job had left", done.Result.Summary)
	holders, readOnly = f.Replicas(1)
	assert.Equal(t, f.servers[1:2], holders)
	assert.Empty(t, readOnly)
	for _, object := range []uint64{0, 1, 2, 99} {
		assert.True(t, f.Readable(1, 1<<32+object))
	}
	// Again, it finds nothing to repair.
	assert.NoError(t, f.execute(t.Context(), "volume_balance", `{}`, repairs[0]).Err)
}

// TestARepairKeepsNewerWrites: clients overwrite and delete objects in the copy of a killed worker. Neither a
// repair nor the next attempt restores the old ones.
func TestARepairKeepsNewerWrites(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		f := newFixture(t, 3, weed.KeeperOptions{})
		for id := range uint32(2) {
			f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
		}
		move := f.detect("volume_balance", `{}`)[0]
		ctx, kill := context.WithCancelCause(t.Context())
		f.SetFault(func(_ context.Context, called, _ string) fakecluster.Verdict {
			if called == "VolumeTailReceiver" {
				kill(jobtype.ErrLeaseLost)
			}
			return fakecluster.Pass
		})
		require.Error(t, f.execute(ctx, "volume_balance", `{}`, move).Err)
		f.SetFault(nil)
		require.True(t, f.Write(1, 1<<32, 77))
		require.True(t, f.Erase(1, 1<<32+1))
		job := f.job(`{}`, move)
		if job.Attempt = 2; !again {
			job = f.job(`{}`, f.detect("volume_balance", `{}`)[0])
		}
		require.NoError(t, jobtypetest.Execute(t.Context(), f.handlers["volume_balance"], job).Err)
		holders, readOnly := f.Replicas(1)
		assert.Equal(t, f.servers[1:2], holders)
		assert.Empty(t, readOnly)
		assert.EqualValues(t, 77, f.Size(f.servers[1], 1, 1<<32), "the newer content")
		assert.False(t, f.Readable(1, 1<<32+1), "it was deleted")
		assert.True(t, f.Readable(1, 1<<32+2))
	}
}

// TestAMoveWaitsForACopyUnderWay: the worker that requested the copy was killed, and the server continues the
// copy. A second copy at the same time would overwrite it. The first one is useless too, because its server
// removes its files when it cannot answer.
func TestAMoveWaitsForACopyUnderWay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3, weed.KeeperOptions{})
	for id := range uint32(2) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
	}
	found := f.detect("volume_balance", `{}`)
	require.NotEmpty(t, found)
	require.NoError(t, f.MarkReadOnly(f.servers[0], 1, false))
	require.NoError(t, f.BeginCopy(f.servers[1], f.servers[0], 1))
	looks := 0
	var calls []string
	f.SetFault(func(_ context.Context, called, server string) fakecluster.Verdict {
		switch {
		case called == "VolumeCopy" || called == "VolumeDelete":
			assert.False(t, f.Arriving(f.servers[1], 1), called)
			calls = append(calls, called+" "+server)
		case called == "CopyFile" && server == f.servers[1]:
			if looks++; looks == 2 {
				f.EndCopies()
			}
		}
		return fakecluster.Pass
	})
	job := f.job(`{}`, found[0])
	job.Attempt = 2
	done := jobtypetest.Execute(t.Context(), f.handlers["volume_balance"], job)
	require.NoError(t, done.Err)
	assert.Equal(t, []string{"VolumeDelete " + f.servers[1], "VolumeCopy " + f.servers[1], "VolumeDelete " + f.servers[0]}, calls)
	f.SetDown(f.servers[1], true)
	f.SetDown(f.servers[1], false)
	holders, readOnly := f.Replicas(1)
	assert.Equal(t, f.servers[1:2], holders)
	assert.Empty(t, readOnly)
	assert.True(t, f.Readable(1, 1<<32))
}

// TestARepairRevertsASurplusCopy: a failed move left a read-only copy next to its writable source. The copy is
// deleted, and newer writes to the source stay.
func TestARepairRevertsASurplusCopy(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3, weed.KeeperOptions{})
	f.Put(fakecluster.Volume{ID: 1, Objects: 3, ObjectSize: 1000}, f.servers[0], f.servers[1])
	require.NoError(t, f.MarkReadOnly(f.servers[1], 1, true))
	require.True(t, f.Write(1, 1<<32, 77))
	require.True(t, f.Erase(1, 1<<32+1))
	found := f.detect("volume_balance", `{}`)
	require.NotEmpty(t, found)
	require.NoError(t, f.execute(t.Context(), "volume_balance", `{}`, found[0]).Err)
	holders, readOnly := f.Replicas(1)
	assert.Equal(t, f.servers[:1], holders)
	assert.Empty(t, readOnly)
	assert.EqualValues(t, 77, f.Size(f.servers[0], 1, 1<<32))
	assert.False(t, f.Readable(1, 1<<32+1), "it was deleted")
}

// TestAnEncodingThatIsMadeAgainRemovesUnmountedShards: their server would mount them at its next restart.
func TestAnEncodingThatIsMadeAgainRemovesUnmountedShards(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		var topology plan.Topology
		for _, address := range []string{"a:1", "b:1", "c:1"} {
			topology.Servers = append(topology.Servers, plan.Server{Address: address})
		}
		topology.Servers[1].Disks = []plan.Disk{{Shards: []plan.Shards{{ID: 7, Bits: 1}}}}
		s := &encodeSettings{Target: &target{Volume: 7, Again: again, Targets: []steps.Placement{{Server: "a:1"}}}}
		work, _, err := s.work(topology)
		require.NoError(t, err)
		want := []string{"b:1"}
		if again {
			want = []string{"a:1", "b:1", "c:1"}
		}
		encode, ok := work.(*steps.Encode)
		require.True(t, ok)
		assert.Equal(t, want, encode.Holders)
	}
}

// TestAnEncodingWithoutAnAttemptIsMadeAgain: its worker was killed, and then the server with one of two
// replicas.
func TestAnEncodingWithoutAnAttemptIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, complete := range []bool{true, false} {
		madeAgain(t, complete)
	}
}

// madeAgain kills the server after its .vif file, or before it.
func madeAgain(t *testing.T, complete bool) {
	t.Helper()
	const params = `{"quiet_for_seconds":0,"fullness_ratio":0,"min_size_mb":1}`
	f := newFixture(t, 4, weed.KeeperOptions{})
	f.Put(fakecluster.Volume{ID: 1, Objects: 3, ObjectSize: 1 << 20, Placement: 1}, f.servers[0], f.servers[1])
	require.True(t, f.Write(1, 7, 100)) // both have other sizes
	for _, server := range f.servers[:2] {
		require.NoError(t, f.MarkReadOnly(server, 1, true))
	}
	require.NoError(t, f.EcGenerate(f.servers[0], 1, ""))
	if !complete {
		f.LoseVif(f.servers[0], 1)
	}
	f.SetDown(f.servers[0], true)
	f.SetDown(f.servers[0], false)
	found := f.detect("erasure_coding", params)
	require.Len(t, found, 1)
	assert.Contains(t, string(found[0].Params), `"again":true`)
	assert.Contains(t, found[0].Summary, "an encoding did not end, make all shards again")
	done := f.execute(t.Context(), "erasure_coding", params, found[0])
	require.NoError(t, done.Err)
	assert.Contains(t, done.Result.Summary, "encoded; left behind: files of the replica on "+f.servers[0])
	holders, _ := f.Replicas(1)
	assert.Empty(t, holders)
	shards := 0
	for server, held := range f.ShardHolders(1) {
		assert.LessOrEqual(t, len(held), 4, server)
		shards += len(held)
	}
	assert.Equal(t, 14, shards)
	assert.True(t, f.Readable(1, 7))
	assert.Empty(t, f.detect("erasure_coding", params))
}
