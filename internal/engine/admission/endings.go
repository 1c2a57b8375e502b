package admission

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// Failures come first: those of a key are older than its success.
func (c *Core) settle(e Requested, now time.Time) {
	for _, reported := range e.Endings {
		done, err := UnpackKeys(reported.Done)
		settled, otherErr := UnpackKeys(reported.Settled)
		if err != nil || otherErr != nil {
			continue // Its keys are unreadable.
		}
		c.claims.freeKeys(e.Holder, slices.Concat(done, settled))
		if perType(e.Budget).set() && !reported.SuccessAt.IsZero() {
			// Even the first success counts: an earlier failure may be reported later.
			c.outcomes.jobType(e.JobType)
			c.outcomes.succeeded(e.JobType, reported.SuccessAt)
		}
		for _, f := range reported.Failed {
			c.fail(e, f, now)
		}
		c.outcomes.done(done, reported.At)
		for _, task := range reported.Tasks {
			c.settleTask(e.Holder, task, now)
		}
	}
	if len(e.Endings) > 0 {
		c.outcomes.trim(now)
	}
}

func (c *Core) fail(e Requested, f contract.AdmissionFailure, now time.Time) {
	one := failure{At: f.At.UnixMilli(), ID: attemptID(e.Holder, f.Attempt)}
	if rule := perKey(e.Budget); rule.set() && f.DedupeKey != "" {
		c.count(c.outcomes.key(e.JobType, f.DedupeKey, contract.DedupeHash(e.JobType, f.DedupeKey)), one, f.Error, rule, now)
	}
	if rule := perType(e.Budget); rule.set() && c.count(c.outcomes.jobType(e.JobType), one, f.Error, rule, now) {
		c.stopType(e.JobType, now)
	}
}

func (o *outcomes) count(r *record, one failure, message string, rule rule, now time.Time) (broken bool) {
	o.change(r, func() { broken = r.fail(one, message, rule, now) })
	if broken {
		o.disabled = append(o.disabled, *r.hold(now))
	}
	return broken
}

func attemptID(holder contract.AdmissionHolder, attempt string) uint32 {
	hash := fnv.New32a()
	for _, part := range []string{holder.WorkflowID, holder.FirstRunID, attempt} {
		_, _ = hash.Write([]byte(part)) // It never fails.
		_, _ = hash.Write([]byte{0})
	}
	return hash.Sum32()
}

func (c *Core) disables(r *request, budget *contract.RetryBudget, now time.Time) bool {
	if r.Lane == "" && !r.Start || c.outcomes.typeOff(r.JobType, budget, now) == nil {
		return false
	}
	c.drop(r)
	c.refuse(r, contract.AdmissionRefusal{Code: contract.HoldRetryBudget, Object: r.JobType, Hold: c.TypeHold(r.JobType, now)})
	return true
}

func (c *Core) stopType(jobType string, now time.Time) {
	ofType := c.ofType[jobType]
	if ofType == nil {
		return
	}
	reported := map[contract.AdmissionHolder]bool{}
	for _, r := range ofType.list() {
		h := c.holders[r.Holder]
		if h == nil || c.outcomes.typeOff(jobType, h.budget, now) == nil || !r.FreeAt.IsZero() || reported[r.Holder] {
			continue
		}
		if !r.Granted && c.disables(r, h.budget, now) {
			continue
		}
		reported[r.Holder] = true
		c.decide(Stopped{r.Holder, contract.AdmissionStop{AdmissionHold: *c.TypeHold(jobType, now)}})
	}
}

// A sender that asserts its grants also gets the holds on those: an earlier answer may be lost.
func (c *Core) reportStopped(e Requested, now time.Time) {
	c.reportStoppedTasks(e, now)
	reported := map[uint64]bool{}
	for _, endings := range e.Endings {
		for _, f := range endings.Failed {
			if f.DedupeKey == "" {
				continue
			}
			if hash := contract.DedupeHash(e.JobType, f.DedupeKey); !reported[hash] {
				reported[hash] = true
				c.stopKey(hash, e.Budget, now)
			}
		}
	}
	if !e.Reassert {
		return
	}
	for _, held := range e.Held {
		keys, _ := UnpackKeys(held.Keys)
		for _, key := range keys {
			c.stopKey(key, e.Budget, now)
		}
	}
	if c.outcomes.typeOff(e.JobType, e.Budget, now) != nil {
		c.decide(Stopped{e.Holder, contract.AdmissionStop{AdmissionHold: *c.TypeHold(e.JobType, now)}})
	}
}

func (c *Core) stopKey(hash uint64, budget *contract.RetryBudget, now time.Time) {
	r := c.claims.holder(hash)
	if r != nil && r.FreeAt.IsZero() && c.outcomes.keyOff(hash, budget, now) != nil {
		c.decide(Stopped{r.Holder, contract.AdmissionStop{AdmissionHold: *c.outcomes.Keys[hash].hold(now)}})
	}
}
