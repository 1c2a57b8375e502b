package admission

import (
	"fmt"
	"time"
)

// MaxMark bounds for how long a key can be marked as done.
const MaxMark = 365 * 24 * time.Hour

// CheckReEnable says why there is nothing to re-enable, or nil.
func (d *Desk) CheckReEnable(e ReEnabled, now time.Time) error {
	what, off := "job type "+e.JobType, d.book.Types[e.JobType].off(now)
	if e.Key != "" {
		what, off = fmt.Sprintf("key %q of %s", e.Key, what), d.book.Keys[e.Hash].off(now)
	}
	switch {
	case off == nil:
		return fmt.Errorf("%s is not disabled by its retry budget: `roundsman jobs disabled` lists what is", what)
	case off.Code == CodeMarkedDone:
		return fmt.Errorf("%s is not disabled but %s: `roundsman jobs forgive` lifts that", what, off.Text())
	}
	return nil
}

// CheckForgive says why there is nothing to forgive, or nil.
func (d *Desk) CheckForgive(e Forgiven, now time.Time) error {
	if failures, off := d.KeyRecord(e.Hash, now); failures == 0 && off == nil {
		return fmt.Errorf("nothing is held against key %q of job type %s: it has no failures that count, is not disabled and not marked as done", e.Key, e.JobType)
	}
	return nil
}

// CheckMarkDone says why the key cannot be marked so, or nil.
func (d *Desk) CheckMarkDone(e MarkedDone, now time.Time) error {
	if wait := e.Until.Sub(now); wait < time.Second || wait > MaxMark {
		return fmt.Errorf("marked as done for %s: use 1s to %s", wait, MaxMark)
	}
	return nil
}

func (e ReEnabled) apply(d *Desk, now time.Time) {
	r := d.book.Types[e.JobType]
	if e.Key != "" {
		r = d.book.Keys[e.Hash]
	}
	if off := r.off(now); off != nil && off.Code == CodeBudget {
		r.Off = nil
		r.forget(now.UnixMilli())
	}
	d.book.trim(now)
}

func (e Forgiven) apply(d *Desk, now time.Time) {
	if r := d.book.Keys[e.Hash]; r != nil {
		r.Off = nil
		r.forget(now.UnixMilli())
	}
	d.book.trim(now)
}

// apply tells the holder too: what has not started of it needs not start.
func (e MarkedDone) apply(d *Desk, now time.Time) {
	r := d.book.key(e.JobType, e.Key, e.Hash)
	r.forget(now.UnixMilli())
	r.Off = &Off{Code: CodeMarkedDone, Since: now, Until: e.Until, By: e.By}
	r.keep(e.Until.UnixMilli())
	d.stopKey(e.Hash, Budget{}, now)
	d.book.trim(now)
}
