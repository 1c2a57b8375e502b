package plan

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Shards of Reed-Solomon 10+4.
const (
	totalShards = 14
	dataShards  = 10
	// maxPerDomain is the number of shards of a volume that may be lost at once.
	maxPerDomain   = 4
	minECServers   = 4
	shardsPerSlot  = 10
	maxFailedPlans = 10
	// maxSlots bounds the reported slots of a disk, so that sums do not overflow.
	maxSlots = 1 << 32
)

func bitsOf(mask uint32) int { return bits.OnesCount32(mask) }

// EncodeSettings choose the volumes to encode.
type EncodeSettings struct {
	Filter       Filter
	QuietSeconds int64
	Fullness     float64
	MinBytes     uint64
	// Spread is ignored if it leaves no room, because few servers are better than none.
	Spread Spread
	Limit  int
}

// Encode is a volume to encode, with the targets of its shards.
type Encode struct {
	Volume     uint32
	Collection string
	Size       uint64
	Replicas   []string
	Targets    []ShardTarget
	// Finish: all shards are there, and only the replicas next to them must go.
	Finish bool
	// Again: an encoding that is gone left too few shards, or all on one server.
	Again bool
}

// ShardTarget is one disk of one server with the shards for it.
type ShardTarget struct {
	Server string
	Disk   uint32
	Shards []uint32
}

// Encodes lists the volumes that are full, quiet and complete, with a target for every shard. It leaves out a volume
// with shards, unless [unended].
func Encodes(t Topology, settings EncodeSettings, now int64) []Encode {
	if len(t.Servers) < minECServers {
		return nil
	}
	encoded := shardTargets(t)
	room := newRoom(t)
	var found []Encode
	failures := 0
	for _, replicas := range t.volumes() {
		if len(found) >= settings.Limit || failures >= maxFailedPlans && len(found) >= maxFailedPlans {
			break
		}
		targets, has := encoded[replicas[0].ID]
		if has && settings.finishes(t, replicas, now) {
			finish := encodeOf(t, replicas, targets)
			finish.Finish = true
			found = append(found, finish)
			continue
		}
		if has && !unended(t, replicas) || !settings.wants(t, replicas, targets, now) {
			continue
		}
		targets, ok := room.place(replicas[0].Size, settings.Spread)
		if !ok && settings.Spread.bounded() {
			targets, ok = room.place(replicas[0].Size, settings.Spread.withoutBounds())
		}
		if !ok {
			failures++
			continue
		}
		failures = 0
		encode := encodeOf(t, replicas, targets)
		encode.Again = has
		found = append(found, encode)
	}
	return found
}

// unended: all replicas are read-only, next to too few shards or to all of them on one server. More shards may be a
// whole set with one server down, which would return with shards of another encoding. Shards with higher numbers are of
// another ratio.
func unended(t Topology, replicas []placed) bool {
	if slices.ContainsFunc(replicas, func(r placed) bool { return !r.ReadOnly }) {
		return false
	}
	seen, most := seenShards(t, replicas[0].ID)
	return seen>>totalShards == 0 && (bitsOf(seen) < dataShards || most == totalShards)
}

func seenShards(t Topology, id uint32) (seen uint32, most int) {
	for _, server := range t.Servers {
		on := uint32(0)
		for _, d := range server.Disks {
			for _, e := range d.Shards {
				if e.ID == id {
					on |= e.Bits
				}
			}
		}
		seen, most = seen|on, max(most, bitsOf(on))
	}
	return seen, most
}

// hidden counts the servers with shards and without a replica. A server restarted next to shards of a volume does not
// load its replica.
func hidden(t Topology, replicas []placed, shards []ShardTarget) int {
	servers := map[string]bool{}
	for _, on := range shards {
		servers[on.Server] = true
	}
	for _, r := range replicas {
		delete(servers, t.Servers[r.server].Address)
	}
	return len(servers)
}

func encodeOf(t Topology, replicas []placed, targets []ShardTarget) Encode {
	first := replicas[0]
	e := Encode{Volume: first.ID, Collection: first.Collection, Size: first.Size, Targets: targets}
	for _, r := range replicas {
		e.Replicas = append(e.Replicas, t.Servers[r.server].Address)
	}
	return e
}

func shardTargets(t Topology) map[uint32][]ShardTarget {
	targets, seen := map[uint32][]ShardTarget{}, map[uint32]uint32{}
	for _, s := range t.Servers {
		for _, d := range s.Disks {
			for _, e := range d.Shards {
				made := ShardTarget{Server: s.Address, Disk: e.Disk}
				for shard := range uint32(totalShards) {
					if e.Bits&^seen[e.ID]&(1<<shard) != 0 {
						made.Shards = append(made.Shards, shard)
					}
				}
				seen[e.ID] |= e.Bits
				targets[e.ID] = append(targets[e.ID], made)
			}
		}
	}
	return targets
}

func (s EncodeSettings) finishes(t Topology, replicas []placed, now int64) bool {
	for _, r := range replicas {
		if r.Remote || now-r.ModifiedAt < s.QuietSeconds || !s.Filter.server(t.Servers[r.server]) || !s.Filter.volume(r.Volume, t.LimitBytes) {
			return false
		}
	}
	seen, most := seenShards(t, replicas[0].ID)
	return seen == 1<<totalShards-1 && most < totalShards // A volume of another ratio may have as many.
}

func (s EncodeSettings) wants(t Topology, replicas []placed, shards []ShardTarget, now int64) bool {
	if len(replicas)+hidden(t, replicas, shards) < Copies(replicas[0].Placement) {
		return false
	}
	inside := false
	for _, r := range replicas {
		if r.Remote || r.Size < s.MinBytes || now-r.ModifiedAt < s.QuietSeconds || float64(r.Size) < s.Fullness*float64(t.LimitBytes) {
			return false
		}
		inside = inside || s.Filter.server(t.Servers[r.server]) && s.Filter.volume(r.Volume, t.LimitBytes)
	}
	return inside
}

type spot struct {
	place
	disk       uint32
	tags       []string
	free       int64 // shards
	freeBytes  uint64
	knowsBytes bool
}

// room is the free space of all disks, less the planned shards.
type room struct{ spots []*spot }

func newRoom(t Topology) *room {
	r := &room{}
	for _, s := range t.Servers {
		for _, d := range s.Disks {
			ids, free := diskIDs(d), freeShards(d)
			for _, id := range ids {
				r.spots = append(r.spots, &spot{
					place: placeOf(s), disk: id, tags: d.Tags, free: free / int64(len(ids)),
					freeBytes: d.FreeBytes / uint64(len(ids)), knowsBytes: d.TotalBytes > 0,
				})
			}
		}
	}
	return r
}

// freeShards is the number of shards that the free slots of a disk take.
func freeShards(d Disk) int64 {
	if d.Max <= 0 {
		return 1 << 20
	}
	used := int64(0)
	for _, e := range d.Shards {
		used += int64(bitsOf(e.Bits))
	}
	return max(0, (min(d.Max, maxSlots)-int64(len(d.Volumes)))*shardsPerSlot-used)
}

func diskIDs(d Disk) []uint32 {
	ids := lists.Map(d.Volumes, func(v Volume) uint32 { return v.Disk })
	for _, e := range d.Shards {
		ids = append(ids, e.Disk)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 0 {
		return []uint32{0}
	}
	return ids
}

// place prefers the rack, server and disk with fewest shards of the volume, then with most room. If there are enough
// servers, none gets more shards than may be lost. Within that bound preferred tags come first.
func (r *room) place(size uint64, spread Spread) ([]ShardTarget, bool) {
	each := size/shardsPerSlot + 1
	centers, racks, servers, disks := map[string]int{}, map[rack]int{}, map[string]int{}, map[*spot]int{}
	chosen := map[*spot][]uint32{}
	for shard := range uint32(totalShards) {
		var best *spot
		for _, s := range r.spots {
			if s.free <= int64(disks[s]) || s.knowsBytes && s.freeBytes/uint64(disks[s]+1) < each { //nolint:gosec // at most fourteen
				continue
			}
			if !spread.allows(centers[s.rack.dc], racks[s.rack], servers[s.server]) {
				continue
			}
			if best == nil || cmp.Or(
				cmp.Compare(servers[s.server]/maxPerDomain, servers[best.server]/maxPerDomain),
				cmp.Compare(spread.rank(s.tags), spread.rank(best.tags)),
				cmp.Compare(racks[s.rack], racks[best.rack]), cmp.Compare(servers[s.server], servers[best.server]),
				cmp.Compare(disks[s], disks[best]), cmp.Compare(best.free, s.free),
			) < 0 {
				best = s
			}
		}
		if best == nil {
			return nil, false
		}
		centers[best.rack.dc]++
		racks[best.rack]++
		servers[best.server]++
		disks[best]++
		chosen[best] = append(chosen[best], shard)
	}
	var targets []ShardTarget
	for _, s := range r.spots {
		if shards := chosen[s]; len(shards) > 0 {
			s.free -= int64(len(shards))
			s.freeBytes -= min(s.freeBytes, each*uint64(len(shards)))
			targets = append(targets, ShardTarget{s.server, s.disk, shards})
		}
	}
	return targets, true
}
