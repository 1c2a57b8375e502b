package fakecluster

import (
	"errors"
	"maps"
	"slices"
)

// entry is one append to a volume: an object, or its deletion.
type entry struct {
	key     uint64
	at      uint64
	size    uint64
	deleted bool
}

type volume struct {
	collection string
	log        []entry
	revision   uint32
	readOnly   bool
	// sorted means that it was loaded as read-only, so its index counts a deletion twice.
	sorted bool
	// ghost means that its files are gone.
	ghost     bool
	modified  int64
	placement uint32
	diskType  string
	disk      uint32
	// info is the content of the .vif file at the load of the volume, with later changes by marks.
	info vif
	// compacted is the result of an uncommitted compaction.
	compacted []entry
}

// vif is the content of a .vif file. A volume and its shards on the same disk share one: the last writer wins.
type vif struct {
	readOnly bool
	made     uint64
	encoded  int64
}

// Sizes on disk: a superblock, and for each needle its header, checksum, time and padding.
const (
	superBlock = 8
	needleHead = 16 + 4 + 8
	padding    = 8
)

// record returns the size on disk of a needle with size bytes. It always has padding.
func record(size uint64) uint64 {
	bytes := needleHead + size
	return bytes + padding - bytes%padding
}

func (v *volume) dat() uint64 {
	bytes := uint64(superBlock)
	for _, e := range v.log {
		bytes += record(e.size)
	}
	return bytes
}

func (v *volume) idx() uint64 { return 16 * uint64(len(v.log)) }

func (v *volume) files() uint64 {
	var files uint64
	for _, e := range v.log {
		if !e.deleted {
			files++
		}
	}
	return files
}

func (v *volume) live() map[uint64]uint64 {
	live := map[uint64]uint64{}
	for _, e := range v.log {
		if e.deleted {
			delete(live, e.key)
		} else {
			live[e.key] = e.size
		}
	}
	return live
}

func (v *volume) writes() map[uint64]uint64 {
	writes := map[uint64]uint64{}
	for _, e := range v.log {
		if e.deleted {
			delete(writes, e.key)
		} else {
			writes[e.key]++
		}
	}
	return writes
}

func (v *volume) garbageBytes() uint64 {
	var kept uint64
	for _, size := range v.live() {
		kept += record(size)
	}
	return v.dat() - superBlock - kept
}

func (v *volume) garbage() float64 {
	if total := v.dat(); total > 0 {
		return float64(v.garbageBytes()) / float64(total)
	}
	return 0
}

func (v *volume) lastAppend() uint64 {
	if len(v.log) == 0 {
		return 0
	}
	return v.log[len(v.log)-1].at
}

func (v *volume) squeezed() []entry {
	live := v.live()
	var kept []entry
	for _, e := range v.log {
		if _, ok := live[e.key]; ok && !e.deleted {
			kept = append(kept, e)
		}
	}
	return kept
}

// commit replaces the log by the compacted one, with later appends.
func (v *volume) commit() error {
	if v.compacted == nil {
		return errors.New("no compaction to commit")
	}
	v.log = v.squeezed()
	v.compacted = nil
	v.revision++
	return nil
}

// tail appends the entries of source since then, except needles equal to the newest one in v. So an older needle of source
// replaces a newer one, and restores a deleted one. A read-only volume refuses the first needle, not the call.
func (v *volume) tail(source *volume, since uint64) error {
	newest := map[uint64]entry{}
	for _, e := range v.log {
		newest[e.key] = e
	}
	for _, e := range source.log {
		if e.at > since && v.readOnly {
			return errReadOnly
		}
		now, known := newest[e.key]
		switch {
		case e.at < since, e == now:
			continue
		case e.deleted && (!known || now.deleted):
			continue
		}
		newest[e.key] = e
		v.log = append(v.log, e)
	}
	return nil
}

var errReadOnly = errors.New("is read only")

func (v *volume) clone() *volume {
	copied := *v
	copied.log, copied.compacted, copied.ghost = slices.Clone(v.log), nil, false
	return &copied
}

// generation is the content of one set of shards.
type generation struct {
	live map[uint64]uint64
	dat  uint64
	// Live and deleted entries of the index; sum is their size.
	files, deleted, sum uint64
}

func (v *volume) generation() *generation {
	made := &generation{live: v.live(), dat: v.dat()}
	for _, size := range made.live {
		made.files++
		made.sum += size
	}
	return made
}

// shardSize returns the size of every shard: ten of them hold the volume in blocks of 1 MiB.
func (g *generation) shardSize() int64 {
	const row = 10 << 20
	return int64((g.dat + row - 1) / row << 20) //nolint:gosec // small
}

// ecVolume holds the shards of a volume on one server.
type ecVolume struct {
	collection string
	files      map[uint32]*generation
	mounted    map[uint32]bool
	// index is the .ecx file, nil without one.
	index *generation
	disk  map[uint32]uint32
}

func newEcVolume(collection string) *ecVolume {
	return &ecVolume{collection: collection, files: map[uint32]*generation{}, mounted: map[uint32]bool{}, disk: map[uint32]uint32{}}
}

func (e *ecVolume) shardIDs() []uint32 {
	return slices.Sorted(maps.Keys(e.mounted))
}
