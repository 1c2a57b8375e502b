package plan

import (
	"cmp"
	"maps"
	"slices"
)

// fullDisk is the share of used bytes from which a disk gets no volume.
const fullDisk = 0.9

// BalanceSettings define the imbalance of servers.
type BalanceSettings struct {
	Filter     Filter
	Threshold  float64 // of (most − least) / mean
	MinServers int
	Limit      int // of moves
}

// Move is one replica with its new server.
type Move struct {
	Volume         uint32
	Collection     string
	Source, Target string
	DiskType       string
	Size           uint64
	Copies         int
}

type load struct {
	place             place
	count, taken, max int64
	used, total       uint64
	volumes           []Volume
	exhausted         bool
	departed          map[uint32]bool
}

// Moves plans moves from the fullest to the emptiest servers, for each type of disk. Utilisation is volumes by slots,
// or the count if a server does not report its slots. With a filter only matching volumes count. No move makes its
// target fuller than its source, so none is reverted later.
func Moves(t Topology, settings BalanceSettings) []Move {
	holders, moved := t.holders(), map[uint32]bool{}
	var moves []Move
	for _, diskType := range t.diskTypes() {
		b := newBalance(t, settings, diskType, holders)
		b.moved = moved // A volume may have replicas on disks of two types.
		for len(moves) < settings.Limit {
			move, ok := b.next()
			if !ok {
				break
			}
			moves = append(moves, move)
		}
	}
	return moves
}

func (t Topology) diskTypes() []string {
	types := map[string]bool{}
	for _, s := range t.Servers {
		for _, d := range s.Disks {
			types[d.Type] = true
		}
	}
	return slices.Sorted(maps.Keys(types))
}

func (t Topology) holders() map[uint32][]place {
	holders := map[uint32][]place{}
	for _, replicas := range t.volumes() {
		for _, r := range replicas {
			holders[r.ID] = append(holders[r.ID], placeOf(t.Servers[r.server]))
		}
	}
	return holders
}

type balance struct {
	topology Topology
	settings BalanceSettings
	diskType string
	loads    []*load
	byCount  bool
	holders  map[uint32][]place
	moved    map[uint32]bool
}

func newBalance(t Topology, settings BalanceSettings, diskType string, holders map[uint32][]place) *balance {
	b := &balance{topology: t, settings: settings, diskType: diskType, holders: holders}
	for _, s := range t.Servers {
		if !settings.Filter.server(s) {
			continue
		}
		for _, d := range s.Disks {
			if d.Type != diskType {
				continue
			}
			l := &load{place: placeOf(s), max: d.Max, total: d.TotalBytes, volumes: d.Volumes, departed: map[uint32]bool{}}
			if d.TotalBytes > d.FreeBytes {
				l.used = d.TotalBytes - d.FreeBytes
			}
			l.taken = int64(len(d.Volumes)) + shardSlots(d)
			l.count = l.taken
			if settings.Filter.narrows() {
				l.count = 0
				for _, v := range d.Volumes {
					if settings.Filter.volume(v, t.LimitBytes) {
						l.count++
					}
				}
			}
			slices.SortFunc(l.volumes, func(a, b Volume) int { return cmp.Compare(a.ID, b.ID) })
			b.byCount = b.byCount || d.Max <= 0
			b.loads = append(b.loads, l)
		}
	}
	return b
}

// shardSlots is the number of volume slots that the shards of a disk take.
func shardSlots(d Disk) int64 {
	shards := 0
	for _, s := range d.Shards {
		shards += bitsOf(s.Bits)
	}
	return int64((shards + 9) / 10)
}

func (b *balance) utilisation(l *load, change int64) float64 {
	if b.byCount {
		return float64(l.count + change)
	}
	return float64(l.count+change) / float64(l.max)
}

func (b *balance) next() (Move, bool) {
	for {
		source, targets := b.extremes()
		if source == nil || len(targets) == 0 || !b.worthwhile(source, targets[0]) {
			return Move{}, false
		}
		if move, ok := b.from(source, targets); ok {
			return move, true
		}
		source.exhausted = true
	}
}

// extremes returns the fullest server with a volume to move, and the others with room, the emptiest first.
func (b *balance) extremes() (source *load, targets []*load) {
	if len(b.loads) < b.settings.MinServers {
		return nil, nil
	}
	for _, l := range b.loads {
		if !l.exhausted && len(l.volumes) > 0 && l.count > 0 && (source == nil || b.utilisation(l, 0) > b.utilisation(source, 0)) {
			source = l
		}
	}
	for _, l := range b.loads {
		if l != source && (b.byCount || l.taken < l.max) && (l.total == 0 || float64(l.used) < fullDisk*float64(l.total)) {
			targets = append(targets, l)
		}
	}
	slices.SortStableFunc(targets, func(x, y *load) int { return cmp.Compare(b.utilisation(x, 0), b.utilisation(y, 0)) })
	return source, targets
}

func (b *balance) worthwhile(source, target *load) bool {
	return b.imbalance(source, target) > b.settings.Threshold && b.improves(source, target)
}

// imbalance is (most − least) / mean, or 0 without volumes.
func (b *balance) imbalance(source, target *load) float64 {
	sum := 0.0
	for _, l := range b.loads {
		sum += b.utilisation(l, 0)
	}
	if sum == 0 {
		return 0
	}
	mean := sum / float64(len(b.loads))
	return (b.utilisation(source, 0) - b.utilisation(target, 0)) / mean
}

func (b *balance) improves(source, target *load) bool {
	return b.utilisation(target, 1) <= b.utilisation(source, -1)
}

func (b *balance) from(source *load, targets []*load) (Move, bool) {
	for _, v := range source.volumes {
		if source.departed[v.ID] || b.moved[v.ID] || v.Remote || !b.settings.Filter.volume(v, b.topology.LimitBytes) {
			continue
		}
		others, complete := b.others(v, source)
		if !complete {
			continue
		}
		for _, target := range targets {
			if !b.improves(source, target) || !hasRoom(target, v) || !keepsPlacement(v.Placement, source.place, target.place, others) {
				continue
			}
			b.book(v, source, target)
			return Move{v.ID, v.Collection, source.place.server, target.place.server, b.diskType, v.Size, Copies(v.Placement)}, true
		}
	}
	return Move{}, false
}

// hasRoom compares bytes: with this volume the target stays below the mark.
func hasRoom(target *load, v Volume) bool {
	return target.total == 0 || float64(target.used)+float64(v.Size) < fullDisk*float64(target.total)
}

// fix.replication must first repair a volume with a missing or surplus copy.
func (b *balance) others(v Volume, source *load) (others []place, complete bool) {
	for _, p := range b.holders[v.ID] {
		if p.server != source.place.server {
			others = append(others, p)
		}
	}
	return others, len(others)+1 == Copies(v.Placement)
}

func (b *balance) book(v Volume, source, target *load) {
	source.count--
	source.taken--
	source.departed[v.ID] = true
	target.count++
	target.taken++
	target.used += v.Size
	b.moved[v.ID] = true
}
