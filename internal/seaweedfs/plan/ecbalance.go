package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// ECBalanceSettings define the imbalance of shards.
type ECBalanceSettings struct {
	Filter     Filter
	DiskType   string
	Threshold  float64
	MinServers int
	Limit      int
	Spread     Spread
}

// Phase is the reason of a shard move.
type Phase string

// The phases, the most urgent first.
const (
	Dedup      Phase = "dedup"
	CrossRack  Phase = "cross_rack"
	WithinRack Phase = "within_rack"
	Global     Phase = "global"
)

// ShardMove is one shard to move, or with Dedup to remove from Source.
type ShardMove struct {
	Phase          Phase
	Volume         uint32
	Collection     string
	Shard          uint32
	Source, Target string
	Disk           uint32
	Size           int64
}

type shardNode struct {
	place place
	slots int64
	count int
	free  int64 // shards
	full  bool
	held  map[uint32]*held // by volume
	disks []shardDisk
	rank  int // of its best disk
}

type held struct {
	collection string
	shards     []uint32
	sizes      map[uint32]int64
	disk       map[uint32]uint32
}

type shardDisk struct {
	id   uint32
	rank int
}

// ShardMoves plans at most one move for each volume: duplicates first, then racks, servers of a rack, and totals.
func ShardMoves(t Topology, settings ECBalanceSettings) []ShardMove {
	nodes := shardNodes(t, settings)
	if len(nodes) < settings.MinServers {
		return nil
	}
	volumes := map[uint32]string{}
	for _, n := range nodes {
		for id, h := range n.held {
			volumes[id] = h.collection
		}
	}
	ids := slices.Sorted(maps.Keys(volumes))
	var moves []ShardMove
	planned := map[uint32]bool{}
	for _, id := range ids {
		if len(moves) >= settings.Limit {
			break
		}
		if !settings.Filter.volume(Volume{Collection: volumes[id]}, 0) {
			continue
		}
		if move, ok := spread(nodes, id, settings.Spread); ok {
			moves, planned[id] = append(moves, move), true
		}
	}
	totals := evening{nodes, settings, planned, map[uint32]share{}, map[*shardNode]bool{}}
	for len(moves) < settings.Limit && len(ids) > 0 {
		move, ok := totals.next()
		if !ok {
			break
		}
		moves, planned[move.Volume] = append(moves, move), true
	}
	rank := map[Phase]int{Dedup: 0, CrossRack: 1, WithinRack: 2, Global: 3}
	slices.SortStableFunc(moves, func(a, b ShardMove) int { return cmp.Compare(rank[a.Phase], rank[b.Phase]) })
	return moves
}

func shardNodes(t Topology, settings ECBalanceSettings) []*shardNode {
	var nodes []*shardNode
	for _, s := range t.Servers {
		if !settings.Filter.server(s) {
			continue
		}
		n := &shardNode{place: placeOf(s), held: map[uint32]*held{}, rank: len(settings.Spread.Tags)}
		for _, d := range s.Disks {
			if settings.DiskType != "" && d.Type != settings.DiskType {
				continue
			}
			n.slots += max(1, d.Max-int64(len(d.Volumes)))
			n.free += freeShards(d)
			n.full = n.full || d.TotalBytes > 0 && float64(d.TotalBytes-min(d.TotalBytes, d.FreeBytes)) >= fullDisk*float64(d.TotalBytes)
			for _, e := range d.Shards {
				n.take(e)
			}
			rank := settings.Spread.rank(d.Tags)
			n.rank = min(n.rank, rank)
			for _, disk := range diskIDs(d) {
				n.disks = append(n.disks, shardDisk{disk, rank})
			}
		}
		if n.slots > 0 {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// A server without a free slot refuses a copy.
func (n *shardNode) takes() bool { return !n.full && n.free > 0 }

func (n *shardNode) take(e Shards) {
	h := n.held[e.ID]
	if h == nil {
		h = &held{collection: e.Collection, sizes: map[uint32]int64{}, disk: map[uint32]uint32{}}
		n.held[e.ID] = h
	}
	at := -1
	for shard := range uint32(totalShards) {
		if e.Bits&(1<<shard) == 0 {
			continue
		}
		at++
		if slices.Contains(h.shards, shard) {
			continue // it is on two disks of the server: no call names a disk to delete from
		}
		h.shards = append(h.shards, shard)
		h.disk[shard] = e.Disk
		if at < len(e.Sizes) {
			h.sizes[shard] = e.Sizes[at]
		}
		n.count++
	}
}

func (n *shardNode) of(id uint32) []uint32 {
	if h := n.held[id]; h != nil {
		return h.shards
	}
	return nil
}

// Racks get even shares. No share puts more shards on one server than may be lost, if another server has room for them.
func spread(nodes []*shardNode, id uint32, rules Spread) (ShardMove, bool) {
	if move, ok := dedup(nodes, id); ok {
		return move, true
	}
	centers, racks, total := counts(nodes, id)
	perRack := evenShare(total, racks)
	ordered := byShards(nodes, id)
	for _, from := range ordered {
		have := len(from.of(id))
		if have == 0 {
			break // Those after it have none either.
		}
		var rescue *shardNode
		for _, to := range slices.Backward(ordered) {
			if !to.takes() || from == to || !rules.allowsMove(from, to, id, centers, racks) {
				continue
			}
			crosses, there := from.place.rack != to.place.rack, len(to.of(id))
			safe := there < maxPerDomain || there+1 < have
			if crosses && safe && racks[from.place.rack] > perRack && racks[to.place.rack] < perRack {
				return book(from, to, id, CrossRack), true
			}
			if !crosses && have > there+1 {
				return book(from, to, id, WithinRack), true
			}
			if rescue == nil && have > maxPerDomain && there < maxPerDomain {
				rescue = to
			}
		}
		if rescue != nil {
			return book(from, rescue, id, CrossRack), true
		}
	}
	return ShardMove{}, false
}

func evenShare(total int, racks map[rack]int) int { return (total + len(racks) - 1) / len(racks) }

func counts(nodes []*shardNode, id uint32) (centers map[string]int, racks map[rack]int, total int) {
	centers, racks = map[string]int{}, map[rack]int{}
	for _, n := range nodes {
		have := len(n.of(id))
		centers[n.place.rack.dc] += have
		racks[n.place.rack] += have
		total += have
	}
	return centers, racks, total
}

func (s Spread) allowsMove(from, to *shardNode, id uint32, centers map[string]int, racks map[rack]int) bool {
	inCenter, inRack := centers[to.place.rack.dc], racks[to.place.rack]
	if from.place.rack.dc == to.place.rack.dc {
		inCenter--
	}
	if from.place.rack == to.place.rack {
		inRack--
	}
	return s.allows(inCenter, inRack, len(to.of(id)))
}

// Among equals the less preferred and the fuller come first.
func byShards(nodes []*shardNode, id uint32) []*shardNode {
	ordered := slices.Clone(nodes)
	slices.SortStableFunc(ordered, func(a, b *shardNode) int {
		return cmp.Or(cmp.Compare(len(b.of(id)), len(a.of(id))), cmp.Compare(b.rank, a.rank), cmp.Compare(b.count, a.count))
	})
	return ordered
}

// dedup keeps a duplicate shard on the server with fewer shards.
func dedup(nodes []*shardNode, id uint32) (ShardMove, bool) {
	owner := map[uint32]*shardNode{}
	for _, n := range nodes {
		for _, shard := range n.of(id) {
			other := owner[shard]
			if other == nil {
				owner[shard] = n
				continue
			}
			from, keep := n, other
			if len(from.of(id)) < len(keep.of(id)) {
				from, keep = keep, from
			}
			h := from.held[id]
			return ShardMove{Phase: Dedup, Volume: id, Collection: h.collection, Shard: shard, Source: from.place.server, Target: keep.place.server, Size: h.sizes[shard]}, true
		}
	}
	return ShardMove{}, false
}

// share is the placement of a volume, with the limit of each rack.
type share struct {
	centers map[string]int
	racks   map[rack]int
	most    int
}

// evening plans moves for even totals. A volume moves once in a plan, so its share stays as it is.
type evening struct {
	nodes    []*shardNode
	settings ECBalanceSettings
	planned  map[uint32]bool
	shares   map[uint32]share
	idle     map[*shardNode]bool // servers that can give nothing in this plan
}

// next moves a shard of the fullest server that can give one.
func (e *evening) next() (ShardMove, bool) {
	ordered, sum := slices.Clone(e.nodes), 0.0
	slices.SortStableFunc(ordered, func(a, b *shardNode) int { return cmp.Compare(b.load(0), a.load(0)) })
	for _, n := range ordered {
		sum += n.load(0)
	}
	for _, from := range ordered {
		if sum == 0 || e.idle[from] {
			continue
		}
		if move, ok := e.give(from, ordered, sum/float64(len(ordered))); ok {
			return move, true
		}
		e.idle[from] = true
	}
	return ShardMove{}, false
}

func (e *evening) give(from *shardNode, ordered []*shardNode, mean float64) (ShardMove, bool) {
	ids := slices.DeleteFunc(sortedVolumes(from), func(id uint32) bool {
		return e.planned[id] || !e.settings.Filter.volume(Volume{Collection: from.held[id].collection}, 0)
	})
	for _, to := range slices.Backward(ordered) {
		if (from.load(0)-to.load(0))/mean <= e.settings.Threshold {
			break // Those before it have more.
		}
		if !to.takes() || to.load(1) > from.load(-1) {
			continue
		}
		for _, id := range ids {
			if e.allows(from, to, id) {
				return book(from, to, id, Global), true
			}
		}
	}
	return ShardMove{}, false
}

// The target is in the same rack, or has none of the volume and is in a rack below its share.
func (e *evening) allows(from, to *shardNode, id uint32) bool {
	crosses, there := from.place.rack != to.place.rack, len(to.of(id))
	if there >= len(from.of(id)) || crosses && there > 0 {
		return false
	}
	s, known := e.shares[id]
	if !known {
		centers, racks, total := counts(e.nodes, id)
		s = share{centers, racks, evenShare(total, racks)}
		e.shares[id] = s
	}
	return (!crosses || s.racks[to.place.rack] < s.most) && e.settings.Spread.allowsMove(from, to, id, s.centers, s.racks)
}

func (n *shardNode) load(change int) float64 { return float64(n.count+change) / float64(n.slots) }

func sortedVolumes(n *shardNode) []uint32 {
	ids := make([]uint32, 0, len(n.held))
	for id, h := range n.held {
		if len(h.shards) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// The shard goes from the disk with most of the volume's shards to the one with fewest.
func book(from, to *shardNode, id uint32, phase Phase) ShardMove {
	h := from.held[id]
	at := 0
	for i, shard := range h.shards {
		if h.on(h.disk[shard]) >= h.on(h.disk[h.shards[at]]) {
			at = i
		}
	}
	shard := h.shards[at]
	h.shards = slices.Delete(h.shards, at, at+1)
	into := to.held[id]
	if into == nil {
		into = &held{collection: h.collection, sizes: map[uint32]int64{}, disk: map[uint32]uint32{}}
		to.held[id] = into
	}
	disk := to.disks[0]
	for _, other := range to.disks[1:] {
		if cmp.Or(cmp.Compare(into.on(other.id), into.on(disk.id)), cmp.Compare(other.rank, disk.rank), cmp.Compare(to.on(other.id), to.on(disk.id))) < 0 {
			disk = other
		}
	}
	into.shards = append(into.shards, shard)
	into.sizes[shard], into.disk[shard] = h.sizes[shard], disk.id
	from.count-- // Its slot counts as free in the next plan: the moves of this one may end in any order.
	to.count++
	to.free--
	return ShardMove{Phase: phase, Volume: id, Collection: h.collection, Shard: shard, Source: from.place.server, Target: to.place.server, Disk: disk.id, Size: h.sizes[shard]}
}

func (h *held) on(disk uint32) int {
	return lists.Count(h.shards, func(shard uint32) bool { return h.disk[shard] == disk })
}

func (n *shardNode) on(disk uint32) int {
	count := 0
	for _, h := range n.held {
		count += h.on(disk)
	}
	return count
}
