package admission

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// Snapshot is the whole state, ready for JSON.
type Snapshot struct {
	Seq      int64                       `json:"seq"`
	Next     int64                       `json:"next"`
	Tickets  []savedTicket               `json:"tickets,omitempty"`
	Pools    map[string]pool             `json:"pools,omitempty"`
	Had      map[string]map[string]int64 `json:"had,omitempty"`
	Recovery *recovery                   `json:"recovery,omitempty"`
	Book     *book                       `json:"book,omitempty"`
}

// savedTicket keeps keys as bytes: eight each.
type savedTicket struct {
	ticket

	Keys []byte `json:"keys,omitempty"`
}

// PackKeys writes keys as eight bytes each.
func PackKeys(keys []uint64) []byte {
	if len(keys) == 0 {
		return nil
	}
	packed := make([]byte, 0, 8*len(keys))
	for _, key := range keys {
		packed = binary.BigEndian.AppendUint64(packed, key)
	}
	return packed
}

// UnpackKeys is the inverse of [PackKeys].
func UnpackKeys(packed []byte) ([]uint64, error) {
	if len(packed)%8 != 0 {
		return nil, fmt.Errorf("%d bytes are no keys of eight bytes each", len(packed))
	}
	keys := make([]uint64, 0, len(packed)/8)
	for ; len(packed) > 0; packed = packed[8:] {
		keys = append(keys, binary.BigEndian.Uint64(packed))
	}
	return keys, nil
}

// Snapshot returns the state.
func (d *Desk) Snapshot() Snapshot {
	s := Snapshot{Seq: d.seq, Next: d.next, Pools: map[string]pool{}, Had: map[string]map[string]int64{}, Book: d.book}
	for _, t := range d.tickets {
		s.Tickets = append(s.Tickets, savedTicket{*t, PackKeys(t.Keys)})
	}
	for _, name := range slices.Sorted(maps.Keys(d.pools)) {
		s.Pools[name] = *d.pools[name]
	}
	for _, name := range slices.Sorted(maps.Keys(d.lanes)) {
		if had := d.lanes[name].had; len(had) > 0 {
			s.Had[name] = maps.Clone(had)
		}
	}
	if d.recovery != nil {
		copied := *d.recovery
		s.Recovery = &copied
	}
	return s
}

// Restore is the inverse of [Desk.Snapshot].
func Restore(s Snapshot) (*Desk, error) {
	d := empty()
	d.seq, d.next, d.recovery, d.dirty = s.Seq, s.Next, s.Recovery, true
	for _, name := range slices.Sorted(maps.Keys(s.Pools)) {
		p := s.Pools[name]
		p.Used = 0
		d.pools[name] = &p
	}
	d.book.restore(s.Book)
	for i := range s.Tickets {
		t := s.Tickets[i].ticket
		keys, err := UnpackKeys(s.Tickets[i].Keys)
		if err != nil {
			return nil, fmt.Errorf("request %s of %s: %w", t.ID, t.Holder.ID, err)
		}
		t.Keys = nil
		if len(keys) > 0 {
			t.Keys = keys
		}
		d.add(&t)
		d.place(&t)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Had)) {
		maps.Copy(d.lane(name).had, s.Had[name])
	}
	return d, nil
}

// place puts a restored ticket where it belongs.
func (d *Desk) place(t *ticket) {
	switch {
	case t.Lane != "" && t.Granted:
		d.lane(t.Lane).holder = t
	case t.Lane != "":
		l := d.lane(t.Lane)
		l.waiting = append(l.waiting, t)
	case t.Granted && t.wantsResources():
		d.take(t)
	case t.Granted:
		for _, key := range t.Keys {
			d.keys[key] = t
		}
	}
}
