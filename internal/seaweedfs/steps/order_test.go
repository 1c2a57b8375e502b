package steps_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// TestASourceThatBecameWritableIsFencedAgain: an operator made it writable during the tail, and it took a
// write.
func TestASourceThatBecameWritableIsFencedAgain(t *testing.T) {
	t.Parallel()
	c := fourServers()
	var ops []steps.Op
	end, _ := walk(c, &steps.Move{Volume: 1, Source: "a:1", Target: "c:1", Copies: 1}, 1, func(i int, call steps.Call) fate {
		if ops = append(ops, call.Op); i == 3 {
			require.NoError(t, c.MarkWritable("a:1", 1))
		}
		return well
	})
	require.True(t, end.OK)
	require.Equal(t, []steps.Op{steps.MarkReadOnly, steps.Copy, steps.MarkReadOnly, steps.Tail, steps.MarkReadOnly, steps.Tail, steps.Delete}, ops)
}

func TestAMoveKeepsASourceThatIsNoSurplus(t *testing.T) {
	t.Parallel()
	c := fourServers()
	require.NoError(t, c.Delete("b:1", 2))
	end, _ := walk(c, &steps.Move{Volume: 2, Source: "a:1", Target: "c:1", Others: []string{"b:1"}, Copies: 2}, 2, func(int, steps.Call) fate { return well })
	require.Equal(t, steps.KeptSource, end.Code)
	require.Empty(t, end.Left)
	holders, readOnly := c.Replicas(2)
	require.Equal(t, []string{"a:1", "c:1"}, holders)
	require.Empty(t, readOnly)
}

// TestAnAttemptUndoesWhatAnEarlierOneDid: the first attempt is killed after it made the volume read-only, and
// the next one cannot complete the job.
func TestAnAttemptUndoesWhatAnEarlierOneDid(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			c := fourServers()
			job := s.job(c)
			end, checkpoint := walk(c, job, idOf(job), func(_ int, call steps.Call) fate {
				if call.Op == steps.Copy || call.Op == steps.EcGenerate || call.Op == steps.EcCopy || call.Op == steps.Commit {
					return unsent
				}
				return well
			})
			require.Nil(t, end)
			job = s.job(c)
			require.NoError(t, steps.Resume(job, checkpoint))
			end, _ = walk(c, job, idOf(job), func(_ int, call steps.Call) fate {
				switch call.Op {
				case steps.MarkWritable, steps.Cleanup, steps.EcUnmount, steps.EcDelete:
					return well
				}
				return refused
			})
			require.False(t, end.OK)
			undone(t, c, idOf(job), steps.Copy, end)
		})
	}
}

func TestAFailedCompactionEndsAVacuum(t *testing.T) {
	t.Parallel()
	c := fourServers()
	end, _ := walk(c, &steps.Vacuum{Volume: 2, Servers: []string{"a:1", "b:1"}, Threshold: 0.1}, 2, func(_ int, call steps.Call) fate {
		require.NotEqual(t, steps.Commit, call.Op)
		if call.Op == steps.Compact && call.Server == "b:1" {
			return refused
		}
		return well
	})
	require.Equal(t, steps.CallFailed, end.Code)
	require.Empty(t, c.Compacted(2))
}

func TestReplicasThatDifferAreNotEncoded(t *testing.T) {
	t.Parallel()
	c := fourServers()
	require.NoError(t, c.Delete("b:1", 2))
	c.Put(fakecluster.Volume{ID: 2, Objects: 4, Deleted: 2, ObjectSize: 100, Placement: 1}, "b:1")
	job := encodeOf(c, 2, []string{"a:1", "b:1"}, []string{"b:1", "c:1", "d:1"})
	end, _ := walk(c, job, 2, func(_ int, call steps.Call) fate {
		require.NotEqual(t, steps.EcGenerate, call.Op)
		return well
	})
	require.Equal(t, steps.ReplicasDiffer, end.Code)
	undone(t, c, 2, steps.EcGenerate, end)
}

// TestReplicasOfTheSameObjectsAreEncoded: the files of one are smaller, because it was compacted, or because it
// got its objects from the other one.
func TestReplicasOfTheSameObjectsAreEncoded(t *testing.T) {
	t.Parallel()
	for name, differ := range map[string]func(*testing.T, *fakecluster.Cluster){
		"compacted": func(t *testing.T, c *fakecluster.Cluster) {
			t.Helper()
			require.NoError(t, c.Compact("b:1", 2))
			_, err := c.Commit("b:1", 2)
			require.NoError(t, err)
		},
		"passed on": func(t *testing.T, c *fakecluster.Cluster) { t.Helper(); require.True(t, c.Write(2, 99, 500)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := fourServers()
			differ(t, c)
			one, err := c.Status("a:1", 2)
			require.NoError(t, err)
			other, err := c.Status("b:1", 2)
			require.NoError(t, err)
			require.NotEqual(t, one.Dat, other.Dat)
			deleted := 0
			end, checkpoint := walk(c, encodeOf(c, 2, []string{"a:1", "b:1"}, []string{"b:1", "c:1", "d:1"}), 2, func(_ int, call steps.Call) fate {
				if call.Op == steps.Delete {
					if deleted++; deleted == 2 {
						return unsent // the next attempt deletes the replica that is not the origin
					}
				}
				return well
			})
			require.Nil(t, end)
			job := encodeOf(c, 2, []string{"b:1"}, []string{"b:1", "c:1", "d:1"})
			require.NoError(t, steps.Resume(job, checkpoint))
			end, _ = walk(c, job, 2, func(int, steps.Call) fate { return well })
			require.True(t, end.OK, "%+v", end)
			holders, _ := c.Replicas(2)
			require.Empty(t, holders)
			onceEach(t, c, 2)
		})
	}
}

// TestTheLastReplicaStaysIfSomethingChanges: the change happens while the first of two is deleted.
func TestTheLastReplicaStaysIfSomethingChanges(t *testing.T) {
	t.Parallel()
	for code, change := range map[steps.Code]func(*fakecluster.Cluster) error{
		steps.ShardsMissing:   func(c *fakecluster.Cluster) error { return c.EcUnmount("b:1", 2, c.ShardHolders(2)["b:1"]) },
		steps.ReplicaWritable: func(c *fakecluster.Cluster) error { return c.MarkWritable("b:1", 2) },
		steps.ShardsDiffer: func(c *fakecluster.Cluster) error {
			_, err := c.Commit("b:1", 2)
			return err
		},
	} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			c := fourServers()
			require.NoError(t, c.Compact("b:1", 2))
			deleted := 0
			end, _ := walk(c, encodeOf(c, 2, []string{"a:1", "b:1"}, []string{"b:1", "c:1", "d:1"}), 2, func(_ int, call steps.Call) fate {
				if call.Op == steps.Delete {
					deleted++
					require.NoError(t, change(c))
				}
				return well
			})
			require.Equal(t, code, end.Code)
			require.Equal(t, 1, deleted)
			nothingIsLost(t, c)
		})
	}
}

// TestShardsOfAnotherStateAreNobodysToRemove: an unknown job made them before an object was written.
func TestShardsOfAnotherStateAreNobodysToRemove(t *testing.T) {
	t.Parallel()
	c := fourServers()
	require.NoError(t, c.EcGenerate("a:1", 2, ""))
	require.NoError(t, c.EcMount("a:1", 2, []uint32{0, 1}))
	require.True(t, c.Write(2, 99, 50))
	end, _ := walk(c, encodeOf(c, 2, []string{"a:1", "b:1"}, []string{"b:1", "c:1", "d:1"}), 2, func(_ int, call steps.Call) fate {
		require.NotContains(t, []steps.Op{steps.EcUnmount, steps.EcDelete, steps.EcGenerate}, call.Op)
		return well
	})
	require.Equal(t, steps.ShardsDiffer, end.Code)
	require.Contains(t, end.Left, steps.Leftover{Kind: steps.LeftShards, Server: "a:1"})
}

// TestReplicasStayReadOnlyBesideShards: the shards would lack a later write.
func TestReplicasStayReadOnlyBesideShards(t *testing.T) {
	t.Parallel()
	c := fourServers()
	mounts := 0
	end, _ := walk(c, encodeOf(c, 2, []string{"a:1", "b:1"}, []string{"b:1", "c:1", "d:1"}), 2, func(_ int, call steps.Call) fate {
		require.NotEqual(t, steps.MarkWritable, call.Op)
		if call.Op == steps.EcMount {
			mounts++
		}
		if call.Op == steps.EcMount && mounts > 1 || call.Op == steps.EcUnmount || call.Op == steps.EcDelete {
			return refused
		}
		return well
	})
	require.Equal(t, steps.CallFailed, end.Code)
	for _, left := range []steps.Leftover{{Kind: steps.LeftReadOnly, Server: "a:1"}, {Kind: steps.LeftReadOnly, Server: "b:1"}, {Kind: steps.LeftShards, Server: "b:1"}} {
		require.Contains(t, end.Left, left)
	}
}

func TestAShardOfAnotherStateIsNotTakenForACopy(t *testing.T) {
	t.Parallel()
	c := fourServers()
	c.Put(fakecluster.Volume{ID: 3, Objects: 9, ObjectSize: 100}, "c:1")
	require.NoError(t, c.EcGenerate("c:1", 3, ""))
	require.NoError(t, c.EcMount("c:1", 3, []uint32{0}))
	end, _ := walk(c, &steps.MoveShard{Volume: 3, Shard: 0, Source: "a:1", Target: "c:1"}, 3, func(_ int, call steps.Call) fate {
		t.Errorf("%s", call)
		return well
	})
	require.Equal(t, steps.ShardsDiffer, end.Code)
	require.Equal(t, []steps.Leftover{{Kind: steps.LeftShards, Server: "c:1"}}, end.Left)
}

// TestShardsOnOneServerAreNotPlaced: a restarted server mounts its generated shards before any is copied.
func TestShardsOnOneServerAreNotPlaced(t *testing.T) {
	t.Parallel()
	c := fourServers()
	job := encodeOf(c, 2, []string{"a:1", "b:1"}, []string{"b:1", "c:1", "d:1"})
	_, checkpoint := walk(c, job, 2, func(_ int, call steps.Call) fate {
		if call.Op == steps.EcCopy {
			return unsent
		}
		return well
	})
	c.SetDown("a:1", true)
	c.SetDown("a:1", false)
	require.Len(t, c.ShardHolders(2)["a:1"], steps.TotalShards)
	job = encodeOf(c, 2, []string{"a:1", "b:1"}, []string{"b:1", "c:1", "d:1"})
	require.NoError(t, steps.Resume(job, checkpoint))
	end, _ := walk(c, job, 2, func(int, steps.Call) fate { return well })
	require.True(t, end.OK)
	onceEach(t, c, 2)
	require.Empty(t, c.ShardFiles(2)["a:1"])
}

func TestAShardThatIsNoDuplicateAnyMoreStays(t *testing.T) {
	t.Parallel()
	c := fourServers()
	end, _ := walk(c, &steps.MoveShard{Volume: 3, Shard: 0, Source: "a:1", Target: "c:1", Duplicate: true}, 3, func(_ int, call steps.Call) fate {
		t.Errorf("%s", call)
		return well
	})
	require.Equal(t, steps.Stale, end.Code)
}

// TestShardsOfAHiddenReplicaAreSpread: the server with the only replica, or with one of two that differ in
// size, restarts. It mounts all shards, and does not load the replica that they were made from.
func TestShardsOfAHiddenReplicaAreSpread(t *testing.T) {
	t.Parallel()
	for _, replicas := range [][]string{{"a:1"}, {"a:1", "b:1"}} {
		for _, op := range []steps.Op{steps.EcCopy, steps.EcMount} {
			c := fourServers()
			id := uint32(1)
			if len(replicas) > 1 {
				id = 2
				require.True(t, c.Write(id, 77, 50))
			}
			targets := []string{"a:1", "b:1", "c:1", "d:1"}
			_, checkpoint := walk(c, encodeOf(c, id, replicas, targets), id, func(_ int, call steps.Call) fate {
				if call.Op == op && call.Server == "c:1" {
					return unsent
				}
				return well
			})
			c.SetDown("a:1", true)
			c.SetDown("a:1", false)
			require.Len(t, c.ShardHolders(id)["a:1"], steps.TotalShards)
			job := encodeOf(c, id, replicas, targets)
			require.NoError(t, steps.Resume(job, checkpoint))
			if len(replicas) > 1 && op == steps.EcMount {
				// No attempt is left: a detection shows only the other replica.
				job = encodeOf(c, id, replicas[1:], targets)
			}
			end, _ := walk(c, job, id, func(int, steps.Call) fate { return well })
			require.Equal(t, steps.Encoded, end.Code, "%+v", end)
			require.Equal(t, []steps.Leftover{{Kind: steps.LeftFiles, Server: "a:1"}}, end.Left)
			onceEach(t, c, id)
			require.Len(t, c.ShardHolders(id)["a:1"], len(job.Targets[0].Shards))
			nothingIsLost(t, c)
		}
	}
}

// TestAReplicaWithoutTheObjectsOfAHiddenOneStays: the shards were made from the hidden one.
func TestAReplicaWithoutTheObjectsOfAHiddenOneStays(t *testing.T) {
	t.Parallel()
	c := fourServers()
	targets := []string{"a:1", "b:1", "c:1", "d:1"}
	_, _ = walk(c, encodeOf(c, 2, []string{"a:1", "b:1"}, targets), 2, func(_ int, call steps.Call) fate {
		if call.Op == steps.EcCopy {
			return unsent
		}
		return well
	})
	c.SetDown("a:1", true)
	c.SetDown("a:1", false)
	c.Put(fakecluster.Volume{ID: 2, Objects: 6, Deleted: 2, ObjectSize: 100, Placement: 1, ReadOnly: true}, "b:1")
	end, _ := walk(c, encodeOf(c, 2, []string{"b:1"}, targets), 2, func(_ int, call steps.Call) fate {
		t.Errorf("%s", call)
		return well
	})
	require.Equal(t, steps.ShardsDiffer, end.Code)
}

// TestShardsWithDeletionsStay: the replica, the origin of the shards, still has the objects deleted in the
// shards.
func TestShardsWithDeletionsStay(t *testing.T) {
	t.Parallel()
	c := fourServers()
	servers := []string{"b:1", "c:1", "d:1"}
	_, _ = walk(c, encodeOf(c, 2, []string{"a:1", "b:1"}, servers), 2, func(_ int, call steps.Call) fate {
		if call.Op == steps.Delete {
			return unsent
		}
		return well
	})
	require.NoError(t, c.EcDelete("d:1", 2, []uint32{12, 13}))
	c.EraseInShards(2)
	end, _ := walk(c, encodeOf(c, 2, []string{"a:1", "b:1"}, []string{"c:1", "d:1", "b:1"}), 2, func(_ int, call steps.Call) fate {
		require.NotContains(t, []steps.Op{steps.EcUnmount, steps.EcDelete}, call.Op)
		return well
	})
	require.Equal(t, steps.ShardsDiffer, end.Code)
}

// TestUnmountedShardsGoOnManyServers: only one of the holders has them.
func TestUnmountedShardsGoOnManyServers(t *testing.T) {
	t.Parallel()
	c := fourServers()
	var holders []string
	for i := range 600 {
		holders = append(holders, fmt.Sprintf("far%d:1", i))
		c.Add(fakecluster.Server{Address: holders[i], Max: 1})
	}
	require.NoError(t, c.MarkReadOnly("a:1", 1, true))
	require.NoError(t, c.EcGenerate("a:1", 1, ""))
	require.NoError(t, c.EcMount("a:1", 1, []uint32{0}))
	require.NoError(t, c.EcCopy("far599:1", "a:1", 1, []uint32{1, 2}, 0))
	job := encodeOf(c, 1, []string{"a:1"}, []string{"a:1", "b:1", "c:1", "d:1"})
	job.Holders = holders
	end, _ := walk(c, job, 1, func(int, steps.Call) fate { return well })
	require.Equal(t, steps.Encoded, end.Code, "%+v", end)
	require.Empty(t, c.ShardFiles(1)["far599:1"])
	onceEach(t, c, 1)
}

// TestFinishDeletesReplicasBesideTheirShards: it deletes none if the shards come from another state.
func TestFinishDeletesReplicasBesideTheirShards(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{false, true} {
		c := fourServers()
		servers := []string{"b:1", "c:1", "d:1"}
		_, _ = walk(c, encodeOf(c, 2, []string{"a:1", "b:1"}, servers), 2, func(_ int, call steps.Call) fate {
			if call.Op == steps.Delete {
				return unsent
			}
			return well
		})
		for _, server := range []string{"a:1", "b:1"} {
			require.NoError(t, c.MarkWritable(server, 2))
		}
		if written {
			require.True(t, c.Write(2, 99, 50))
		}
		job := encodeOf(c, 2, []string{"a:1", "b:1"}, servers)
		job.Finish = true
		before := c.ShardHolders(2)
		end, _ := walk(c, job, 2, func(int, steps.Call) fate { return well })
		require.True(t, end.OK)
		require.Empty(t, end.Left)
		holders, readOnly := c.Replicas(2)
		require.Equal(t, written, len(holders) == 2)
		require.Empty(t, readOnly)
		require.Equal(t, before, c.ShardHolders(2))
		nothingIsLost(t, c)
	}
}
