package fleet

import (
	"cmp"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

func compareIncarnations(a, b contract.Incarnation) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Instance, b.Instance))
}

type pulse struct {
	contract.WorkerPulse
	// assumed means that LastChange is only a bound, because beats of a fresh worker are not
	// reported; the server's list is more precise.
	assumed bool
	// near is the last poll whose filter found the worker; it does not change LastChange.
	near time.Time
	// told is the registry's last report; known is true if there was one.
	told  contract.WorkerPulse
	known bool
}

// last returns the latest known change of the heartbeat.
func (p *pulse) last() time.Time {
	if p.near.After(p.LastChange) {
		return p.near
	}
	return p.LastChange
}

// news reports whether the registry needs a report of the incarnation. The registry drops an
// incarnation that neither holds an id nor beats, so there are no reports of it. The server
// lists the predecessor of a restarted worker as shutting down for five more minutes. Reports of
// it would end each observation at once.
func (p *pulse) news() bool {
	if !p.known && !p.Fresh {
		return false
	}
	return p.Fresh != p.told.Fresh || p.Seen != p.told.Seen || p.ShuttingDown != p.told.ShuttingDown
}

// entry is one SDK worker of an incarnation in the server's list. A process has one for each of
// its queues.
type entry struct {
	// beat is the heartbeat's time by the worker's clock, described the time of reading it; both
	// are zero until then.
	beat, described time.Time
	// near is the last poll whose filter found the entry.
	near time.Time
}

type sighting struct {
	key      string
	owner    contract.Incarnation
	near     bool
	shutting bool
	// beat is set if the entry was described.
	beat time.Time
}

// timing are the observer's figures, all multiples of the heartbeat interval.
type timing struct {
	interval time.Duration
}

// poll is the pause between reads of the list. It dates a change well within one interval, and a
// new worker gets work within two seconds at the default interval.
func (t timing) poll() time.Duration { return t.interval * 3 / 10 }

// fresh is the age of a change from which a look finds a silence: the next look and its report still
// come within three intervals of the change. A worker survives one lost beat and a late one.
func (t timing) fresh() time.Duration { return 3*t.interval - t.poll() - t.interval/10 }

// gap is the pause between two looks that counts as an absence of the observer.
func (t timing) gap() time.Duration { return 2 * t.interval }

// settle is the observation time after a gap before silence counts: two freshness windows. A
// worker needs less to reconnect (at most 10 s) and to beat.
func (t timing) settle() time.Duration { return 6 * t.interval }

// behind and ahead bound the window of the list's filter around "now" in the
// fleet's common clock. A living worker whose clock is aligned is always within
// it, a dead one leaves it before its freshness ends.
func (t timing) behind() time.Duration { return t.interval * 17 / 10 }
func (t timing) ahead() time.Duration  { return t.interval * 6 / 10 }

// aligned is the largest difference from the common clock at which the window alone judges a
// worker.
func (t timing) aligned() time.Duration { return t.interval / 2 }

// late is the age from which the exact time of a fresh worker's last change is reported along
// with other news. The next observation continues from it.
func (t timing) late() time.Duration { return t.interval * 3 / 2 }

// smallDrift is the change of a skew that is reported along with other news. Only a change of a
// whole interval is reported by itself.
const smallDrift = 500 * time.Millisecond

// drift is the difference of the skew from the last report.
func (p *pulse) drift() time.Duration {
	return (time.Duration(p.SkewMS-p.told.SkewMS) * time.Millisecond).Abs()
}

func median(values []time.Duration) time.Duration {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}
