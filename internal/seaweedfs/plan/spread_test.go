package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
)

func spreadOf(t *testing.T, tags, placement string) plan.Spread {
	t.Helper()
	s, err := plan.NewSpread(tags, placement)
	require.NoError(t, err)
	return s
}

// sevenServers in two racks; the odd ones have tagged disks, and one has a full volume.
func sevenServers() plan.Topology {
	return servers(7, 2, func(i int) plan.Disk {
		d := plan.Disk{Type: "hdd", Max: 100}
		if i%2 == 1 {
			d.Tags = []string{"cold"}
		}
		if i == 0 {
			d.Volumes = []plan.Volume{{ID: 1, Size: 990}}
		}
		return d
	})
}

func encodeWith(t *testing.T, topology plan.Topology, spread plan.Spread) (byServer map[string]int) {
	t.Helper()
	found := plan.Encodes(topology, plan.EncodeSettings{Fullness: 0.95, MinBytes: 1, Limit: 10, Spread: spread}, 100)
	require.Len(t, found, 1)
	byServer = map[string]int{}
	for _, target := range found[0].Targets {
		byServer[target.Server] += len(target.Shards)
	}
	return byServer
}

func TestTaggedDisksAreTakenFirst(t *testing.T) {
	t.Parallel()
	found := encodeWith(t, sevenServers(), spreadOf(t, "hot, cold", ""))
	for _, tagged := range []string{"s01:8080", "s03:8080", "s05:8080"} {
		assert.GreaterOrEqual(t, found[tagged], 4, "as many as may be lost at once")
	}
	for server, shards := range found {
		assert.LessOrEqual(t, shards, 4, server)
	}
}

func TestShardsKeepTheirPlacement(t *testing.T) {
	t.Parallel()
	for server, shards := range encodeWith(t, sevenServers(), spreadOf(t, "", "001")) {
		assert.Equal(t, 2, shards, server)
	}
	// Seven shards in each of two racks are more than four: the bound is ignored.
	total := 0
	for _, shards := range encodeWith(t, sevenServers(), spreadOf(t, "", "040")) {
		total += shards
	}
	assert.Equal(t, 14, total)
	for _, bad := range []string{"1", "0220", "0a0"} {
		_, err := plan.NewSpread("", bad)
		require.ErrorContains(t, err, "no replica placement")
	}
}

func shardsAt(bits uint32, disk uint32) plan.Shards {
	return plan.Shards{ID: 7, Bits: bits, Disk: disk}
}

// TestAShardMovesToADiskWithout: the target's first disk has a shard of the volume, the second has none. The
// source gives a shard of a disk that has two.
func TestAShardMovesToADiskWithout(t *testing.T) {
	t.Parallel()
	topology := servers(3, 1, func(i int) plan.Disk {
		d := plan.Disk{Type: "hdd", Max: 20}
		switch i {
		case 0:
			d.Shards = []plan.Shards{shardsAt(0b11_1111_0000, 1), shardsAt(0b100, 2)}
		case 1:
			d.Shards = []plan.Shards{shardsAt(0b1, 3), {ID: 8, Bits: 1, Disk: 4}}
		case 2:
			d.Shards = []plan.Shards{shardsAt(0b11_1100_0000_0010, 5)}
		}
		return d
	})
	moves := plan.ShardMoves(topology, plan.ECBalanceSettings{Threshold: 0.2, MinServers: 3, Limit: 10})
	require.NotEmpty(t, moves)
	assert.Equal(t, "s00:8080", moves[0].Source)
	assert.Equal(t, "s01:8080", moves[0].Target)
	assert.EqualValues(t, 4, moves[0].Disk)
	assert.NotEqual(t, uint32(2), moves[0].Shard)
	// A bound of one shard on a server forbids it.
	bound := plan.ECBalanceSettings{Threshold: 0.2, MinServers: 3, Limit: 10, Spread: spreadOf(t, "", "011")}
	for _, move := range plan.ShardMoves(topology, bound) {
		assert.NotEqual(t, uint32(7), move.Volume)
	}
}

// TestAShardOnTwoDisksOfAServerIsOne: no call removes a shard from one disk of a server, so no move is planned.
func TestAShardOnTwoDisksOfAServerIsOne(t *testing.T) {
	t.Parallel()
	topology := servers(3, 1, func(i int) plan.Disk {
		d := plan.Disk{Type: "hdd", Max: 20, Shards: []plan.Shards{{ID: 7, Bits: 0b11 << (2 * i), Disk: 1, Sizes: []int64{10, 20}}}}
		if i == 0 {
			d.Shards = append(d.Shards, plan.Shards{ID: 7, Bits: 0b11, Disk: 2, Sizes: []int64{10, 20}})
		}
		return d
	})
	settings := plan.ECBalanceSettings{Threshold: 0.2, MinServers: 3, Limit: 10}
	assert.Empty(t, plan.ShardMoves(topology, settings))
	// One that another server has too is removed here, where there are more.
	topology.Servers[0].Disks[0].Shards[1].Bits = 0b110
	moves := plan.ShardMoves(topology, settings)
	require.Len(t, moves, 1)
	assert.Equal(t, plan.ShardMove{Phase: plan.Dedup, Volume: 7, Shard: 2, Source: "s00:8080", Target: "s01:8080", Size: 20}, moves[0])
}

// TestALeftReplicaIsFinished: an encoding was killed between two deletes, and has no attempt left.
func TestALeftReplicaIsFinished(t *testing.T) {
	t.Parallel()
	topology := encodedTopology(0b1_0001_0001_0001)
	settings := plan.EncodeSettings{Fullness: 0.95, MinBytes: 1, QuietSeconds: 10, Limit: 10}
	found := plan.Encodes(topology, settings, 100)
	require.Len(t, found, 1)
	assert.True(t, found[0].Finish)
	assert.Equal(t, []string{"s01:8080"}, found[0].Replicas)
	assert.Empty(t, plan.Encodes(topology, settings, 55), "it is not quiet")
	for i := range topology.Servers {
		topology.Servers[i].Disks[0].Shards[0].Bits &^= 1
	}
	assert.Empty(t, plan.Encodes(topology, settings, 100), "a shard is missing")
}

// encodedTopology has a replica of volume 7 on the second of four servers, next to its shards: every fourth on
// each of them, and those of first on the first one.
func encodedTopology(first uint32) plan.Topology {
	topology := servers(4, 2, func(i int) plan.Disk {
		d := plan.Disk{Type: "hdd", Max: 20, Shards: []plan.Shards{shardsAt(0b11_1111_1111_1111&(0b1_0001_0001_0001<<i), 0)}}
		if i == 1 {
			d.Volumes = []plan.Volume{{ID: 7, Size: 10, ModifiedAt: 50}}
		}
		return d
	})
	topology.Servers[0].Disks[0].Shards[0].Bits = first
	return topology
}

// TestAnEncodingThatIsGoneIsMadeAgain: it left a read-only replica next to some shards, or next to all of them
// on one server.
func TestAnEncodingThatIsGoneIsMadeAgain(t *testing.T) {
	t.Parallel()
	settings := plan.EncodeSettings{MinBytes: 1, QuietSeconds: 10, Limit: 10}
	for _, left := range []uint32{0, 0b11_1111_1111_1111} {
		topology := encodedTopology(left)
		if left == 0 {
			topology.Servers[3].Disks[0].Shards[0].Bits &^= 1 << 3 // nine are left
		}
		assert.Empty(t, plan.Encodes(topology, settings, 100), "it takes writes")
		assert.Equal(t, plan.HasShards, plan.WhyNoEncode(topology, settings, 100)[0].Obstacle)
		replica := &topology.Servers[1].Disks[0].Volumes[0]
		replica.ReadOnly = true
		found := plan.Encodes(topology, settings, 100)
		require.Len(t, found, 1)
		assert.True(t, found[0].Again)
		assert.False(t, found[0].Finish)
		shards := 0
		for _, target := range found[0].Targets {
			assert.LessOrEqual(t, len(target.Shards), 4)
			shards += len(target.Shards)
		}
		assert.Equal(t, 14, shards)
		replica.Placement = 1
		assert.Len(t, plan.Encodes(topology, settings, 100), 1, "the other replica is hidden next to shards")
		replica.Placement = 9
		assert.Empty(t, plan.Encodes(topology, settings, 100), "a replica is missing")
	}
}

// TestShardsOfAServerThatIsDownAreNotMadeAgain: the server would return with them next to shards of another
// encoding.
func TestShardsOfAServerThatIsDownAreNotMadeAgain(t *testing.T) {
	t.Parallel()
	settings := plan.EncodeSettings{MinBytes: 1, QuietSeconds: 10, Limit: 10}
	for _, on := range [][]uint32{
		{0, 0b10_0010_0010_0010, 0b00_0100_0100_0100, 0b00_1000_1000_1000},
		{0, 0b11_1110_0000_0000, 0b00_0001_1111_0000, 0},
	} {
		topology := encodedTopology(0)
		topology.Servers[1].Disks[0].Volumes[0].ReadOnly = true
		for i, bits := range on {
			topology.Servers[i].Disks[0].Shards[0].Bits = bits
		}
		assert.Empty(t, plan.Encodes(topology, settings, 100))
		assert.Equal(t, plan.HasShards, plan.WhyNoEncode(topology, settings, 100)[0].Obstacle)
	}
}

// TestAnUnevenSetIsFinished: five shards of a server cannot be lost at once, but all are there.
func TestAnUnevenSetIsFinished(t *testing.T) {
	t.Parallel()
	settings := plan.EncodeSettings{MinBytes: 1, QuietSeconds: 10, Limit: 10}
	topology := encodedTopology(0b1_1111)
	for i, bits := range []uint32{0b11_1110_0000, 0b11_1100_0000_0000, 0} {
		topology.Servers[i+1].Disks[0].Shards[0].Bits = bits
	}
	found := plan.Encodes(topology, settings, 100)
	require.Len(t, found, 1)
	assert.True(t, found[0].Finish)
	topology.Servers[3].Disks[0].Shards[0].Bits = 0b11_1111_1111_1111
	assert.Empty(t, plan.Encodes(topology, settings, 100), "all on one server are none, wherever others are")
}

// TestGarbageOfAStaleReplicaIsNoReason: its job would change nothing each time.
func TestGarbageOfAStaleReplicaIsNoReason(t *testing.T) {
	t.Parallel()
	of := func(readOnly ...bool) []plan.Vacuum {
		return plan.Vacuums(servers(2, 1, func(i int) plan.Disk {
			return plan.Disk{Type: "hdd", Max: 9, Volumes: []plan.Volume{{ID: 1, Size: 100, DeletedBytes: uint64(50 * i), ReadOnly: readOnly[i]}}}
		}), plan.VacuumSettings{Threshold: 0.3}, 100)
	}
	assert.Empty(t, of(false, true))
	require.Len(t, of(false, false), 1)
	require.Len(t, of(true, true), 1)
	assert.Len(t, of(true, true)[0].Servers, 2)
}

// TestServersAreOrderedOnceForAVolume: an order for each server took 148 s for 1,000 servers and 1,000 volumes, one for each
// volume 3 s.
func TestServersAreOrderedOnceForAVolume(t *testing.T) {
	const count, encoded = 1000, 20
	topology := servers(count, 10, func(int) plan.Disk { return plan.Disk{Type: "hdd", Max: 100} })
	for id := range uint32(encoded) {
		for shard := range uint32(14) {
			disk := &topology.Servers[(id*14+shard)%count].Disks[0]
			disk.Shards = append(disk.Shards, plan.Shards{ID: id + 1, Bits: 1 << shard})
		}
	}
	settings := plan.ECBalanceSettings{Threshold: 1000, MinServers: 3, Limit: 10}
	allocations := testing.AllocsPerRun(1, func() { assert.Empty(t, plan.ShardMoves(topology, settings)) })
	assert.Less(t, allocations, 10_000.0+count)
}
