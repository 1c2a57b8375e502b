package admission

import (
	"slices"
	"strings"
	"time"
)

// KeepLimit is how long something that is free is kept for a request that still
// waits for something else; each time that this is not enough it is twice as long,
// up to maxPatience times. It could be of use to others meanwhile. And who holds the
// other thing may need what is kept before it can end, in a way that nobody here
// knows of: a handler that submits a job and waits for it. Of DAGs it is known, see
// [Desk.within].
const (
	KeepLimit   = time.Minute
	maxPatience = 7
)

// keeping is what is kept for requests that were overtaken too often: of pools how
// much, of objects whether for one that wants it alone.
type keeping struct {
	pools   map[string]int
	objects map[string]bool
}

const (
	poolMark   = "pool "
	objectMark = "object "
)

// needs names all that a request is for. Objects come first: who holds one may be
// waiting for a pool, hardly ever the other way round.
func (t *ticket) needs() []string {
	if t.names != nil {
		return t.names
	}
	names := make([]string, 0, len(t.Objects)+len(t.Pools))
	for _, object := range t.Objects {
		names = append(names, objectMark+object.Name)
	}
	for _, amount := range t.Pools {
		names = append(names, poolMark+amount.Pool)
	}
	t.names = names
	return names
}

// fits reports whether all that it needs is free and not kept for others.
func (d *Desk) fits(t *ticket, kept keeping) bool {
	return !slices.ContainsFunc(t.needs(), func(need string) bool { return !d.available(t, need, kept) })
}

// available reports whether one thing that a request needs is free for it.
func (d *Desk) available(t *ticket, need string, kept keeping) bool {
	if name, isPool := strings.CutPrefix(need, poolMark); isPool {
		for _, amount := range t.Pools {
			if p := d.pool(name); amount.Pool == name && p.Used+kept.pools[name]+amount.N > p.size() {
				return false
			}
		}
		return true
	}
	for _, claim := range t.Objects {
		if need != objectMark+claim.Name {
			continue
		}
		alone, isKept := kept.objects[claim.Name]
		if d.blocks(claim) || isKept && (alone || !claim.Shared) {
			return false
		}
	}
	return true
}

// keep keeps from those behind what a request needs that was overtaken too often.
// It begins with one thing that is not free, and keeps that while it is given back
// and until the next thing that is not free has been, and so on: what is plenty is
// not kept idle for as long as another job holds something rare. What is free and
// kept for too long is given up, and what is missing then is kept first.
func (d *Desk) keep(t *ticket, kept keeping, now time.Time) {
	isFree := func(need string) bool { return d.available(t, need, kept) }
	missing := func(need string) bool { return !isFree(need) }
	if until := t.keepsUntil(); !until.IsZero() && !until.After(now) {
		t.Keeps = slices.DeleteFunc(t.Keeps, isFree)
		t.Patience = min(t.Patience+1, maxPatience)
	}
	if !slices.ContainsFunc(t.Keeps, missing) {
		if at := slices.IndexFunc(t.needs(), missing); at >= 0 {
			t.Keeps = append(t.Keeps, t.needs()[at])
		}
	}
	switch idle := slices.ContainsFunc(t.Keeps, isFree); {
	case !idle:
		t.KeptSince = time.Time{}
	case t.KeptSince.IsZero() || !t.keepsUntil().After(now):
		t.KeptSince = now
	}
	for _, need := range t.Keeps {
		t.addTo(kept, need)
	}
}

func (t *ticket) addTo(kept keeping, need string) {
	for _, amount := range t.Pools {
		if need == poolMark+amount.Pool {
			kept.pools[amount.Pool] += amount.N
		}
	}
	for _, claim := range t.Objects {
		if need == objectMark+claim.Name {
			kept.objects[claim.Name] = kept.objects[claim.Name] || !claim.Shared
		}
	}
}

// keepsUntil is until when the request keeps what is free; zero: nothing is.
func (t *ticket) keepsUntil() time.Time {
	if t.KeptSince.IsZero() {
		return time.Time{}
	}
	return t.KeptSince.Add(KeepLimit << t.Patience)
}

func (d *Desk) keptTooLong(now time.Time) bool {
	return slices.ContainsFunc(d.tickets, func(t *ticket) bool {
		until := t.keepsUntil()
		return !until.IsZero() && !until.After(now)
	})
}
