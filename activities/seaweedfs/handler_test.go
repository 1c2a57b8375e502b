package seaweedfs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

func TestVacuum(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3, weed.KeeperOptions{})
	f.Put(fakecluster.Volume{ID: 7, Collection: "photos", Objects: 10, Deleted: 5, ObjectSize: 1000, Placement: 1}, f.servers[0], f.servers[2])
	f.Put(fakecluster.Volume{ID: 8, Objects: 10, Deleted: 1, ObjectSize: 1000}, f.servers[1])
	f.Put(fakecluster.Volume{ID: 9, Objects: 10, Deleted: 9, ObjectSize: 1000}, f.servers[1])

	found := f.detect("vacuum", `{}`)
	require.Len(t, found, 2)
	assert.Equal(t, "vacuum:7:photos", found[0].DedupeKey)
	assert.Equal(t, []string{"volume/7"}, found[0].Exclusive)
	assert.Equal(t, jobtype.Duration(300*time.Second), found[0].EstimatedRuntime)
	assert.Equal(t, jobtype.PriorityNormal, found[0].Priority)
	assert.Equal(t, "vacuum:9", found[1].DedupeKey)
	assert.Equal(t, jobtype.PriorityHigh, found[1].Priority)

	done := f.execute(t.Context(), "vacuum", `{}`, found[0])
	require.NoError(t, done.Err)
	assert.Equal(t, "volume 7: vacuumed", done.Result.Summary)
	for _, server := range []string{f.servers[0], f.servers[2]} {
		garbage, err := f.Check(server, 7)
		require.NoError(t, err)
		assert.Zero(t, garbage)
	}
	assert.Len(t, f.detect("vacuum", `{}`), 1)
	done = f.execute(t.Context(), "vacuum", `{}`, found[0])
	require.NoError(t, done.Err)
	assert.Equal(t, "volume 7: below the threshold", done.Result.Summary)
}

func TestMoveFinishesWhateverCallFails(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"VolumeMarkReadonly", "VolumeCopy", "VolumeTailReceiver", "VolumeDelete", "VolumeMarkWritable", "ReadVolumeFileStatus", "VolumeStatus", ""} {
		for _, verdict := range []fakecluster.Verdict{fakecluster.FailBefore, fakecluster.FailAfter, fakecluster.Lie} {
			t.Run(fmt.Sprintf("%s/%d", method, verdict), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, 3, weed.KeeperOptions{})
				for id := range uint32(6) {
					f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
				}
				found := f.detect("volume_balance", `{}`)
				require.NotEmpty(t, found)
				f.failOnce(method, verdict)
				job := f.job(`{}`, found[0])
				var done jobtypetest.Execution
				for attempt := 1; attempt <= 4; attempt++ {
					job.Attempt = attempt
					if done = jobtypetest.Execute(t.Context(), f.handlers["volume_balance"], job); done.Err == nil {
						break
					}
					job.Checkpoint = done.LastCheckpoint()
				}
				require.NoError(t, done.Err)
				holders, readOnly := f.Replicas(1)
				assert.Len(t, holders, 1)
				assert.Empty(t, readOnly)
				assert.NotEqual(t, f.servers[0], holders[0])
				for object := range uint64(3) {
					assert.True(t, f.Readable(1, 1<<32+object))
				}
			})
		}
	}
}

// failOnce judges the next call of a method.
func (f *fixture) failOnce(method string, verdict fakecluster.Verdict) {
	var done atomic.Bool
	f.SetFault(func(_ context.Context, called, _ string) fakecluster.Verdict {
		if called == method && done.CompareAndSwap(false, true) {
			return verdict
		}
		return fakecluster.Pass
	})
}

func TestEncodeThenBalanceShards(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 4, weed.KeeperOptions{})
	f.Put(fakecluster.Volume{ID: 5, Objects: 100, ObjectSize: 10_000, Placement: 1}, f.servers[0], f.servers[2])
	params := `{"min_size_mb":1,"fullness_ratio":0.5}`
	require.Empty(t, f.detect("erasure_coding", params), "below min_size_mb")
	f.Put(fakecluster.Volume{ID: 6, Objects: 110, ObjectSize: 10_000, Placement: 1}, f.servers[0], f.servers[2])
	found := f.detect("erasure_coding", params)
	require.Len(t, found, 1)
	assert.Equal(t, "erasure_coding:6", found[0].DedupeKey)
	done := f.execute(t.Context(), "erasure_coding", params, found[0])
	require.NoError(t, done.Err)
	holders, _ := f.Replicas(6)
	assert.Empty(t, holders)
	shards := f.ShardHolders(6)
	assert.Len(t, shards, 4)
	for server, ids := range shards {
		assert.LessOrEqual(t, len(ids), 4, server)
	}
	for object := range uint64(110) {
		assert.True(t, f.Readable(6, 6<<32+object))
	}
	require.Empty(t, f.detect("erasure_coding", params), "it has shards already")
	require.Empty(t, f.detect("ec_balance", `{}`), "it is spread as far as it goes")

	// A fifth server changes that.
	lonely := shards[f.servers[3]][0]
	require.NoError(t, f.EcCopy(f.servers[0], f.servers[3], 6, []uint32{lonely}, 0))
	require.NoError(t, f.EcMount(f.servers[0], 6, []uint32{lonely}))
	found = f.detect("ec_balance", `{}`)
	require.Len(t, found, 1)
	assert.Equal(t, jobtype.PriorityHigh, found[0].Priority, "a shard is there twice")
	require.NoError(t, f.execute(t.Context(), "ec_balance", `{}`, found[0]).Err)
	require.Empty(t, f.detect("ec_balance", `{}`))
	for object := range uint64(110) {
		assert.True(t, f.Readable(6, 6<<32+object))
	}
}

func TestEncodeUndoesAndSaysWhatItLeaves(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"VolumeEcShardsGenerate", "VolumeEcShardsCopy", "VolumeEcShardsMount"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, 4, weed.KeeperOptions{})
			f.Put(fakecluster.Volume{ID: 6, Objects: 110, ObjectSize: 10_000}, f.servers[1])
			params := `{"fullness_ratio":0.5,"min_size_mb":1}`
			found := f.detect("erasure_coding", params)
			require.Len(t, found, 1)
			f.SetFault(func(_ context.Context, called, _ string) fakecluster.Verdict {
				if called == method {
					return fakecluster.FailBefore
				}
				return fakecluster.Pass
			})
			done := f.execute(t.Context(), "erasure_coding", params, found[0])
			require.ErrorContains(t, done.Err, "CALL_FAILED: volume 6 was not changed")
			holders, readOnly := f.Replicas(6)
			assert.Len(t, holders, 1)
			assert.Empty(t, readOnly)
			assert.Empty(t, f.ShardHolders(6))
		})
	}
}

func TestKilledMoveIsFinishedByTheNextAttempt(t *testing.T) {
	t.Parallel()
	for calls := 1; calls <= 4; calls++ {
		for _, kept := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d/%v", calls, kept), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, 3, weed.KeeperOptions{})
				for id := range uint32(6) {
					f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
				}
				job := f.job(`{}`, f.detect("volume_balance", `{}`)[0])
				// ErrLeaseLost stops a handler at once, as a kill does, except for the lease.
				first := jobtypetest.Execute(t.Context(), f.handlers["volume_balance"], job, jobtypetest.CancelAtCheckpoint(calls, jobtype.ErrLeaseLost))
				require.ErrorIs(t, first.Err, jobtype.ErrLeaseLost)
				job.Attempt = 2
				if kept {
					job.Checkpoint = first.LastCheckpoint()
				}
				second := jobtypetest.Execute(t.Context(), f.process(weed.KeeperOptions{Linger: time.Millisecond})["volume_balance"], job)
				require.NoError(t, second.Err)
				holders, readOnly := f.Replicas(1)
				assert.Len(t, holders, 1)
				assert.Empty(t, readOnly)
			})
		}
	}
}

func TestCanceledMoveLeavesTheVolumeWritable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, weed.KeeperOptions{})
	for id := range uint32(6) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
	}
	job := f.job(`{}`, f.detect("volume_balance", `{}`)[0])
	done := jobtypetest.Execute(t.Context(), f.handlers["volume_balance"], job, jobtypetest.CancelAtCheckpoint(2, jobtype.ErrCanceled))
	require.ErrorContains(t, done.Err, "STOPPED")
	holders, readOnly := f.Replicas(1)
	assert.Equal(t, f.servers[:1], holders)
	assert.Empty(t, readOnly)
}

func TestLostLeaseStopsBeforeTheNextCall(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, weed.KeeperOptions{Renew: 20 * time.Millisecond, Valid: 200 * time.Millisecond, Retry: 20 * time.Millisecond})
	for id := range uint32(6) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
	}
	job := f.job(`{}`, f.detect("volume_balance", `{}`)[0])
	var cut atomic.Bool
	f.SetFault(func(ctx context.Context, called, _ string) fakecluster.Verdict {
		switch {
		case called == "VolumeCopy":
			cut.Store(true)
			<-ctx.Done() // the copy lasts until the lease is lost
			return fakecluster.Pass
		case cut.Load() && strings.HasSuffix(called, "AdminToken"):
			return fakecluster.FailBefore
		}
		return fakecluster.Pass
	})
	done := jobtypetest.Execute(t.Context(), f.handlers["volume_balance"], job)
	require.ErrorIs(t, done.Err, weed.ErrLeaseLost)
	calls := f.Calls()
	at := len(calls) - 1
	for at >= 0 && !strings.HasSuffix(calls[at], "VolumeCopy") {
		assert.True(t, strings.HasSuffix(calls[at], "AdminToken"), "%s after the lease was lost", calls[at])
		at--
	}
	f.SetFault(nil)
}

func TestJobsShareOneLeaseAndAreTrulyParallel(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3, weed.KeeperOptions{})
	for id := range uint32(8) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 10, Deleted: 5, ObjectSize: 1000}, f.servers[id%3])
	}
	found := f.detect("vacuum", `{}`)
	require.Len(t, found, 8)
	var now, most atomic.Int32
	together := make(chan struct{})
	f.SetFault(func(_ context.Context, called, _ string) fakecluster.Verdict {
		if called == "VacuumVolumeCompact" {
			if now.Add(1) == 4 {
				close(together)
			}
			most.Store(max(most.Load(), now.Load()))
			<-together
		}
		return fakecluster.Pass
	})
	var running sync.WaitGroup
	for _, proposal := range found[:4] {
		job := f.job(`{}`, proposal)
		running.Go(func() { assert.NoError(t, jobtypetest.Execute(t.Context(), f.handlers["vacuum"], job).Err) })
	}
	running.Wait()
	assert.EqualValues(t, 4, most.Load())
}

func TestOperatorGetsTheLeaseBetweenSteps(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, weed.KeeperOptions{Slice: 50 * time.Millisecond, Yield: 300 * time.Millisecond, Drain: 50 * time.Millisecond})
	for id := range uint32(40) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 10, Deleted: 5, ObjectSize: 1000}, f.servers[0])
	}
	found := f.detect("vacuum", `{}`)
	ctx, cancel := context.WithCancelCause(t.Context())
	var running sync.WaitGroup
	for worker := range 4 {
		running.Go(func() {
			for i := worker; ctx.Err() == nil; i = (i + 4) % len(found) {
				_ = jobtypetest.Execute(ctx, f.handlers["vacuum"], f.job(`{}`, found[i]))
			}
		})
	}
	require.Eventually(t, func() bool { return strings.HasPrefix(f.Holder("shell"), "roundsman@") }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool {
		_, _, err := f.Lease("shell", "operator", 0, 0)
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	cancel(jobtype.ErrCanceled)
	running.Wait()
}

func TestSettingsOutOfRangeAreRefused(t *testing.T) {
	t.Parallel()
	handlers := map[string]jobtype.Handler{}
	for _, handler := range New(NewConnections(weed.KeeperOptions{}), newRunner()) {
		handlers[handler.Descriptor().Name] = handler
		require.NoError(t, handler.Descriptor().Validate())
		require.NoError(t, jobtypetest.CheckSchemas(handler.Descriptor(), json.RawMessage(`{}`), nil, nil))
	}
	for params, want := range map[[2]string]string{
		{"vacuum", `{"garbage_threshold":7.5}`}:                "garbage_threshold",
		{"vacuum", `{"garbage":0.5}`}:                          "garbage",
		{"vacuum", `{"collection_filter":"("}`}:                "collection_filter",
		{"vacuum", `{"volume_state":"HALF"}`}:                  "volume_state",
		{"volume_balance", `{"max_concurrent_moves":51}`}:      "max_concurrent_moves",
		{"volume_balance", `{"min_server_count":1}`}:           "min_server_count",
		{"erasure_coding", `{"min_size_mb":0}`}:                "min_size_mb",
		{"erasure_coding", `{"replica_placement":"1x"}`}:       "replica_placement",
		{"ec_balance", `{"shard_replica_placement":"0220"}`}:   "shard_replica_placement",
		{"ec_balance", `{"imbalance_threshold":-0.1}`}:         "imbalance_threshold",
		{"admin_script", `{"run_interval_minutes":0}`}:         "run_interval_minutes",
		{"admin_script", `{"script":"volume.list","weed":""}`}: "weed",
	} {
		validator, ok := handlers[params[0]].(jobtype.SettingsValidator)
		require.True(t, ok)
		require.ErrorContains(t, validator.ValidateSettings(json.RawMessage(params[1]), nil, nil), want, "%v", params)
	}
}

// TestTheLeaseChangesHandsBeforeAJobBegins: an operator moves the volume meanwhile, and the job looks again.
func TestTheLeaseChangesHandsBeforeAJobBegins(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, weed.KeeperOptions{Slice: time.Millisecond, Yield: 2 * time.Second, Drain: 10 * time.Second})
	for id := range uint32(6) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
	}
	job := f.job(`{}`, f.detect("volume_balance", `{}`)[0])
	var slow sync.Once
	f.SetFault(func(_ context.Context, called, _ string) fakecluster.Verdict {
		if called == "VolumeStatus" {
			slow.Do(func() { <-time.After(50 * time.Millisecond) }) // the slice is over
		}
		return fakecluster.Pass
	})
	var running sync.WaitGroup
	running.Go(func() {
		require.Eventually(t, func() bool { return strings.HasPrefix(f.Holder("shell"), "roundsman@") }, time.Minute, time.Millisecond)
		var token, since int64
		require.Eventually(t, func() (got bool) {
			var err error
			token, since, err = f.Lease("shell", "operator", 0, 0)
			return err == nil
		}, time.Minute, time.Millisecond)
		_, err := f.Copy(f.servers[1], f.servers[0], 1)
		assert.NoError(t, err)
		assert.NoError(t, f.Delete(f.servers[0], 1))
		f.Release("shell", token, since)
	})
	done := jobtypetest.Execute(t.Context(), f.handlers["volume_balance"], job)
	running.Wait()
	require.NoError(t, done.Err)
	for _, call := range f.Calls() {
		assert.NotContains(t, call, "VolumeMarkReadonly")
	}
}

// TestShortCallsEndWithTheLease: a server refuses a call that arrives later.
func TestShortCallsEndWithTheLease(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, weed.KeeperOptions{})
	for id := range uint32(6) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
	}
	valid := weed.KeeperOptions{}.WithDefaults().Valid
	f.SetFault(func(ctx context.Context, called, _ string) fakecluster.Verdict {
		if called == "VolumeMarkReadonly" || called == "VolumeDelete" {
			deadline, ok := ctx.Deadline()
			assert.True(t, ok && time.Until(deadline) <= valid, "%s until %s", called, deadline)
		}
		return fakecluster.Pass
	})
	require.NoError(t, jobtypetest.Execute(t.Context(), f.handlers["volume_balance"], f.job(`{}`, f.detect("volume_balance", `{}`)[0])).Err)
}

// TestAnAttemptReadsTheCheckpoint: only the checkpoint has the fact that the volume was writable before.
func TestAnAttemptReadsTheCheckpoint(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, weed.KeeperOptions{})
	for id := range uint32(6) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
	}
	job := f.job(`{}`, f.detect("volume_balance", `{}`)[0])
	first := jobtypetest.Execute(t.Context(), f.handlers["volume_balance"], job, jobtypetest.CancelAtCheckpoint(2, jobtype.ErrLeaseLost))
	require.ErrorIs(t, first.Err, jobtype.ErrLeaseLost)
	_, readOnly := f.Replicas(1)
	require.Equal(t, f.servers[:1], readOnly)
	f.SetFault(func(_ context.Context, called, _ string) fakecluster.Verdict {
		if called == "VolumeCopy" {
			return fakecluster.FailBefore
		}
		return fakecluster.Pass
	})
	job.Attempt, job.Checkpoint = 2, first.LastCheckpoint()
	second := jobtypetest.Execute(t.Context(), f.process(weed.KeeperOptions{Linger: time.Millisecond})["volume_balance"], job)
	require.ErrorContains(t, second.Err, "CALL_FAILED")
	_, readOnly = f.Replicas(1)
	require.Empty(t, readOnly)
}

// TestABatchKeepsTheCheckpointOfAFailedMove: the other move writes the checkpoint of the batch after that failure.
func TestABatchKeepsTheCheckpointOfAFailedMove(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3, weed.KeeperOptions{})
	for id := range uint32(4) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
	}
	params := `{"max_concurrent_moves":1}` // one after the other
	found := f.detect("volume_balance", params)
	require.Len(t, found, 2)
	job, err := jobtypetest.BatchOf(f.input(params), found, nil)
	require.NoError(t, err)
	failing := []string{"VolumeCopy", "VolumeMarkWritable"}
	f.SetFault(func(_ context.Context, called, _ string) fakecluster.Verdict {
		_, first := f.Replicas(1)
		if _, second := f.Replicas(2); len(first) > 0 && len(second) == 0 && slices.Contains(failing, called) {
			return fakecluster.FailBefore
		}
		return fakecluster.Pass
	})
	first := jobtypetest.Execute(t.Context(), f.handlers["volume_balance"], job)
	require.ErrorContains(t, first.Err, "CALL_FAILED: volume 1 ")
	_, readOnly := f.Replicas(1)
	require.Equal(t, f.servers[:1], readOnly)

	failing = failing[:1]
	job.Attempt, job.Checkpoint = 2, first.LastCheckpoint()
	second := jobtypetest.Execute(t.Context(), f.handlers["volume_balance"], job)
	require.ErrorContains(t, second.Err, "CALL_FAILED: volume 1 ")
	_, readOnly = f.Replicas(1)
	assert.Empty(t, readOnly)
}

// TestABatchMovesAtMostSoManyAtOnce runs twelve moves under max_concurrent_moves: 3, and checks that copies
// have their IO limit.
func TestABatchMovesAtMostSoManyAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3, weed.KeeperOptions{})
	for id := range uint32(9) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 3, ObjectSize: 1000}, f.servers[0])
	}
	params := `{"max_concurrent_moves":3,"io_byte_per_second":4096}`
	found := f.detect("volume_balance", params)
	require.GreaterOrEqual(t, len(found), 4)
	job := f.job(params, found[0])
	for _, proposal := range found {
		job.Batch = append(job.Batch, jobtype.BatchItem{DedupeKey: proposal.DedupeKey, Params: f.job(params, proposal).Params})
	}
	var now, most atomic.Int32
	third, once := make(chan struct{}), sync.Once{}
	f.SetFault(func(_ context.Context, called, _ string) fakecluster.Verdict {
		switch called {
		case "VolumeCopy":
			n := now.Add(1)
			most.Store(max(most.Load(), n))
			if n == 3 {
				once.Do(func() { close(third) })
			}
			<-third // three run together
		case "VolumeDelete":
			now.Add(-1)
		}
		return fakecluster.Pass
	})
	done := jobtypetest.Execute(t.Context(), f.handlers["volume_balance"], job)
	require.NoError(t, done.Err)
	assert.EqualValues(t, 3, most.Load())
	for _, limit := range f.CopyLimits() {
		assert.EqualValues(t, 4096, limit)
	}
	for _, proposal := range found {
		var id uint32
		_, err := fmt.Sscanf(proposal.DedupeKey, "volume_balance:%d", &id)
		require.NoError(t, err)
		holders, _ := f.Replicas(id)
		assert.Len(t, holders, 1)
		assert.NotEqual(t, f.servers[0], holders[0])
	}
}
