package steps_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// seeing is an encoding with changed views.
type seeing struct {
	*steps.Encode
	alter func(steps.View)
}

func (s seeing) Decide(seen steps.View) steps.Step {
	s.alter(seen)
	return s.Encode.Decide(seen)
}

// hiddenNextTo has a server that hides its replica of volume 2 next to a few shards.
func hiddenNextTo(t *testing.T) *fakecluster.Cluster {
	t.Helper()
	c := fourServers()
	for _, server := range []string{"a:1", "b:1"} {
		require.NoError(t, c.MarkReadOnly(server, 2, true))
	}
	require.NoError(t, c.EcGenerate("b:1", 2, ""))
	require.NoError(t, c.EcCopy("a:1", "b:1", 2, []uint32{0, 1, 2}, 0))
	c.SetDown("a:1", true)
	c.SetDown("a:1", false)
	require.Len(t, c.ShardHolders(2)["a:1"], 3)
	return c
}

// TestAReplicaThatIsHiddenNextToAFewShardsIsNamed: its shards are removed, so the next restart of its server
// loads it.
func TestAReplicaThatIsHiddenNextToAFewShardsIsNamed(t *testing.T) {
	t.Parallel()
	for _, failing := range []bool{false, true} {
		for _, loaded := range []bool{false, true} {
			c := hiddenNextTo(t)
			job := seeing{encodeOf(c, 2, []string{"b:1"}, []string{"b:1", "c:1", "d:1"}), func(seen steps.View) {
				if _, ok := seen.Replicas["a:1"]; ok && loaded {
					seen.Replicas["a:1"] = steps.Replica{Presence: steps.Present}
				}
			}}
			end, _ := walk(c, job, 2, func(_ int, call steps.Call) fate {
				if failing && call.Op == steps.EcGenerate {
					return refused
				}
				return well
			})
			kind := steps.LeftFiles
			if failing {
				kind = steps.LeftHidden
			}
			require.Equal(t, !failing, end.OK, "%+v", end)
			require.Equal(t, !loaded, len(end.Left) > 0 && end.Left[len(end.Left)-1] == steps.Leftover{Kind: kind, Server: "a:1"}, "%+v", end.Left)
			require.Empty(t, c.ShardFiles(2)["a:1"])
		}
	}
}

// TestAHiddenReplicaIsNamedByALaterAttempt: the shards next to it are gone by then.
func TestAHiddenReplicaIsNamedByALaterAttempt(t *testing.T) {
	t.Parallel()
	c := hiddenNextTo(t)
	targets := []string{"b:1", "c:1", "d:1"}
	_, checkpoint := walk(c, encodeOf(c, 2, []string{"b:1"}, targets), 2, func(_ int, call steps.Call) fate {
		if call.Op == steps.EcGenerate {
			return killed
		}
		return well
	})
	require.Empty(t, c.ShardFiles(2)["a:1"])
	job := encodeOf(c, 2, []string{"b:1"}, targets)
	require.NoError(t, steps.Resume(job, checkpoint))
	end, _ := walk(c, job, 2, func(int, steps.Call) fate { return well })
	require.Equal(t, steps.Encoded, end.Code, "%+v", end)
	require.Equal(t, []steps.Leftover{{Kind: steps.LeftFiles, Server: "a:1"}}, end.Left)
}

// hiddenAtAll has a server that hides its replica of volume 2 next to all shards. The other replica has another
// size.
func hiddenAtAll(t *testing.T) *fakecluster.Cluster {
	t.Helper()
	c := fourServers()
	require.True(t, c.Write(2, 77, 50))
	for _, server := range []string{"a:1", "b:1"} {
		require.NoError(t, c.MarkReadOnly(server, 2, true))
	}
	require.NoError(t, c.EcGenerate("a:1", 2, ""))
	return c
}

func restart(c *fakecluster.Cluster, server string) {
	c.SetDown(server, true)
	c.SetDown(server, false)
}

// TestUnfinishedShardsWithDeletionsStay: the replica still has the objects deleted in the shards.
func TestUnfinishedShardsWithDeletionsStay(t *testing.T) {
	t.Parallel()
	c := hiddenAtAll(t)
	c.LoseVif("a:1", 2)
	restart(c, "a:1")
	c.EraseInShards(2)
	end, _ := walk(c, encodeOf(c, 2, []string{"b:1"}, []string{"a:1", "b:1", "c:1", "d:1"}), 2, func(_ int, call steps.Call) fate {
		require.NotContains(t, []steps.Op{steps.EcUnmount, steps.EcDelete}, call.Op)
		return well
	})
	require.Equal(t, steps.ShardsDiffer, end.Code)
}

// TestAReplicaNextToSpreadShardsStaysReadOnly: no server with shards answers while replicas are deleted.
func TestAReplicaNextToSpreadShardsStaysReadOnly(t *testing.T) {
	t.Parallel()
	c := hiddenAtAll(t)
	restart(c, "a:1")
	require.NoError(t, c.MarkWritable("b:1", 2))
	targets := []string{"a:1", "c:1", "d:1"}
	end, checkpoint := walk(c, encodeOf(c, 2, []string{"b:1"}, targets), 2, func(_ int, call steps.Call) fate {
		if call.Op == steps.Delete {
			return unsent
		}
		return well
	})
	require.Nil(t, end)
	for _, server := range targets {
		c.SetDown(server, true)
	}
	job := encodeOf(c, 2, []string{"b:1"}, targets)
	require.NoError(t, steps.Resume(job, checkpoint))
	require.True(t, job.Deleting)
	dark := seeing{job, func(seen steps.View) {
		for _, server := range targets {
			seen.Shards[server] = steps.Shards{Why: "down"}
		}
	}}
	end, _ = walk(c, dark, 2, func(_ int, call steps.Call) fate {
		t.Errorf("%s", call)
		return well
	})
	require.Equal(t, steps.CannotRead, end.Code)
}

// TestAHiddenIndexThatCannotBeReadIsNoDifference: another attempt may read it.
func TestAHiddenIndexThatCannotBeReadIsNoDifference(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"a:1", "b:1"} {
		c := hiddenAtAll(t)
		restart(c, "a:1")
		c.Put(fakecluster.Volume{ID: 2, Objects: 6, Deleted: 2, ObjectSize: 100, Placement: 1, ReadOnly: true}, "b:1")
		job := seeing{encodeOf(c, 2, []string{"b:1"}, []string{"a:1", "b:1", "c:1", "d:1"}), func(seen steps.View) {
			if _, ok := seen.Indexes[server]; ok {
				seen.Indexes[server] = steps.Index{Why: "timed out"}
			}
		}}
		end, _ := walk(c, job, 2, func(_ int, call steps.Call) fate {
			t.Errorf("%s", call)
			return well
		})
		require.Equal(t, steps.CannotRead, end.Code)
		require.False(t, end.Final)
		require.Equal(t, server, end.Server)
	}
}

// TestAReplicaIsComparedWithTheIndexOfTheShards: the origin of the shards was deleted before its server was
// killed. The encoding ends only if the shards have the objects of the other replica and its size is known.
func TestAReplicaIsComparedWithTheIndexOfTheShards(t *testing.T) {
	t.Parallel()
	for name, each := range map[string]struct {
		differ, unsized, grown bool
		want                   steps.Code
	}{
		"the same objects": {want: steps.Encoded}, "others": {differ: true, want: steps.ShardsDiffer}, "no size": {unsized: true, want: steps.ShardsDiffer},
		"an object was written again": {grown: true, want: steps.ShardsDiffer},
	} {
		c := hiddenAtAll(t)
		if each.unsized {
			c.LoseVif("a:1", 2)
		}
		require.NoError(t, c.Delete("a:1", 2))
		restart(c, "a:1")
		size := uint64(50) // As after a compaction.
		if each.grown {
			size *= 2
		}
		c.Put(fakecluster.Volume{ID: 2, Objects: 6, Deleted: 2, ObjectSize: size, Placement: 1, ReadOnly: true}, "b:1")
		job := seeing{encodeOf(c, 2, []string{"b:1"}, []string{"a:1", "b:1", "c:1", "d:1"}), func(seen steps.View) {
			if index, ok := seen.Indexes["b:1"]; ok {
				index.OfShards = true
				if each.differ {
					index.Live--
				}
				seen.Indexes["a:1"] = index
			}
		}}
		end, _ := walk(c, job, 2, func(int, steps.Call) fate { return well })
		require.NotNil(t, end, name)
		require.Equal(t, each.want, end.Code, "%s: %+v", name, end)
		require.Empty(t, slices.DeleteFunc(end.Left, func(l steps.Leftover) bool { return l.Kind != steps.LeftHidden && l.Kind != steps.LeftFiles }), name)
	}
}
