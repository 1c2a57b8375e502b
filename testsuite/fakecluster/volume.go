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

// volume is one replica.
type volume struct {
	collection string
	log        []entry
	revision   uint32
	readOnly   bool
	persisted  bool
	modified   int64
	placement  uint32
	diskType   string
	disk       uint32
	// compacted is what a compaction that was not committed keeps.
	compacted []entry
}

func (v *volume) dat() uint64 {
	var bytes uint64
	for _, e := range v.log {
		bytes += e.size
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

// live are the objects that can be read.
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

func (v *volume) garbageBytes() uint64 {
	var kept uint64
	for _, size := range v.live() {
		kept += size
	}
	return v.dat() - kept
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

// squeezed is the log without garbage.
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

// commit puts the compacted log in place, with what was appended meanwhile.
func (v *volume) commit() error {
	if v.compacted == nil {
		return errors.New("no compaction to commit")
	}
	v.log = v.squeezed()
	v.compacted = nil
	v.revision++
	return nil
}

// tail appends what source has since then and v has not.
func (v *volume) tail(source *volume, since uint64) {
	have := map[entry]bool{}
	for _, e := range v.log {
		have[e] = true
	}
	live := v.live()
	for _, e := range source.log {
		if e.at < since || have[e] {
			continue
		}
		if _, ok := live[e.key]; e.deleted && !ok {
			continue
		}
		v.log = append(v.log, e)
	}
}

func (v *volume) clone() *volume {
	copied := *v
	copied.log, copied.compacted = slices.Clone(v.log), nil
	copied.readOnly, copied.persisted = false, false
	return &copied
}

// generation is what one set of shards was made of.
type generation struct {
	live map[uint64]uint64
	dat  uint64
}

// ecVolume are the shards of a volume on one server.
type ecVolume struct {
	collection string
	files      map[uint32]*generation
	mounted    map[uint32]bool
	index      bool
	disk       map[uint32]uint32
}

func newEcVolume(collection string) *ecVolume {
	return &ecVolume{collection: collection, files: map[uint32]*generation{}, mounted: map[uint32]bool{}, disk: map[uint32]uint32{}}
}

func (e *ecVolume) shardIDs() []uint32 {
	return slices.Sorted(maps.Keys(e.mounted))
}
