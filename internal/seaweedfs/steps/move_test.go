package steps_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// moveWithoutTail runs a move with failing tails to its end. between is called before the last calls, when the
// copy is there.
func moveWithoutTail(t *testing.T, c *fakecluster.Cluster, between func()) *steps.End {
	t.Helper()
	r := steps.NewRunner(&steps.Move{Volume: 1, Source: "a:1", Target: "b:1", Copies: 1})
	for {
		look, step := r.Next()
		switch {
		case look != nil:
			status, err := c.Status(look.Server, 1)
			replica := steps.Replica{Presence: steps.Present, ReadOnly: status.ReadOnly, Dat: status.Dat, Idx: status.Idx}
			if err != nil {
				replica = steps.Replica{Presence: steps.Absent}
			}
			r.SawReplica(replica)
		case step.End != nil:
			return step.End
		case step.Call.Op == steps.Tail:
			between()
			r.Took(*step.Call, steps.Answer{Err: "no tail"})
		default:
			_, err := fakecluster.Do(c, *step.Call)
			require.NoError(t, err)
			r.Took(*step.Call, steps.Answer{})
			require.Less(t, writable(c), 2, "after %s", step.Call)
		}
	}
}

func writable(c *fakecluster.Cluster) int {
	holders, readOnly := c.Replicas(1)
	return len(holders) - len(readOnly)
}

func twoServers() *fakecluster.Cluster {
	c := fakecluster.New(nil)
	c.Add(fakecluster.Server{Address: "a:1", Max: 9})
	c.Add(fakecluster.Server{Address: "b:1", Max: 9})
	c.Put(fakecluster.Volume{ID: 1, Objects: 3, ObjectSize: 100}, "a:1")
	return c
}

// TestAMoveNamesACopyThatDoesNotEnd: the target's server was killed in the middle of a copy, and its note
// stays. The note looks like that of a copy in progress, so the job changes nothing, and its end names the
// remedy.
func TestAMoveNamesACopyThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	c := twoServers()
	require.NoError(t, c.MarkReadOnly("a:1", 1, false))
	require.NoError(t, c.BeginCopy("b:1", "a:1", 1))
	c.SetDown("b:1", true)
	c.SetDown("b:1", false)
	job := &steps.Move{Volume: 1, Source: "a:1", Target: "b:1", Copies: 1}
	r := steps.NewRunner(job)
	var end *steps.End
	for end == nil {
		switch look, step := r.Next(); {
		case look != nil:
			replica := lookAt(c, look.Server, 1)
			if look.Arrival && replica.Presence == steps.Absent && c.Arriving(look.Server, 1) {
				replica = steps.Replica{Arriving: true}
			}
			r.SawReplica(replica)
		case step.Wait:
			job.Stop("its time is over")
			r.Again()
		default:
			require.Nil(t, step.Call)
			end = step.End
		}
	}
	require.Equal(t, steps.CopyUnfinished, end.Code)
	require.Equal(t, []string{"b:1", "its time is over"}, []string{end.Server, end.Cause})
	require.Equal(t, []steps.Leftover{{Kind: steps.LeftReadOnly, Server: "a:1"}, {Kind: steps.LeftCopy, Server: "b:1"}}, end.Left)
	c.RemoveNotes("b:1")
	walkWell(&steps.Move{Volume: 1, Source: "a:1", Target: "b:1", Copies: 1}, c)
	holders, readOnly := c.Replicas(1)
	require.Equal(t, []string{"b:1"}, holders)
	require.Empty(t, readOnly)
}

// TestAMoveNamesAMarkOfAnEarlierAttempt: an attempt is killed with its checkpoint after it persisted its mark,
// and an operator removes the copy. The next attempt cannot identify the author of the mark, which its copy
// inherits, so its end lists it. A mark from before the job is not listed.
func TestAMoveNamesAMarkOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	move := func() *steps.Move { return &steps.Move{Volume: 1, Source: "a:1", Target: "b:1", Copies: 1} }
	c := twoServers()
	end, _ := walk(c, move(), 1, func(_ int, call steps.Call) fate {
		if call.Op == steps.MarkReadOnly && call.Persist {
			return killed
		}
		return well
	})
	require.Nil(t, end)
	require.NoError(t, c.Delete("b:1", 1))
	again := move()
	require.NoError(t, steps.Resume(again, []byte(`{}`)))
	end, _ = walk(c, again, 1, func(int, steps.Call) fate { return well })
	require.True(t, end.OK)
	_, readOnly := c.Replicas(1)
	require.Equal(t, []string{"b:1"}, readOnly)
	require.Equal(t, []steps.Leftover{{Kind: steps.LeftReadOnly, Server: "b:1"}}, end.Left)

	c = twoServers()
	require.NoError(t, c.MarkReadOnly("a:1", 1, true))
	end, _ = walk(c, move(), 1, func(int, steps.Call) fate { return well })
	require.True(t, end.OK)
	require.Empty(t, end.Left)
}

func TestAFailedMoveLeavesOneWritableCopy(t *testing.T) {
	t.Parallel()
	c := twoServers()
	end := moveWithoutTail(t, c, func() {})
	require.Equal(t, []steps.Leftover{{Kind: steps.LeftCopy, Server: "b:1"}, {Kind: steps.LeftReadOnly, Server: "b:1"}}, end.Left)
	// Also across a restart of the server.
	c.SetDown("b:1", true)
	c.SetDown("b:1", false)
	holders, readOnly := c.Replicas(1)
	require.Equal(t, []string{"a:1", "b:1"}, holders)
	require.Equal(t, []string{"b:1"}, readOnly)
}

func TestACopyThatTookAWriteKeepsTheSourceReadOnly(t *testing.T) {
	t.Parallel()
	c := twoServers()
	end := moveWithoutTail(t, c, func() { require.True(t, c.Write(1, 9, 50)) })
	require.Equal(t, []steps.Leftover{
		{Kind: steps.LeftReadOnly, Server: "a:1"},
		{Kind: steps.LeftCopy, Server: "b:1"},
		{Kind: steps.LeftReadOnly, Server: "b:1"},
	}, end.Left)
	require.Zero(t, writable(c))
}

func TestAMoveLeavesAReadOnlyCopyAlone(t *testing.T) {
	t.Parallel()
	c := twoServers()
	moveWithoutTail(t, c, func() {})
	require.True(t, c.Write(1, 9, 50))
	end := moveWithoutTail(t, c, func() {})
	require.Equal(t, steps.TargetReadOnly, end.Code)
	require.True(t, end.Final)
	require.Equal(t, []steps.Leftover{{Kind: steps.LeftCopy, Server: "b:1"}, {Kind: steps.LeftReadOnly, Server: "b:1"}}, end.Left)
	require.Equal(t, 1, writable(c))
}

// TestVacuumLeavesAStaleCopyAlone: volume.fix.replication keeps the replica that was compacted most often.
func TestVacuumLeavesAStaleCopyAlone(t *testing.T) {
	t.Parallel()
	c := twoServers()
	moveWithoutTail(t, c, func() {}) // leaves a read-only copy on b
	require.True(t, c.Write(1, 9, 50))
	require.True(t, c.Erase(1, 1<<32))
	end, _ := walk(c, &steps.Vacuum{Volume: 1, Servers: []string{"a:1", "b:1"}, Threshold: 0}, 1, func(_ int, call steps.Call) fate {
		require.False(t, call.Server == "b:1" && call.Op != steps.Cleanup, "%s", call)
		if call.Op == steps.Commit {
			return refused
		}
		return well
	})
	require.Equal(t, steps.CallFailed, end.Code)
	c.FixReplication(1)
	require.True(t, c.Readable(1, 9))
}

func TestVacuumLeavesReadOnlyReplicasThatDifferAlone(t *testing.T) {
	t.Parallel()
	c := twoServers()
	moveWithoutTail(t, c, func() { require.True(t, c.Write(1, 9, 50)) }) // b has object 9
	end, _ := walk(c, &steps.Vacuum{Volume: 1, Servers: []string{"a:1", "b:1"}}, 1, func(int, steps.Call) fate {
		t.Fatal("it changes something")
		return well
	})
	require.Equal(t, steps.ReplicasDiffer, end.Code)
	require.True(t, end.Final)
}

// TestAFailedCommitEndsAVacuum: the other replicas are cleaned up, and none is committed.
func TestAFailedCommitEndsAVacuum(t *testing.T) {
	t.Parallel()
	c := fourServers()
	end, _ := walk(c, &steps.Vacuum{Volume: 2, Servers: []string{"a:1", "b:1"}, Threshold: 0.1}, 2, func(_ int, call steps.Call) fate {
		require.False(t, call.Op == steps.Commit && call.Server == "b:1")
		if call.Op == steps.Commit {
			return refused
		}
		return well
	})
	require.Equal(t, steps.CallFailed, end.Code)
	require.Empty(t, c.Compacted(2))
}

func TestVacuumStopsWhileAReplicaCannotBeRead(t *testing.T) {
	t.Parallel()
	c := fourServers()
	r := steps.NewRunner(&steps.Vacuum{Volume: 2, Servers: []string{"a:1", "b:1"}, Threshold: 0.1})
	compacted := 0
	for {
		look, step := r.Next()
		switch {
		case look != nil && compacted == 2 && look.Server == "b:1":
			r.SawReplica(steps.Replica{Why: "no answer"})
		case look != nil:
			r.SawReplica(lookAt(c, look.Server, 2))
		case step.End != nil:
			require.Equal(t, steps.CannotRead, step.End.Code)
			require.Empty(t, c.Compacted(2))
			return
		default:
			require.NotEqual(t, steps.Commit, step.Call.Op)
			if step.Call.Op == steps.Compact {
				compacted++
			}
			answer, err := fakecluster.Do(c, *step.Call)
			require.NoError(t, err)
			r.Took(*step.Call, answer)
		}
	}
}

// TestSizesSayNothingAcrossACompaction: a copy that was compacted less often is larger, and yet may lack an
// object.
func TestSizesSayNothingAcrossACompaction(t *testing.T) {
	t.Parallel()
	c := twoServers()
	_, err := c.Copy("b:1", "a:1", 1)
	require.NoError(t, err)
	require.NoError(t, c.MarkReadOnly("b:1", 1, true))
	require.True(t, c.Erase(1, 1<<32))
	require.True(t, c.Write(1, 9, 50))
	require.NoError(t, c.Compact("a:1", 1))
	_, err = c.Commit("a:1", 1)
	require.NoError(t, err)
	require.NoError(t, c.MarkWritable("b:1", 1))
	end, _ := walk(c, &steps.Move{Volume: 1, Source: "a:1", Target: "b:1", Copies: 1}, 1, func(_ int, call steps.Call) fate {
		require.NotEqual(t, steps.Delete, call.Op)
		if call.Op == steps.Tail {
			return lie
		}
		return well
	})
	require.Equal(t, steps.ReplicasDiffer, end.Code)
}

// TestACopyThatLacksAnObjectKeepsTheSource: the copy was made before the object was written, and its tail
// reports success without an effect.
func TestACopyThatLacksAnObjectKeepsTheSource(t *testing.T) {
	t.Parallel()
	c := twoServers()
	_, err := c.Copy("b:1", "a:1", 1)
	require.NoError(t, err)
	require.NoError(t, c.MarkReadOnly("b:1", 1, true))
	require.True(t, c.Write(1, 9, 50))
	require.NoError(t, c.MarkWritable("b:1", 1))
	end, _ := walk(c, &steps.Move{Volume: 1, Source: "a:1", Target: "b:1", Copies: 1}, 1, func(_ int, call steps.Call) fate {
		require.NotEqual(t, steps.Delete, call.Op)
		if call.Op == steps.Tail {
			return lie
		}
		return well
	})
	require.Equal(t, steps.TargetSmaller, end.Code)
	require.Contains(t, end.Left, steps.Leftover{Kind: steps.LeftCopy, Server: "b:1"})
}
