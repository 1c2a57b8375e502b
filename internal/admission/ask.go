package admission

import (
	"fmt"
	"slices"
	"time"
)

func (e Asked) apply(d *Desk, now time.Time) {
	d.revive(e)
	if e.Reassert {
		d.heard(e.Holder.ID)
		d.forgetOthers(e, now)
	}
	d.settle(e, now)
	d.release(e)
	for _, held := range e.Held {
		d.reassert(e, held, now)
	}
	for _, request := range e.Requests {
		d.ask(e, request, now)
	}
	d.tellStopped(e, now)
}

// revive: whoever speaks has not ended. A group that was terminated and reset is
// the same holder again: what was to be freed after its grace would be given to
// others while it works. A message of before its end, which comes late, does no
// harm: the watcher finds its end once more.
//
// What it has is kept for as long as the longest of its heartbeat timeouts: it may
// have got a longer one, and still run what it started under the shorter.
func (d *Desk) revive(e Asked) {
	for _, t := range d.tickets {
		if t.Holder == e.Holder && !t.Orphan {
			t.FreeAt, t.Grace = time.Time{}, max(t.Grace, e.Grace)
		}
	}
}

func (d *Desk) release(e Asked) {
	if e.ReleaseAll {
		for _, t := range slices.Clone(d.tickets) {
			if t.Holder == e.Holder {
				d.drop(t)
			}
		}
		return
	}
	for _, id := range e.Release {
		if t := d.byName[name{e.Holder, id}]; t != nil {
			d.drop(t)
		}
	}
}

// forgetOthers drops what the holder does not name any more. The desk was away
// when it was released; or the holder was reset, and what it has started with it
// may live on for its grace.
func (d *Desk) forgetOthers(e Asked, now time.Time) {
	named := map[string]bool{}
	for _, held := range e.Held {
		named[held.ID] = true
	}
	for _, request := range e.Requests {
		named[request.ID] = true
	}
	for _, t := range slices.Clone(d.tickets) {
		switch {
		case t.Holder != e.Holder || named[t.ID] || t.Orphan:
		case e.Reset:
			d.end(t, now)
			t.Orphan = true
		default:
			d.drop(t)
		}
	}
}

func (d *Desk) ask(e Asked, request Request, now time.Time) {
	if known := d.byName[name{e.Holder, request.ID}]; known != nil {
		if !e.Reset && !known.Orphan || known.same(request) {
			d.again(known, e)
			return
		}
		d.drop(known)
	}
	d.seq++
	t := &ticket{Request: request, Holder: e.Holder, JobType: e.JobType, Grace: e.Grace, Seq: d.seq, Since: now, Budget: e.Budget}
	if err := request.fault(); err != "" {
		d.refuse(t, CodeInvalid, err)
		return
	}
	switch {
	case d.stops(t, now):
	case t.Lane != "":
		d.askLane(t)
	case t.wantsResources():
		d.askResources(t, e.DeclaredAt)
	default:
		d.add(t)
		if d.recovery == nil {
			d.answerKey(t, now)
		}
	}
}

// again answers a repeat.
func (d *Desk) again(known *ticket, e Asked) {
	switch {
	case !known.Granted:
	case e.Reset || known.Orphan:
		d.renew(known)
	default:
		d.answer(known)
	}
}

// same reports whether somebody who was reset asks for the same thing as under that
// name before: what is found anew may have other numbers. Which of its keys are
// still its own is always decided anew.
func (t *ticket) same(r Request) bool {
	return len(r.Keys) == 0 && t.Lane == r.Lane && t.Start == r.Start &&
		slices.Equal(t.Pools, merged(r.Pools)) && slices.Equal(t.Objects, united(r.Objects))
}

// fault says which rule the request breaks, or "".
func (r Request) fault() string {
	kinds := 0
	for _, present := range []bool{r.Lane != "", len(r.Keys) > 0, len(r.Pools)+len(r.Objects) > 0} {
		if present {
			kinds++
		}
	}
	if kinds > 1 {
		return "a request is for a lane, for keys or for resources: split it"
	}
	for _, amount := range r.Pools {
		if amount.Pool == "" || amount.N < 1 {
			return fmt.Sprintf("%d of pool %q: ask for at least 1 of a pool with a name", amount.N, amount.Pool)
		}
	}
	for _, object := range r.Objects {
		if object.Name == "" {
			return "an object has no name"
		}
	}
	return ""
}

func (d *Desk) refuse(t *ticket, code Code, reason string) {
	d.decide(Refused{Holder: t.Holder, ID: t.ID, Code: code, Reason: reason})
}

// answerKeys answers what was asked while the desk was recovering.
func (d *Desk) answerKeys(now time.Time) {
	for _, t := range slices.Clone(d.tickets) {
		if !t.Granted && t.Lane == "" && !t.wantsResources() && !d.stops(t, now) {
			d.answerKey(t, now)
		}
	}
}

// answerKey claims every key that is free; the ticket keeps those.
func (d *Desk) answerKey(t *ticket, now time.Time) {
	if len(d.keys)+len(t.Keys) > MaxKeys {
		d.drop(t)
		d.refuse(t, CodeFull, fmt.Sprintf("%d dedupe keys are claimed already, %d more are over the limit of %d: lower max_jobs_per_detection or let running groups end", len(d.keys), len(t.Keys), MaxKeys))
		return
	}
	var held []uint64
	for i, key := range t.Keys {
		if off := d.book.keyOff(key, t.Budget, now); off != nil {
			t.Off = append(t.Off, KeyOff{Index: i, Off: *off})
			continue
		}
		if by := d.keys[key]; by != nil && by != t {
			t.Taken = append(t.Taken, Taken{Index: i, By: by.Holder})
			continue
		}
		if d.keys[key] == nil {
			held = append(held, key)
		}
		d.keys[key] = t
	}
	t.Keys = held
	d.grant(t, now)
}

func (e Closed) apply(d *Desk, now time.Time) {
	if d.recovery != nil {
		d.recovery.hear(e.Holder.ID)
	}
	for _, t := range slices.Clone(d.tickets) {
		if t.Holder == e.Holder {
			d.end(t, now)
		}
	}
}

func (e Gone) apply(d *Desk, now time.Time) {
	if d.recovery != nil {
		d.recovery.hear(e.ID)
	}
	for _, t := range slices.Clone(d.tickets) {
		if t.Holder.ID == e.ID {
			d.end(t, now)
		}
	}
}

// end frees what an ended holder had: its turn and its place in the queues at
// once, claims only when what it started has surely noticed.
func (d *Desk) end(t *ticket, now time.Time) {
	switch {
	case !t.Granted || t.Lane != "" || t.Grace <= 0:
		d.drop(t)
	case t.FreeAt.IsZero():
		t.FreeAt = now.Add(t.Grace)
	}
}

func (d *Desk) expire(now time.Time) {
	var over []*ticket
	for _, t := range d.tickets {
		if !t.FreeAt.IsZero() && !t.FreeAt.After(now) {
			over = append(over, t)
		}
	}
	for _, t := range over {
		d.drop(t)
	}
}
