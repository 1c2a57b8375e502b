package admission

import (
	"hash/fnv"
	"slices"
	"time"
)

// settle takes in how jobs ended: their keys are free, failures are counted.
// Failures come first: of one key they are older than its success.
func (d *Desk) settle(e Asked, now time.Time) {
	for _, told := range e.Endings {
		d.freeKeys(e.Holder, slices.Concat(told.Done, told.Settled))
		if e.Budget.PerType.set() && !told.SuccessAt.IsZero() {
			// Even the first success counts: a failure of before may be told later.
			d.book.jobType(e.JobType)
			d.book.succeeded(e.JobType, told.SuccessAt)
		}
		for _, f := range told.Failed {
			d.fail(e, f, now)
		}
		d.book.done(told.Done, told.At)
	}
	if len(e.Endings) > 0 {
		d.book.trim(now)
	}
}

// freeKeys takes keys off the tickets of their holder, of which there is hardly
// ever more than one.
func (d *Desk) freeKeys(holder Holder, keys []uint64) {
	lost := map[*ticket]bool{}
	for _, key := range keys {
		if t := d.keys[key]; t != nil && t.Holder == holder {
			delete(d.keys, key)
			lost[t] = true
		}
	}
	if len(lost) == 0 {
		return
	}
	for _, t := range d.tickets {
		if lost[t] {
			t.Keys = slices.DeleteFunc(t.Keys, func(key uint64) bool { return d.keys[key] != t })
		}
	}
}

func (d *Desk) fail(e Asked, f Failure, now time.Time) {
	one := failure{At: f.At.UnixMilli(), ID: attemptID(e.Holder, f.Attempt)}
	if e.Budget.PerKey.set() && f.Key != "" {
		if r := d.book.key(e.JobType, f.Key, f.Hash); r.fail(one, f.Error, e.Budget.PerKey, now) {
			d.noteDisabled(e.JobType, f.Key, r.Off)
		}
	}
	if e.Budget.PerType.set() && d.book.jobType(e.JobType).fail(one, f.Error, e.Budget.PerType, now) {
		d.noteDisabled(e.JobType, "", d.book.jobType(e.JobType).Off)
		d.stopType(e.JobType, now)
	}
}

// attemptID tells attempts apart that failed in the same moment.
func attemptID(holder Holder, attempt string) uint32 {
	hash := fnv.New32a()
	for _, part := range []string{holder.ID, holder.Run, attempt} {
		_, _ = hash.Write([]byte(part)) // It never fails.
		_, _ = hash.Write([]byte{0})
	}
	return hash.Sum32()
}

// stops refuses what must not begin because its job type is disabled.
func (d *Desk) stops(t *ticket, now time.Time) bool {
	if t.Lane == "" && !t.Start {
		return false
	}
	off := d.book.typeOff(t.JobType, t.Budget, now)
	if off == nil {
		return false
	}
	d.drop(t)
	d.refuse(t, CodeBudget, "job type "+t.JobType+" is "+off.Text())
	return true
}

// stopType tells those who are at it, and refuses those who wait for their turn.
func (d *Desk) stopType(jobType string, now time.Time) {
	told := map[Holder]bool{}
	for _, t := range slices.Clone(d.tickets) {
		off := d.book.typeOff(jobType, t.Budget, now)
		if t.JobType != jobType || off == nil || !t.FreeAt.IsZero() || told[t.Holder] {
			continue
		}
		if !t.Granted && d.stops(t, now) {
			continue
		}
		told[t.Holder] = true
		d.decide(TypeStopped{t.Holder, HeldBack{JobType: jobType, Off: *off}})
	}
}

// tellStopped tells the sender which of the keys that it reported are held back
// now, and one that says anew what it has whether it may go on with it: it may
// not have heard.
func (d *Desk) tellStopped(e Asked, now time.Time) {
	told := map[uint64]bool{}
	for _, endings := range e.Endings {
		for _, f := range endings.Failed {
			if f.Key != "" && !told[f.Hash] {
				told[f.Hash] = true
				d.stopKey(f.Hash, e.Budget, now)
			}
		}
	}
	if !e.Reassert {
		return
	}
	for _, held := range e.Held {
		for _, key := range held.Keys {
			d.stopKey(key, e.Budget, now)
		}
	}
	if off := d.book.typeOff(e.JobType, e.Budget, now); off != nil {
		d.decide(TypeStopped{e.Holder, HeldBack{JobType: e.JobType, Off: *off}})
	}
}

// stopKey tells the holder of a key that it is held back.
func (d *Desk) stopKey(hash uint64, budget Budget, now time.Time) {
	t, off := d.keys[hash], d.book.keyOff(hash, budget, now)
	if t != nil && off != nil && t.FreeAt.IsZero() {
		r := d.book.Keys[hash]
		d.decide(KeyStopped{t.Holder, HeldBack{JobType: r.JobType, Key: r.Key, Off: *off}})
	}
}
