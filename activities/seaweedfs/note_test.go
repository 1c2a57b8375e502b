package seaweedfs

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// lone is a cluster whose worker was killed between the mark of volume 1 and its copy. Its job has no attempt
// left.
func lone(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, 3, weed.KeeperOptions{})
	f.withFiler()
	for id := range uint32(2) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
	}
	move := f.detect("volume_balance", `{}`)[0]
	ctx, kill := context.WithCancelCause(t.Context())
	f.SetFault(func(_ context.Context, called, _ string) fakecluster.Verdict {
		if called == "VolumeCopy" {
			kill(jobtype.ErrLeaseLost)
			return fakecluster.FailBefore
		}
		return fakecluster.Pass
	})
	require.Error(t, f.execute(ctx, "volume_balance", `{}`, move).Err)
	f.SetFault(nil)
	holders, readOnly := f.Replicas(1)
	require.Equal(t, f.servers[:1], holders)
	require.Equal(t, f.servers[:1], readOnly)
	return f
}

// TestALoneSourceBecomesWritable: there is no copy, and only the note shows the move.
func TestALoneSourceBecomesWritable(t *testing.T) {
	t.Parallel()
	f := lone(t)
	found := f.detect("volume_balance", `{"min_server_count":10}`)
	require.Len(t, found, 1)
	assert.Equal(t, jobtype.PriorityHigh, found[0].Priority)
	assert.Regexp(t, "volume 1: make it writable again on "+f.servers[0], found[0].Summary)
	done := f.execute(t.Context(), "volume_balance", `{"min_server_count":10}`, found[0])
	require.NoError(t, done.Err)
	assert.Equal(t, "volume 1: writable again, which a move without an end had made read-only", done.Result.Summary)
	_, readOnly := f.Replicas(1)
	assert.Empty(t, readOnly)
	assert.Empty(t, f.detect("volume_balance", `{"min_server_count":10}`), "the note is gone")

	// A new mark does not belong to that move.
	require.NoError(t, f.MarkReadOnly(f.servers[0], 1, false))
	assert.Empty(t, f.detect("volume_balance", `{"min_server_count":10}`))
}

// TestAFailedRepairKeepsItsNote: the source is still read-only, and only the note shows that it was writable.
func TestAFailedRepairKeepsItsNote(t *testing.T) {
	t.Parallel()
	f := lone(t)
	repair := f.detect("volume_balance", `{"min_server_count":10}`)
	require.Len(t, repair, 1)
	for want, fails := range map[string]func(called, server string) bool{
		"CALL_FAILED":                      func(called, _ string) bool { return called == "VolumeMarkWritable" },
		"CANNOT_READ.* on " + f.servers[1]: func(_, server string) bool { return server == f.servers[1] },
		"CANNOT_READ.* on " + f.servers[0]: func(_, server string) bool { return server == f.servers[0] },
	} {
		f.SetFault(func(_ context.Context, called, server string) fakecluster.Verdict {
			if fails(called, server) {
				return fakecluster.FailBefore
			}
			return fakecluster.Pass
		})
		err := f.execute(t.Context(), "volume_balance", `{"min_server_count":10}`, repair[0]).Err
		require.Error(t, err)
		require.Regexp(t, want, err.Error())
		f.SetFault(nil)
		require.Equal(t, repair, f.detect("volume_balance", `{"min_server_count":10}`), want)
	}
}

// TestAMoveThatDoesNotSettleKeepsItsNote: the leftovers of an unsettled move are unknown, so its end lists none.
func TestAMoveThatDoesNotSettleKeepsItsNote(t *testing.T) {
	t.Parallel()
	f := lone(t)
	balance, ok := f.handlers["volume_balance"].(*handler)
	require.True(t, ok)
	cluster, err := balance.connections.of(f.block)
	require.NoError(t, err)
	hold, err := cluster.keeper.Enter(t.Context())
	require.NoError(t, err)
	move := &steps.Move{Volume: 1, Source: f.servers[0], Target: f.servers[1]}
	w := &walk{cluster: cluster, work: move, volume: 1, hold: hold, report: func(stage, message string) { t.Log(stage, message) }}
	w.forget(t.Context(), steps.End{Code: steps.TooManySteps})
	hold.Leave()
	repairs := f.detect("volume_balance", `{"min_server_count":10}`)
	require.Len(t, repairs, 1)
	assert.Regexp(t, "volume 1: make it writable again on "+f.servers[0], repairs[0].Summary)
}

// TestAnOperatorsMarkStays: a mark by `volume.mark -readonly` survives a restart, the mark of a move does not.
func TestAnOperatorsMarkStays(t *testing.T) {
	t.Parallel()
	f := lone(t)
	require.NoError(t, f.MarkReadOnly(f.servers[0], 1, true))
	found := f.detect("volume_balance", `{"min_server_count":10}`)
	require.Len(t, found, 1)
	done := f.execute(t.Context(), "volume_balance", `{"min_server_count":10}`, found[0])
	require.NoError(t, done.Err)
	assert.Contains(t, done.Result.Summary, "read-only on "+f.servers[0])
	_, readOnly := f.Replicas(1)
	assert.Equal(t, f.servers[:1], readOnly)
	assert.Empty(t, f.detect("volume_balance", `{"min_server_count":10}`), "the note is gone")
}

// TestAMoveLeavesNoNote: a move that ends removes its note, and continues without a filer.
func TestAMoveLeavesNoNote(t *testing.T) {
	t.Parallel()
	for _, verdict := range []fakecluster.Verdict{fakecluster.Pass, fakecluster.FailBefore} {
		f := newFixture(t, 3, weed.KeeperOptions{})
		f.withFiler()
		for id := range uint32(2) {
			f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
		}
		move := f.detect("volume_balance", `{}`)[0]
		puts := 0
		f.SetFault(func(_ context.Context, called, _ string) fakecluster.Verdict {
			if called == "KvPut" {
				puts++
				return verdict
			}
			return fakecluster.Pass
		})
		require.NoError(t, f.execute(t.Context(), "volume_balance", `{}`, move).Err)
		assert.NotZero(t, puts)
		holders, readOnly := f.Replicas(1)
		assert.Equal(t, f.servers[1:2], holders)
		assert.Empty(t, readOnly)
		cluster, err := weed.Dial(weed.Spec{Masters: []string{"127.0.0.1:1"}, Filers: []string{f.running.Filer}})
		require.NoError(t, err)
		notes, err := cluster.Notes(t.Context())
		require.NoError(t, err)
		require.NoError(t, cluster.Close())
		assert.Empty(t, notes)
	}
}

// TestALoneSourceWithACopyElsewhere: the source stays read-only, because two writable copies diverge.
func TestALoneSourceWithACopyElsewhere(t *testing.T) {
	t.Parallel()
	f := lone(t)
	found := f.detect("volume_balance", `{"min_server_count":10}`)
	require.Len(t, found, 1)
	_, err := f.Copy(f.servers[2], f.servers[0], 1)
	require.NoError(t, err)
	require.NoError(t, f.execute(t.Context(), "volume_balance", `{"min_server_count":10}`, found[0]).Err)
	_, readOnly := f.Replicas(1)
	assert.Equal(t, f.servers[:1], readOnly)
}
