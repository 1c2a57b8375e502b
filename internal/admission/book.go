package admission

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// book is what is remembered of keys, by their hashes, and of job types.
type book struct {
	Keys  map[uint64]*record `json:"keys,omitempty"`
	Types map[string]*record `json:"types,omitempty"`
	// Dropped counts keys that were forgotten because there were too many.
	Dropped int `json:"dropped,omitempty"`
}

func newBook() *book { return &book{Keys: map[uint64]*record{}, Types: map[string]*record{}} }

func (b *book) key(jobType, key string, hash uint64) *record {
	r := b.Keys[hash]
	if r == nil {
		r = &record{JobType: jobType, Key: key}
		b.Keys[hash] = r
	}
	return r
}

func (b *book) jobType(name string) *record {
	r := b.Types[name]
	if r == nil {
		r = &record{JobType: name}
		b.Types[name] = r
	}
	return r
}

// done takes successes in. That of a key forgets its failures and ends its
// being disabled, since it works; a mark stays.
func (b *book) done(keys []uint64, at time.Time) {
	for _, hash := range keys {
		r := b.Keys[hash]
		if r == nil {
			continue
		}
		r.forget(at.UnixMilli())
		if r.Off != nil && r.Off.Code == CodeBudget && r.Off.Since.Before(at) {
			r.Off = nil
		}
	}
}

// succeeded ends the series of a job type. What failed within the window still
// counts: a type may fail now and then, but not too often.
func (b *book) succeeded(jobType string, at time.Time) {
	if r := b.Types[jobType]; r != nil && at.UnixMilli() > r.Broken {
		r.Broken = at.UnixMilli()
		r.keep(r.Broken + repeatLimit.Milliseconds())
		if r.First <= r.Broken {
			r.First = 0
		}
	}
}

// keyOff is what holds a key back from somebody with that budget. A mark holds
// back everybody, a broken rule only those who have one.
func (b *book) keyOff(hash uint64, budget Budget, now time.Time) *Off {
	off := b.Keys[hash].off(now)
	if off == nil || off.Code == CodeBudget && !budget.PerKey.set() {
		return nil
	}
	return off
}

func (b *book) typeOff(jobType string, budget Budget, now time.Time) *Off {
	if !budget.PerType.set() {
		return nil
	}
	return b.Types[jobType].off(now)
}

// trim drops what says nothing any more, then what is too much.
func (b *book) trim(now time.Time) {
	//workflowcheck:ignore what is deleted does not depend on the order
	maps.DeleteFunc(b.Keys, func(_ uint64, r *record) bool { return r.over(now) })
	//workflowcheck:ignore what is deleted does not depend on the order
	maps.DeleteFunc(b.Types, func(_ string, r *record) bool { return r.over(now) })
	over := len(b.Keys) - MaxTrackedKeys
	if over <= 0 {
		return
	}
	hashes := slices.SortedFunc(maps.Keys(b.Keys), func(x, y uint64) int {
		return cmp.Or(b.Keys[x].lessWorth(b.Keys[y], now), cmp.Compare(x, y))
	})
	for _, hash := range hashes[:over] {
		delete(b.Keys, hash)
		b.Dropped++
	}
}

func (r *record) over(now time.Time) bool { return r.Keep < now.UnixMilli() && r.off(now) == nil }

// lessWorth orders what is forgotten first.
func (r *record) lessWorth(other *record, now time.Time) int {
	mine, theirs := r.off(now), other.off(now)
	switch {
	case mine == nil && theirs == nil:
		return cmp.Compare(r.Last, other.Last)
	case mine == nil:
		return -1
	case theirs == nil:
		return 1
	}
	return mine.Until.Compare(theirs.Until)
}

// HeldBack is a key, or a job type, that is held back.
type HeldBack struct {
	JobType string
	// Key is empty for the job type as a whole.
	Key string
	Off
}

// HeldBack lists what is held back at now: job types first, then keys by job
// type and key. An empty jobType lists all.
func (d *Desk) HeldBack(jobType string, now time.Time) []HeldBack {
	var list []HeldBack
	for _, name := range slices.Sorted(maps.Keys(d.book.Types)) {
		if off := d.book.Types[name].off(now); off != nil && (jobType == "" || jobType == name) {
			list = append(list, HeldBack{JobType: name, Off: *off})
		}
	}
	first := len(list)
	for _, hash := range slices.Sorted(maps.Keys(d.book.Keys)) {
		r := d.book.Keys[hash]
		if off := r.off(now); off != nil && (jobType == "" || jobType == r.JobType) {
			list = append(list, HeldBack{JobType: r.JobType, Key: r.Key, Off: *off})
		}
	}
	slices.SortStableFunc(list[first:], func(x, y HeldBack) int {
		return cmp.Or(cmp.Compare(x.JobType, y.JobType), cmp.Compare(x.Key, y.Key))
	})
	return list
}

// CountHeldBack counts what is held back at now: job types and keys.
func (d *Desk) CountHeldBack(now time.Time) (types, keys int) {
	//workflowcheck:ignore a count does not depend on the order
	for _, r := range d.book.Types {
		if r.off(now) != nil {
			types++
		}
	}
	//workflowcheck:ignore a count does not depend on the order
	for _, r := range d.book.Keys {
		if r.off(now) != nil {
			keys++
		}
	}
	return types, keys
}

// KeyRecord says what is known against a key: how many of its failures still
// count, and what holds it back.
func (d *Desk) KeyRecord(hash uint64, now time.Time) (failures int, off *Off) {
	r := d.book.Keys[hash]
	if r == nil || r.over(now) {
		return 0, nil
	}
	return len(r.Failures), r.off(now)
}

// TypeOff says what holds a job type back.
func (d *Desk) TypeOff(jobType string, now time.Time) *Off { return d.book.Types[jobType].off(now) }

// Tracked is how many keys are remembered, and how many had to be forgotten.
func (d *Desk) Tracked() (keys, dropped int) { return len(d.book.Keys), d.book.Dropped }
