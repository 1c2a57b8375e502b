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
	// assumed: LastChange is only a bound, because beats of a fresh worker are not reported.
	assumed bool
	// near is the last poll whose filter found the worker; it does not change LastChange.
	near  time.Time
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

// The registry drops an incarnation that neither holds an id nor beats. Without this filter the predecessor of a
// restarted worker, listed for five more minutes, would end each observation at once.
func (p *pulse) news() bool {
	if !p.known && !p.Fresh {
		return false
	}
	return p.Fresh != p.told.Fresh || p.Seen != p.told.Seen || p.ShuttingDown != p.told.ShuttingDown
}

// entry is one SDK worker of an incarnation. A process has one for each of its queues.
type entry struct {
	beat, described time.Time
	// near is the last poll whose filter found the entry.
	near time.Time
}

type sighting struct {
	key      string
	owner    contract.Incarnation
	near     bool
	shutting bool
	beat     time.Time
}

// timing are the observer's figures, all multiples of the heartbeat interval.
type timing struct {
	interval time.Duration
}

// poll dates a change well within one interval; a new worker gets work within two seconds at the default interval.
func (t timing) poll() time.Duration { return t.interval * 3 / 10 }

// fresh: the next look and its report still come within three intervals of the change. A worker survives one lost
// beat and a late one.
func (t timing) fresh() time.Duration { return 3*t.interval - t.poll() - t.interval/10 }

// gap is the pause between two looks that counts as an absence of the observer.
func (t timing) gap() time.Duration { return 2 * t.interval }

// settle is the observation time after a gap before silence counts. A worker needs at most 10 s to reconnect, and a beat.
func (t timing) settle() time.Duration { return 6 * t.interval }

// behind and ahead bound the list's filter around "now" in the common clock. A dead worker leaves it before its
// freshness ends.
func (t timing) behind() time.Duration { return t.interval * 17 / 10 }
func (t timing) ahead() time.Duration  { return t.interval * 6 / 10 }

// aligned is the largest difference from the common clock at which the window alone judges a worker.
func (t timing) aligned() time.Duration { return t.interval / 2 }

// late is the age from which a fresh worker's last change is reported along with other news, for the next observation.
func (t timing) late() time.Duration { return t.interval * 3 / 2 }

// smallDrift is reported along with other news. Only a change of a whole interval is reported by itself.
const smallDrift = 500 * time.Millisecond

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
