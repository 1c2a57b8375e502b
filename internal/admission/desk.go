package admission

import (
	"slices"
	"time"
)

const (
	// MaxOvertakes is how often a waiting request for resources may be passed by
	// others. It trades use of the pools (a large request does not hold up small
	// ones) against the longest wait.
	MaxOvertakes = 16
	// MaxKeys bounds the keys held at once: eight bytes each, they travel in the
	// state of one workflow, which may have 1.5 MiB.
	MaxKeys = 120_000
	// RecoveryLimit is how long a recovering desk waits for those who were named
	// but are not heard. A workflow answers within milliseconds unless nobody
	// runs it, and one that is paused for ever must not stop everybody else.
	RecoveryLimit = 2 * time.Minute
	// fenceShift leaves room for a million fences per millisecond, so that a desk
	// that begins later begins above whatever was given before.
	fenceShift = 20
)

// FenceFloor is the first fence of a desk that began at now.
func FenceFloor(now time.Time) int64 { return now.UnixMilli() << fenceShift }

// Desk is the state of admission. Create it with [New] or [Restore]; it is not
// safe for concurrent use.
type Desk struct {
	// seq numbers requests in the order of arrival, next is the next fence.
	seq, next int64
	// tickets are all requests, waiting and granted, in the order of arrival.
	tickets []*ticket
	byName  map[name]*ticket
	lanes   map[string]*lane
	keys    map[uint64]*ticket
	pools   map[string]*pool
	objects map[string]*object
	// book is what is remembered of failures.
	book *book
	// recovery is nil once everything is known.
	recovery *recovery
	// dirty: something changed since resources were last given out.
	dirty bool
	out   []Decision
	// disabled is what the retry budget has disabled and nobody was told yet.
	disabled []HeldBack
}

type name struct {
	holder Holder
	id     string
}

// ticket is a request that the desk keeps.
type ticket struct {
	Request

	Holder  Holder        `json:"holder"`
	JobType string        `json:"job_type,omitempty"`
	Grace   time.Duration `json:"grace,omitempty"`
	Seq     int64         `json:"seq"`
	// Since is when it was asked or, once Granted, when it was granted.
	Since     time.Time `json:"since"`
	Granted   bool      `json:"granted,omitempty"`
	Fence     int64     `json:"fence,omitempty"`
	Overtaken int       `json:"overtaken,omitempty"`
	// Keeps is what is kept for it, KeptSince since when some of that is free and
	// unused, Patience how often it gave that up; see [Desk.keep].
	Keeps     []string  `json:"keeps,omitempty"`
	KeptSince time.Time `json:"kept_since,omitzero"`
	Patience  int       `json:"patience,omitempty"`
	names     []string
	// FreeAt is set when its holder has ended, or was reset and does not know of it:
	// then it is an orphan, which stays so unless it is asked for again.
	FreeAt time.Time `json:"free_at,omitzero"`
	Orphan bool      `json:"orphan,omitempty"`
	// Taken and Off answer a repeat.
	Taken []Taken  `json:"taken,omitempty"`
	Off   []KeyOff `json:"off,omitempty"`
	// Budget is the one of its job type.
	Budget Budget `json:"budget,omitzero"`
}

func (t *ticket) name() name { return name{t.Holder, t.ID} }

func (t *ticket) wantsResources() bool { return len(t.Pools)+len(t.Objects) > 0 }

// New returns a desk that began at now. It knows nothing of earlier grants, so
// it is recovering until it was told who must be heard, see [Expected].
func New(now time.Time) *Desk {
	d := empty()
	d.next = FenceFloor(now)
	d.recovery = newRecovery(now)
	return d
}

func empty() *Desk {
	return &Desk{
		byName: map[name]*ticket{}, lanes: map[string]*lane{}, keys: map[uint64]*ticket{},
		pools: map[string]*pool{}, objects: map[string]*object{}, book: newBook(),
	}
}

// Next takes one event and returns what is to be told, in order. The slice is
// valid until the next call.
func (d *Desk) Next(now time.Time, event Event) []Decision {
	d.out = d.out[:0]
	event.apply(d, now)
	d.expire(now)
	d.dirty = d.dirty || d.keptTooLong(now)
	if d.recovery != nil && d.recovery.over(now) {
		d.recovery = nil
		d.answerKeys(now)
		d.dirty = true
	}
	if d.recovery == nil {
		d.serveLanes(now)
		d.serveResources(now)
	}
	return d.out
}

func (d *Desk) decide(decision Decision) { d.out = append(d.out, decision) }

// NextDeadline is when Next must be called even if nothing happens; zero if
// nothing is waited for.
func (d *Desk) NextDeadline() time.Time {
	var next time.Time
	if d.recovery != nil {
		next = d.recovery.Until
	}
	for _, t := range d.tickets {
		if !t.FreeAt.IsZero() && (next.IsZero() || t.FreeAt.Before(next)) {
			next = t.FreeAt
		}
		if until := t.keepsUntil(); !until.IsZero() && (next.IsZero() || until.Before(next)) {
			next = until
		}
	}
	return next
}

// Recovering reports whether nothing is granted because it is not known yet
// what is held, and who is still to be heard.
func (d *Desk) Recovering() (bool, []string) {
	if d.recovery == nil {
		return false, nil
	}
	return true, slices.Clone(d.recovery.Expected)
}

// Holders lists everybody who holds or waits and has not ended, once each.
func (d *Desk) Holders() []Holder {
	seen := map[Holder]bool{}
	list := []Holder{}
	for _, t := range d.tickets {
		if t.FreeAt.IsZero() && !seen[t.Holder] {
			seen[t.Holder] = true
			list = append(list, t.Holder)
		}
	}
	return list
}

// grant gives a ticket its fences and tells the holder.
func (d *Desk) grant(t *ticket, now time.Time) {
	t.Fences = max(t.Fences, 1)
	t.Granted, t.Since, t.Fence = true, now, d.next
	d.next += t.Fences
	d.answer(t)
}

// renew gives a holder that was reset what it has again, with fences above those
// that it has used and does not remember.
func (d *Desk) renew(t *ticket) {
	t.Fences = max(t.Fences, 1)
	t.Fence, t.FreeAt, t.Orphan = d.next, time.Time{}, false
	d.next += t.Fences
	d.answer(t)
}

func (d *Desk) answer(t *ticket) {
	d.decide(Granted{Holder: t.Holder, ID: t.ID, Fence: t.Fence, Fences: t.Fences, Taken: t.Taken, Off: t.Off})
}

func (d *Desk) add(t *ticket) {
	d.tickets = append(d.tickets, t)
	d.byName[t.name()] = t
}

// drop takes a ticket off the books and frees what it held.
func (d *Desk) drop(t *ticket) {
	delete(d.byName, t.name())
	if at := slices.Index(d.tickets, t); at >= 0 {
		d.tickets = slices.Delete(d.tickets, at, at+1)
	}
	d.free(t)
	d.dirty = true
}

func (d *Desk) free(t *ticket) {
	switch {
	case t.Lane != "":
		d.leaveLane(t)
	case len(t.Keys) > 0:
		for _, key := range t.Keys {
			if d.keys[key] == t {
				delete(d.keys, key)
			}
		}
	case t.wantsResources():
		if t.Granted {
			d.putBack(t)
		}
		d.forgetPools(t)
	}
}
