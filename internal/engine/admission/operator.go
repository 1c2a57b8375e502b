package admission

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

// MaxMark bounds the time for which a key can be marked as done.
const (
	MaxMark = 365 * 24 * time.Hour
)

// CheckReEnable returns a [contract.HoldFault] if there is no hold to lift, or nil.
func (o *outcomes) CheckReEnable(e ReEnabled, now time.Time) error {
	held := o.TypeHold(e.JobType, now)
	if e.DedupeKey != "" {
		_, held = o.KeyRecord(e.JobType, e.DedupeKey, now)
	}
	if held == nil || held.Code == contract.HoldMarkedDone {
		return &contract.HoldFault{Code: contract.NotDisabled, JobType: e.JobType, DedupeKey: e.DedupeKey, Hold: held}
	}
	return nil
}

// CheckForgive returns a [contract.HoldFault] if there is nothing to forgive, or nil.
func (o *outcomes) CheckForgive(e Forgiven, now time.Time) error {
	if failures, held := o.KeyRecord(e.JobType, e.DedupeKey, now); failures == 0 && held == nil {
		return &contract.HoldFault{Code: contract.NothingHeld, JobType: e.JobType, DedupeKey: e.DedupeKey}
	}
	return nil
}

// CheckMarkDone returns a [contract.HoldFault] if the key cannot be marked for that time.
func (o *outcomes) CheckMarkDone(e MarkedDone, now time.Time) error {
	if wait := e.Until.Sub(now); wait < time.Second || wait > MaxMark {
		return &contract.HoldFault{Code: contract.BadMark, JobType: e.JobType, DedupeKey: e.DedupeKey, For: wait, Limit: MaxMark}
	}
	return nil
}

// CheckResize returns a [contract.AdmissionRefusal] if a pool cannot get that size, or nil.
func (c *Core) CheckResize(e Resized) *contract.AdmissionRefusal {
	weight := poolWeight + len(e.Pool)
	if e.Size > 0 && !c.hasRoom(weight) {
		return &contract.AdmissionRefusal{ID: e.Pool, Code: contract.RefusedFull, Object: contract.FullState, N: weight, Used: c.Weight(), Limit: MaxWeight}
	}
	return nil
}

func (e ReEnabled) apply(c *Core, now time.Time) {
	r := c.outcomes.Types[e.JobType]
	if e.DedupeKey != "" {
		r = c.outcomes.Keys[contract.DedupeHash(e.JobType, e.DedupeKey)]
	}
	if held := r.off(now); held != nil && held.Code == contract.HoldRetryBudget {
		c.outcomes.change(r, func() {
			r.Off = nil
			r.forget(now.UnixMilli())
		})
	}
	c.outcomes.trim(now)
}

func (e Forgiven) apply(c *Core, now time.Time) {
	if r := c.outcomes.Keys[contract.DedupeHash(e.JobType, e.DedupeKey)]; r != nil {
		c.outcomes.change(r, func() {
			r.Off = nil
			r.forget(now.UnixMilli())
		})
	}
	c.outcomes.trim(now)
}

// The holder's unstarted jobs of the key need not start.
func (e MarkedDone) apply(c *Core, now time.Time) {
	hash := contract.DedupeHash(e.JobType, e.DedupeKey)
	r := c.outcomes.key(e.JobType, e.DedupeKey, hash)
	c.outcomes.change(r, func() {
		r.forget(now.UnixMilli())
		r.Off = &off{Code: contract.HoldMarkedDone, Since: now, Until: e.Until, By: e.By}
		r.keep(e.Until.UnixMilli())
	})
	c.stopKey(hash, nil, now)
	c.stopTask(hash, contract.AdmissionHolder{}, now)
	c.outcomes.trim(now)
}
