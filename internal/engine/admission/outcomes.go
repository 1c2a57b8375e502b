package admission

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

type outcomes struct {
	Keys                  map[uint64]*record `json:"keys,omitempty"`
	Types                 map[string]*record `json:"types,omitempty"`
	Dropped               int                `json:"dropped,omitempty"`
	keyWeight, typeWeight int
	trimAt                time.Time
	disabled              []contract.AdmissionHold
}

func newOutcomes() *outcomes {
	return &outcomes{Keys: map[uint64]*record{}, Types: map[string]*record{}}
}

func (o *outcomes) key(jobType, key string, hash uint64) *record {
	r := o.Keys[hash]
	if r == nil {
		r = &record{JobType: jobType, Key: key}
		o.Keys[hash] = r
		o.weigh(r, 1)
	}
	return r
}

func (o *outcomes) jobType(name string) *record {
	r := o.Types[name]
	if r == nil {
		r = &record{JobType: name}
		o.Types[name] = r
		o.weigh(r, 1)
	}
	return r
}

func (o *outcomes) change(r *record, f func()) {
	o.weigh(r, -1)
	f()
	o.weigh(r, 1)
}

func (o *outcomes) weigh(r *record, sign int) {
	if r.Key != "" {
		o.keyWeight += sign * r.weight()
	} else {
		o.typeWeight += sign * r.weight()
	}
}

// A success drops the failures of a key and lifts the hold of a broken rule; a mark stays.
func (o *outcomes) done(keys []uint64, at time.Time) {
	for _, hash := range keys {
		r := o.Keys[hash]
		if r == nil {
			continue
		}
		o.change(r, func() {
			r.forget(at.UnixMilli())
			if r.Off != nil && r.Off.Code == contract.HoldRetryBudget && r.Off.Since.Before(at) {
				r.Off = nil
			}
		})
	}
}

// Failures within the window still count: a type may fail now and then, but not too often.
func (o *outcomes) succeeded(jobType string, at time.Time) {
	if r := o.Types[jobType]; r != nil && at.UnixMilli() > r.Broken {
		r.Broken = at.UnixMilli()
		r.keep(r.Broken + repeatLimit.Milliseconds())
		if r.First <= r.Broken {
			r.First = 0
		}
	}
}

// A mark binds all holders, a broken rule only those with a rule.
func (o *outcomes) keyOff(hash uint64, budget *contract.RetryBudget, now time.Time) *off {
	found := o.Keys[hash].off(now)
	if found == nil || found.Code == contract.HoldRetryBudget && !perKey(budget).set() {
		return nil
	}
	return found
}

func (o *outcomes) typeOff(jobType string, budget *contract.RetryBudget, now time.Time) *off {
	if !perType(budget).set() {
		return nil
	}
	return o.Types[jobType].off(now)
}

func (o *outcomes) trim(now time.Time) {
	if !now.Before(o.trimAt) {
		o.trimAt = now.Add(trimPause)
		expireRecords(o, o.Keys, now)
		expireRecords(o, o.Types, now)
	}
	for len(o.Keys) > MaxTrackedKeys || o.keyWeight > maxKeysWeight {
		dropLeast(o, o.Keys, now)
		o.Dropped++
	}
	for len(o.Types) > MaxTrackedTypes || o.typeWeight > maxTypesWeight {
		dropLeast(o, o.Types, now)
	}
}

func expireRecords[K cmp.Ordered](o *outcomes, records map[K]*record, now time.Time) {
	//workflowcheck:ignore what is deleted, and a sum, do not depend on the order
	maps.DeleteFunc(records, func(_ K, r *record) bool {
		over := r.over(now)
		if over {
			o.weigh(r, -1)
		}
		return over
	})
}

// Finding the least worthy of a thousand records takes 15 µs.
func dropLeast[K cmp.Ordered](o *outcomes, records map[K]*record, now time.Time) {
	var least K
	var found *record
	//workflowcheck:ignore the least of all does not depend on the order
	for key, r := range records {
		if found == nil || r.over(now) && !found.over(now) || r.over(now) == found.over(now) && cmp.Or(r.lessWorth(found, now), cmp.Compare(key, least)) < 0 {
			least, found = key, r
		}
	}
	o.weigh(found, -1)
	delete(records, least)
}

func (r *record) over(now time.Time) bool { return r.Keep < now.UnixMilli() && r.off(now) == nil }

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

// HeldBack lists the holds in force, of all job types if jobType is empty.
func (o *outcomes) HeldBack(jobType string, now time.Time) []contract.AdmissionHold {
	var list []contract.AdmissionHold
	for _, name := range slices.Sorted(maps.Keys(o.Types)) {
		if held := o.Types[name].hold(now); held != nil && (jobType == "" || jobType == name) {
			list = append(list, *held)
		}
	}
	first := len(list)
	for _, hash := range slices.Sorted(maps.Keys(o.Keys)) {
		if held := o.Keys[hash].hold(now); held != nil && (jobType == "" || jobType == held.JobType) {
			list = append(list, *held)
		}
	}
	slices.SortStableFunc(list[first:], func(x, y contract.AdmissionHold) int {
		return cmp.Or(cmp.Compare(x.JobType, y.JobType), cmp.Compare(x.DedupeKey, y.DedupeKey))
	})
	return list
}

// CountHeldBack counts the job types and keys held back at now.
func (o *outcomes) CountHeldBack(now time.Time) (types, keys int) {
	//workflowcheck:ignore a count does not depend on the order
	for _, r := range o.Types {
		if r.off(now) != nil {
			types++
		}
	}
	//workflowcheck:ignore a count does not depend on the order
	for _, r := range o.Keys {
		if r.off(now) != nil {
			keys++
		}
	}
	return types, keys
}

// KeyRecord returns the number of a key's failures that still count, and its hold.
func (o *outcomes) KeyRecord(jobType, key string, now time.Time) (failures int, held *contract.AdmissionHold) {
	r := o.Keys[contract.DedupeHash(jobType, key)]
	if r == nil || r.over(now) {
		return 0, nil
	}
	return len(r.Failures), r.hold(now)
}

// TypeHold returns the hold on a job type, or nil.
func (o *outcomes) TypeHold(jobType string, now time.Time) *contract.AdmissionHold {
	return o.Types[jobType].hold(now)
}

// Tracked returns the number of recorded keys, and the number dropped at the bound.
func (o *outcomes) Tracked() (keys, dropped int) { return len(o.Keys), o.Dropped }

// Disabled returns the holds set by the retry budget since its last call. They are not part of the state.
func (o *outcomes) Disabled() []contract.AdmissionHold {
	taken := o.disabled
	o.disabled = nil
	return taken
}
