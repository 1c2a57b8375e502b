package admission

import (
	"time"

	"github.com/roundsman/roundsman/contract"
)

func taskHash(b contract.TaskBudget) uint64 { return contract.DedupeHash(b.JobType, b.DedupeKey) }

func (r *request) sameTask(b *contract.TaskBudget) bool {
	if r.Budget == nil || b == nil {
		return r.Budget == b
	}
	return r.Budget.JobType == b.JobType && r.Budget.DedupeKey == b.DedupeKey
}

func (c *Core) settleTask(holder contract.AdmissionHolder, e contract.TaskEnding, now time.Time) {
	hash := taskHash(e.TaskBudget)
	if !e.Failed {
		c.outcomes.done([]uint64{hash}, e.At)
		return
	}
	if rule := (rule{&e.Rule}); rule.set() {
		one := failure{At: e.At.UnixMilli(), ID: attemptID(holder, e.Attempt)}
		c.count(c.outcomes.key(e.JobType, e.DedupeKey, hash), one, e.Error, rule, now)
	}
}

func (c *Core) disablesTask(r *request, now time.Time) bool {
	if r.Budget == nil {
		return false
	}
	held := c.outcomes.Keys[taskHash(*r.Budget)].hold(now)
	if held == nil {
		return false
	}
	c.drop(r)
	c.refuse(r, contract.AdmissionRefusal{Code: held.Code, Object: held.DedupeKey, Hold: held})
	return true
}

// stopTask refuses the waiting requests of a held-back task, and stops the holders of its grants.
func (c *Core) stopTask(hash uint64, sender contract.AdmissionHolder, now time.Time) {
	held := c.outcomes.Keys[hash].hold(now)
	if held == nil {
		return
	}
	told := map[contract.AdmissionHolder]bool{{}: true}
	tell := func(holder contract.AdmissionHolder) {
		if !told[holder] {
			told[holder] = true
			c.decide(Stopped{holder, contract.AdmissionStop{AdmissionHold: *held}})
		}
	}
	tell(sender)
	if of := c.ofTask[hash]; of != nil {
		for _, r := range of.list() {
			switch {
			case !r.Granted:
				c.disablesTask(r, now)
			case r.FreeAt.IsZero():
				tell(r.Holder)
			}
		}
	}
}

// A sender that releases everything has ended and gets no report.
func (c *Core) reportStoppedTasks(e Requested, now time.Time) {
	sender := e.Holder
	if e.ReleaseAll {
		sender = contract.AdmissionHolder{}
	}
	seen := map[uint64]bool{}
	stop := func(b contract.TaskBudget) {
		if hash := taskHash(b); !seen[hash] {
			seen[hash] = true
			c.stopTask(hash, sender, now)
		}
	}
	for _, endings := range e.Endings {
		for _, task := range endings.Tasks {
			if task.Failed {
				stop(task.TaskBudget)
			}
		}
	}
	if !e.Reassert {
		return
	}
	for i := range e.Held {
		if b := e.Held[i].Budget; b != nil {
			stop(*b)
		}
	}
}
