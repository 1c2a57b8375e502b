package plan_test

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
)

// drawCluster has servers of different sizes in racks and data centers, and volumes whose replicas satisfy
// their placement where there is room.
func drawCluster(t *rapid.T) plan.Topology {
	topology := plan.Topology{LimitBytes: 1000}
	for i := range rapid.IntRange(2, 8).Draw(t, "servers") {
		disk := plan.Disk{Type: "hdd", Max: int64(rapid.IntRange(5, 40).Draw(t, "max"))}
		if rapid.Bool().Draw(t, "knows bytes") {
			disk.TotalBytes = 40_000
			disk.FreeBytes = uint64(rapid.IntRange(0, 40_000).Draw(t, "free"))
		}
		topology.Servers = append(topology.Servers, plan.Server{
			Address: fmt.Sprintf("s%d:8080", i), DataCenter: fmt.Sprintf("dc%d", i%2), Rack: fmt.Sprintf("r%d", i%3), Disks: []plan.Disk{disk},
		})
	}
	for id := range uint32(rapid.IntRange(0, 60).Draw(t, "volumes")) {
		v := plan.Volume{ID: id + 1, Size: uint64(rapid.IntRange(1, 1000).Draw(t, "size")), Placement: rapid.SampledFrom([]uint32{0, 0, 1, 10, 100}).Draw(t, "placement")}
		first := rapid.IntRange(0, len(topology.Servers)-1).Draw(t, "first")
		for k := range plan.Copies(v.Placement) {
			disk := &topology.Servers[(first+k)%len(topology.Servers)].Disks[0]
			if int64(len(disk.Volumes)) < disk.Max {
				disk.Volumes = append(disk.Volumes, v)
			}
		}
	}
	return topology
}

// carryOut moves the replicas.
func carryOut(t plan.Topology, moves []plan.Move) {
	for _, m := range moves {
		var moved plan.Volume
		for i, s := range t.Servers {
			if s.Address == m.Source {
				at := slices.IndexFunc(s.Disks[0].Volumes, func(v plan.Volume) bool { return v.ID == m.Volume })
				moved = s.Disks[0].Volumes[at]
				t.Servers[i].Disks[0].Volumes = slices.Delete(slices.Clone(s.Disks[0].Volumes), at, at+1)
			}
		}
		for i, s := range t.Servers {
			if s.Address == m.Target {
				disk := &t.Servers[i].Disks[0]
				disk.Volumes = append(disk.Volumes, moved)
				disk.FreeBytes -= min(disk.FreeBytes, moved.Size)
			}
		}
	}
}

func TestBalanceSettlesAndBreaksNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		topology := drawCluster(t)
		settings := plan.BalanceSettings{Threshold: rapid.Float64Range(0, 1).Draw(t, "threshold"), MinServers: 2, Limit: rapid.IntRange(1, 30).Draw(t, "limit")}
		wasAt := map[uint32]map[string]bool{}
		for round := 0; ; round++ {
			require.Less(t, round, 400, "it oscillates")
			moves := plan.Moves(topology, settings)
			require.LessOrEqual(t, len(moves), settings.Limit)
			seen := map[uint32]bool{}
			for _, m := range moves {
				require.False(t, seen[m.Volume], "two moves of volume %d in one plan", m.Volume)
				seen[m.Volume] = true
				replicas, _, v := topology.Find(m.Volume)
				require.Contains(t, replicas, m.Source)
				require.NotContains(t, replicas, m.Target)
				require.Len(t, replicas, plan.Copies(v.Placement))
				if plan.Copies(v.Placement) == 1 {
					if wasAt[m.Volume] == nil {
						wasAt[m.Volume] = map[string]bool{}
					}
					require.False(t, wasAt[m.Volume][m.Target], "volume %d returns to %s", m.Volume, m.Target)
					wasAt[m.Volume][m.Source] = true
				}
			}
			if len(moves) == 0 {
				return
			}
			carryOut(topology, moves)
			for _, s := range topology.Servers {
				require.LessOrEqual(t, int64(len(s.Disks[0].Volumes)), s.Disks[0].Max, "%s is overfull", s.Address)
			}
		}
	})
}

func servers(count, racks int, disk func(i int) plan.Disk) plan.Topology {
	t := plan.Topology{LimitBytes: 1000}
	for i := range count {
		t.Servers = append(t.Servers, plan.Server{Address: fmt.Sprintf("s%02d:8080", i), DataCenter: "dc", Rack: fmt.Sprintf("r%d", i%racks), Disks: []plan.Disk{disk(i)}})
	}
	return t
}

func volumes(from, count int, size uint64) []plan.Volume {
	made := make([]plan.Volume, count)
	for i := range made {
		made[i] = plan.Volume{ID: uint32(from + i), Size: size}
	}
	return made
}

func TestBalanceHeedsCapacity(t *testing.T) {
	t.Parallel()
	settings := plan.BalanceSettings{Threshold: 0.2, MinServers: 2, Limit: 100}
	// A server twice as large holds twice as many volumes, so no move is needed.
	even := servers(2, 1, func(i int) plan.Disk {
		return plan.Disk{Type: "hdd", Max: int64(10 * (i + 1)), Volumes: volumes(100*i, 5*(i+1), 10)}
	})
	assert.Empty(t, plan.Moves(even, settings))
	// The empty server's disk is nearly full of other data.
	full := servers(3, 1, func(i int) plan.Disk {
		d := plan.Disk{Type: "hdd", Max: 20, TotalBytes: 1000, FreeBytes: 500}
		switch i {
		case 0:
			d.Volumes = volumes(1, 12, 10)
		case 1:
			d.FreeBytes = 90
		}
		return d
	})
	moves := plan.Moves(full, settings)
	require.NotEmpty(t, moves)
	for _, m := range moves {
		assert.Equal(t, "s02:8080", m.Target)
	}
	settings.MinServers = 4
	assert.Empty(t, plan.Moves(full, settings))
}

// TestBalanceCountsWhatItBalances: volumes of other collections take room, and are not counted.
func TestBalanceCountsWhatItBalances(t *testing.T) {
	t.Parallel()
	mine, others := []int{7, 1, 0, 0, 0}, []int{30, 2, 0, 0, 40}
	topology := servers(5, 1, func(i int) plan.Disk {
		d := plan.Disk{Type: "hdd", Max: 40, Volumes: volumes(100*(i+1), others[i], 10)}
		for _, v := range volumes(10*(i+1), mine[i], 10) {
			v.Collection = "mine"
			d.Volumes = append(d.Volumes, v)
		}
		return d
	})
	filter, err := plan.NewFilter("^mine$", plan.AllStates, "", "", "")
	require.NoError(t, err)
	settings := plan.BalanceSettings{Filter: filter, Threshold: 0.01, MinServers: 2, Limit: 100}
	moves := plan.Moves(topology, settings)
	assert.Len(t, moves, 5)
	carryOut(topology, moves)
	for i, want := range []int{2, 2, 2, 2, 0} { // the last one is full
		assert.Len(t, topology.Servers[i].Disks[0].Volumes, want+others[i], topology.Servers[i].Address)
	}
	assert.Empty(t, plan.Moves(topology, settings))

	filter, err = plan.NewFilter("^nobody$", plan.AllStates, "", "", "")
	require.NoError(t, err)
	left := plan.WhyNoMove(topology, plan.BalanceSettings{Filter: filter, MinServers: 2, Limit: 100})
	require.Len(t, left, 1)
	assert.Equal(t, plan.FilteredOut, left[0].Obstacle)
}

func TestEncodesSpreadShards(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count, racks := rapid.IntRange(4, 20).Draw(t, "servers"), rapid.IntRange(1, 5).Draw(t, "racks")
		topology := servers(count, racks, func(i int) plan.Disk {
			d := plan.Disk{Type: "hdd", Max: 100}
			if i == 0 {
				d.Volumes = []plan.Volume{{ID: 1, Size: 960}, {ID: 2, Size: 100}}
			}
			return d
		})
		found := plan.Encodes(topology, plan.EncodeSettings{Fullness: 0.95, MinBytes: 1, QuietSeconds: 10, Limit: 10}, 100)
		require.Len(t, found, 1, "the other volume is not full")
		perServer, perRack, shards := map[string]int{}, map[string]int{}, map[uint32]bool{}
		for _, target := range found[0].Targets {
			perServer[target.Server] += len(target.Shards)
			for _, s := range topology.Servers {
				if s.Address == target.Server {
					perRack[s.Rack] += len(target.Shards)
				}
			}
			for _, shard := range target.Shards {
				require.False(t, shards[shard])
				shards[shard] = true
			}
		}
		require.Len(t, shards, 14)
		for server, n := range perServer {
			if count >= 14 && count%racks == 0 && count/racks*racks >= 14 {
				require.LessOrEqual(t, n, (14+racks-1)/racks, "%s", server)
			}
			require.LessOrEqual(t, n, 4, "%s holds more than can be lost", server)
		}
		if racks > 1 && count >= 4*racks {
			for rack, n := range perRack {
				require.LessOrEqual(t, n, (14+racks-1)/racks, "%s", rack)
			}
		}
	})
}

func TestNoTwoShardsOnOneDiskIfAvoidable(t *testing.T) {
	t.Parallel()
	topology := servers(4, 2, func(i int) plan.Disk {
		d := plan.Disk{Type: "hdd", Max: 100}
		for disk := range uint32(4) { // one small volume on each disk makes it visible
			d.Volumes = append(d.Volumes, plan.Volume{ID: uint32(100*i) + disk, Size: 1, Disk: disk})
		}
		if i == 0 {
			d.Volumes = append(d.Volumes, plan.Volume{ID: 9999, Size: 990})
		}
		return d
	})
	found := plan.Encodes(topology, plan.EncodeSettings{Fullness: 0.95, MinBytes: 500, Limit: 10}, 100)
	require.Len(t, found, 1)
	require.Len(t, found[0].Targets, 14, "sixteen disks take fourteen shards")
}

// TestShardMovesSettle: racks and servers of any size. No server keeps more shards than may be lost.
func TestShardMovesSettle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count, racks := rapid.IntRange(4, 16).Draw(t, "servers"), rapid.IntRange(1, 3).Draw(t, "racks")
		topology := servers(count, 1, func(int) plan.Disk {
			return plan.Disk{Type: "hdd", Max: rapid.SampledFrom([]int64{1, 2, 6, 8, 20, 100}).Draw(t, "max")}
		})
		for i := range topology.Servers {
			topology.Servers[i].Rack = fmt.Sprintf("r%d", rapid.IntRange(0, racks-1).Draw(t, "rack"))
		}
		for id := range uint32(rapid.IntRange(1, 4).Draw(t, "volumes")) {
			masks := make([]uint32, count)
			for shard := range 14 {
				masks[rapid.IntRange(0, count-1).Draw(t, "at")] |= 1 << shard
			}
			for i, mask := range masks {
				if mask != 0 {
					topology.Servers[i].Disks[0].Shards = append(topology.Servers[i].Disks[0].Shards, plan.Shards{ID: id + 1, Bits: mask})
				}
			}
		}
		settle(t, topology)
		if slices.ContainsFunc(topology.Servers, func(s plan.Server) bool { return s.Disks[0].Max < 6 }) {
			return // Without free slots shards stay.
		}
		for _, s := range topology.Servers {
			for _, e := range s.Disks[0].Shards {
				require.LessOrEqual(t, bits.OnesCount32(e.Bits), 4, s.Address)
			}
		}
	})
}

// settle carries out plans until nothing is left to move.
func settle(t require.TestingT, topology plan.Topology) (rounds int) {
	for {
		moves := plan.ShardMoves(topology, plan.ECBalanceSettings{Threshold: 0.2, MinServers: 3, Limit: 100})
		if len(moves) == 0 {
			return rounds
		}
		seen := map[uint32]bool{}
		for _, m := range moves {
			require.False(t, seen[m.Volume], "one move for each volume")
			seen[m.Volume] = true
			require.NotEqual(t, plan.Dedup, m.Phase)
			carryShard(t, topology, m)
			to := topology.Servers[slices.IndexFunc(topology.Servers, func(s plan.Server) bool { return s.Address == m.Target })].Disks[0]
			require.LessOrEqual(t, shardsOf(to), to.Max*10, "a slot takes ten shards")
		}
		rounds++
		require.Less(t, rounds, 200, "it oscillates")
	}
}

func shardsOf(d plan.Disk) (count int64) {
	for _, e := range d.Shards {
		count += int64(bits.OnesCount32(e.Bits))
	}
	return count
}

// TestANewServerGetsShardsFromItsRack: the servers of the small rack are fuller, but can give nothing.
func TestANewServerGetsShardsFromItsRack(t *testing.T) {
	t.Parallel()
	topology := encodedIn(strings.Repeat("a", 5)+strings.Repeat("b", 21), 100, make([]uint32, 26)...)
	added := topology.Servers[25]
	topology.Servers = topology.Servers[:25]
	for id := range uint32(20) {
		for shard := range uint32(14) {
			disk := &topology.Servers[(id*14+shard)%25].Disks[0]
			disk.Shards = append(disk.Shards, plan.Shards{ID: id + 1, Bits: 1 << shard})
		}
	}
	settle(t, topology)
	topology.Servers = append(topology.Servers, added)
	assert.Positive(t, settle(t, topology))
	assert.Positive(t, shardsOf(topology.Servers[25].Disks[0]))
}

// encodedIn has a volume with these shards on servers of these racks, with max slots each, as on a real cluster.
func encodedIn(racks string, slots int64, shards ...uint32) plan.Topology {
	topology := servers(len(racks), 1, func(i int) plan.Disk {
		d := plan.Disk{Type: "hdd", Max: slots}
		if shards[i] != 0 {
			d.Shards = []plan.Shards{{ID: 1, Bits: shards[i]}}
		}
		return d
	})
	for i, rack := range racks {
		topology.Servers[i].Rack = string(rack)
	}
	return topology
}

// TestARackOfOneServerGetsNoMoreThanMayBeLost: the server of rack a got seven shards of each volume, half of all. After
// its kill -9 no object could be read. Servers in this state give the surplus back.
func TestARackOfOneServerGetsNoMoreThanMayBeLost(t *testing.T) {
	t.Parallel()
	encoded := encodedIn("abbb", 20, 0x00a9, 0x1210, 0x2442, 0x0904)
	assert.Zero(t, settle(t, encoded), "four, three, four and three shards")
	moved := encodedIn("abbb", 20, 0x38a9, 0x0210, 0x0442, 0x0104)
	assert.Equal(t, 3, settle(t, moved))
	for _, s := range moved.Servers {
		assert.LessOrEqual(t, bits.OnesCount32(s.Disks[0].Shards[0].Bits), 4, s.Address)
	}
}

// TestNoShardGoesBackAndForth: the full server of rack a gave a shard to a server of rack b without one, and the next
// detection brought it back, for ever.
func TestNoShardGoesBackAndForth(t *testing.T) {
	t.Parallel()
	settle(t, encodedIn("abbbbbbbb", 8, 0x38aa, 0, 0x0001, 0x0004, 0x0010, 0x0040, 0x0100, 0x0200, 0x0400))
}

// TestAServerWithoutSlotsGetsNoShard: such a server refuses each copy with "no space left".
func TestAServerWithoutSlotsGetsNoShard(t *testing.T) {
	t.Parallel()
	topology := encodedIn("aaaa", 20, 0x1249, 0x0924, 0x2492, 0)
	topology.Servers[3].Disks[0].Max, topology.Servers[3].Disks[0].Volumes = 1, volumes(2, 1, 146_032)
	assert.Zero(t, settle(t, topology))
}

func carryShard(t require.TestingT, topology plan.Topology, m plan.ShardMove) {
	for i, s := range topology.Servers {
		disk := &topology.Servers[i].Disks[0]
		at := slices.IndexFunc(disk.Shards, func(e plan.Shards) bool { return e.ID == m.Volume })
		switch s.Address {
		case m.Source:
			require.NotZero(t, disk.Shards[at].Bits&(1<<m.Shard))
			disk.Shards[at].Bits &^= 1 << m.Shard
		case m.Target:
			if at < 0 {
				disk.Shards = append(disk.Shards, plan.Shards{ID: m.Volume})
				at = len(disk.Shards) - 1
			}
			require.Zero(t, disk.Shards[at].Bits&(1<<m.Shard))
			disk.Shards[at].Bits |= 1 << m.Shard
		}
	}
}

// TestOddSizes: no sum of sizes or slots overflows. No volume is planned for a disk without room for it.
func TestOddSizes(t *testing.T) {
	t.Parallel()
	sizes := []uint64{0, 1, 9, 10, 11, 1 << 30, 1 << 62, 1<<63 - 1, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}
	slots := []int64{math.MinInt64, -1, 0, 1, 2, 1 << 40, math.MaxInt64}
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom(sizes)
		topology := servers(6, 3, func(int) plan.Disk {
			return plan.Disk{Type: "hdd", Max: rapid.SampledFrom(slots).Draw(t, "slots"), TotalBytes: size.Draw(t, "total"), FreeBytes: size.Draw(t, "free")}
		})
		topology.LimitBytes = size.Draw(t, "limit")
		for id := range uint32(8) {
			disk := &topology.Servers[rapid.IntRange(0, 1).Draw(t, "server")].Disks[0]
			disk.Volumes = append(disk.Volumes, plan.Volume{ID: id + 1, Size: size.Draw(t, "size"), DeletedBytes: size.Draw(t, "deleted"), ModifiedAt: rapid.SampledFrom(slots).Draw(t, "modified")})
		}
		disks := map[string]plan.Disk{}
		for _, s := range topology.Servers {
			disks[s.Address] = s.Disks[0]
		}
		taken, used := map[string]int64{}, map[string]*big.Int{}
		into := func(server string, bytes *big.Int) {
			if used[server] == nil {
				used[server] = new(big.Int)
			}
			used[server].Add(used[server], bytes)
		}
		for _, e := range plan.Encodes(topology, plan.EncodeSettings{MinBytes: 1, QuietSeconds: math.MinInt64, Limit: 100}, 0) {
			made := uint32(0)
			for _, target := range e.Targets {
				each := new(big.Int).Add(new(big.Int).SetUint64(e.Size/10), big.NewInt(1))
				for _, shard := range target.Shards {
					require.Zero(t, made&(1<<shard), "each shard once")
					made |= 1 << shard
					taken[target.Server]++
					into(target.Server, each)
				}
			}
			require.Equal(t, uint32(1<<14-1), made)
		}
		for server, shards := range taken {
			if disk := disks[server]; disk.Max > 0 && disk.Max < 1<<30 {
				require.LessOrEqual(t, shards, (disk.Max-int64(len(disk.Volumes)))*10, server)
			}
			if disk := disks[server]; disk.TotalBytes > 0 {
				require.LessOrEqual(t, used[server].Cmp(new(big.Int).SetUint64(disk.FreeBytes)), 0, server)
			}
		}
		used = map[string]*big.Int{}
		for _, m := range plan.Moves(topology, plan.BalanceSettings{Threshold: 0.01, Limit: 100}) {
			require.NotEqual(t, m.Source, m.Target)
			into(m.Target, new(big.Int).SetUint64(m.Size))
			if disk := disks[m.Target]; disk.TotalBytes > 0 {
				before := new(big.Int).SetUint64(disk.TotalBytes - min(disk.TotalBytes, disk.FreeBytes))
				require.LessOrEqual(t, before.Add(before, used[m.Target]).Cmp(new(big.Int).SetUint64(disk.TotalBytes)), 0, m.Target)
			}
		}
		for _, v := range plan.Vacuums(topology, plan.VacuumSettings{Threshold: 0.3, MinAge: 10}, 100) {
			require.GreaterOrEqual(t, v.Garbage, 0.3)
		}
		plan.WhyNoEncode(topology, plan.EncodeSettings{MinBytes: 1}, 0)
		plan.WhyNoMove(topology, plan.BalanceSettings{})
		plan.WhyNoVacuum(topology, plan.VacuumSettings{})
	})
}

// TestShardsOfAnotherRatioAreNoWholeSet: 14 of 16+4 shards are not all, so the replicas stay.
func TestShardsOfAnotherRatioAreNoWholeSet(t *testing.T) {
	t.Parallel()
	for bits, finished := range map[uint32]bool{1<<14 - 1: true, 1<<15 - 2: false, (1<<20 - 1) &^ (1<<6 - 1): false, 1<<20 - 1: false} {
		topology := servers(5, 5, func(int) plan.Disk { return plan.Disk{Type: "hdd", Max: 100} })
		topology.Servers[0].Disks[0].Volumes = []plan.Volume{{ID: 1, Size: 990, ReadOnly: true}}
		for shard := range 20 {
			if bits&(1<<shard) != 0 {
				disk := &topology.Servers[1+shard%4].Disks[0]
				disk.Shards = append(disk.Shards, plan.Shards{ID: 1, Bits: 1 << shard})
			}
		}
		found := plan.Encodes(topology, plan.EncodeSettings{MinBytes: 1, Limit: 10}, 100)
		assert.Equal(t, finished, len(found) == 1 && found[0].Finish, "%b", bits)
		assert.Equal(t, finished, len(found) > 0, "%b", bits)
	}
	for _, most := range []uint32{1<<14 - 1, 1 << 19} {
		topology := servers(3, 3, func(int) plan.Disk { return plan.Disk{Type: "hdd", Max: 100} })
		topology.Servers[0].Disks[0].Volumes = []plan.Volume{{ID: 1, Size: 990, ReadOnly: true}}
		topology.Servers[1].Disks[0].Shards = []plan.Shards{{ID: 1, Bits: most}}
		topology.Servers[2].Disks[0].Shards = []plan.Shards{{ID: 1, Bits: (1<<20 - 1) &^ (1<<14 - 1) & ^most}}
		assert.Empty(t, plan.Encodes(topology, plan.EncodeSettings{MinBytes: 1, Limit: 10}, 100), "%b", most)
	}
}

// TestANameWithASlashMixesNoRacks: rack c of data center a/b is not rack b/c of data center a.
func TestANameWithASlashMixesNoRacks(t *testing.T) {
	t.Parallel()
	topology := plan.Topology{Servers: []plan.Server{
		{Address: "s1", DataCenter: "a/b", Rack: "c", Disks: []plan.Disk{{Type: "hdd", Max: 20, Shards: []plan.Shards{{ID: 1, Bits: 1<<14 - 1}}}}},
		{Address: "s2", DataCenter: "a", Rack: "b/c", Disks: []plan.Disk{{Type: "hdd", Max: 20}}},
	}}
	moves := plan.ShardMoves(topology, plan.ECBalanceSettings{MinServers: 2, Limit: 1})
	require.Len(t, moves, 1)
	assert.Equal(t, plan.CrossRack, moves[0].Phase)
}

// TestReplicasOnDisksOfTwoTypesStayApart: each type of disk was planned with the places before all moves, and both
// replicas of a volume went to one server.
func TestReplicasOnDisksOfTwoTypesStayApart(t *testing.T) {
	t.Parallel()
	disk := func(kind string, used ...uint32) plan.Disk {
		d := plan.Disk{Type: kind, Max: 10}
		for _, id := range used {
			d.Volumes = append(d.Volumes, plan.Volume{ID: id, Size: 1, Placement: 1})
		}
		return d
	}
	server := func(name string, disks ...plan.Disk) plan.Server {
		return plan.Server{Address: name, DataCenter: "dc", Rack: "r", Disks: disks}
	}
	topology := plan.Topology{LimitBytes: 1000, Servers: []plan.Server{
		server("a", disk("hdd", 1, 2, 3, 4)), server("b", disk("ssd", 1, 2, 3, 4)), server("c", disk("hdd"), disk("ssd")),
	}}
	moves := plan.Moves(topology, plan.BalanceSettings{Threshold: 0.1, MinServers: 2, Limit: 100})
	require.NotEmpty(t, moves)
	at := map[uint32]map[string]bool{}
	for id := range uint32(4) {
		at[id+1] = map[string]bool{"a": true, "b": true}
	}
	for _, m := range moves {
		delete(at[m.Volume], m.Source)
		at[m.Volume][m.Target] = true
		assert.Len(t, at[m.Volume], 2, "volume %d", m.Volume)
	}
	assert.Len(t, moves, 4, "two volumes of each type")
}
