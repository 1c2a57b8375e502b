package admission

import (
	"cmp"
	"strings"
	"time"

	"github.com/roundsman/roundsman/contract"
)

type holder struct {
	contract.AdmissionHolder
	grace        time.Duration
	budget       *contract.RetryBudget
	requests     *sorted[*request]
	byID         map[string]*request
	live, ending int
}

func compareHolders(a, b *holder) int {
	return cmp.Or(strings.Compare(a.WorkflowID, b.WorkflowID), strings.Compare(a.FirstRunID, b.FirstRunID))
}

// Idle reports whether there is no holder, no waiter and no recovery.
func (c *Core) Idle() bool { return len(c.holders) == 0 && c.recovery == nil }

// Watched lists all holders, and, as holders without a first run, those that have not reported yet.
func (c *Core) Watched() []contract.AdmissionHolder {
	list := c.Holders()
	if c.recovery == nil {
		return list
	}
	seen := make(map[string]bool, len(list))
	for _, h := range list {
		seen[h.WorkflowID] = true
	}
	for _, id := range c.recovery.missing() {
		if !seen[id] {
			list = append(list, contract.AdmissionHolder{WorkflowID: id})
		}
	}
	return list
}

func (e Closed) apply(c *Core, now time.Time) {
	c.recovery.hear(e.Holder.WorkflowID)
	for _, r := range c.requestsOf(e.Holder) {
		c.end(r, now)
	}
}

// end releases a turn and its place in the queues at once; claims and resources after the grace.
func (c *Core) end(r *request, now time.Time) {
	switch grace := c.holders[r.Holder].grace; {
	case !r.Granted || r.Lane != "" || grace <= 0:
		c.drop(r)
	case r.FreeAt.IsZero():
		c.setFreeAt(r, now.Add(grace))
	}
}
