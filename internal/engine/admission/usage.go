package admission

import (
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
)

// Usage visits all requests: it is for a query every few seconds, not for an event.
func (c *Core) Usage(now time.Time) contract.AdmissionUsage {
	usage := contract.AdmissionUsage{HeldKeys: map[string]int{}}
	for h := range c.order.all() {
		for r := range h.requests.all() {
			if !r.Granted {
				usage.Waiting++
				usage.OldestAt = instant.Earlier(usage.OldestAt, r.Since)
			}
		}
	}
	all := contract.AdmissionFilter{Limit: contract.MaxUsageNames}
	for name := range limited(c.lanes.names.from(""), all) {
		lane := c.lanes.byName[name]
		used := contract.LaneUsage{Name: name, Busy: lane.holder != nil, Waiting: lane.waiting.len()}
		for r := range lane.waiting.all() {
			used.OldestAt = instant.Earlier(used.OldestAt, r.Since)
		}
		usage.Lanes = append(usage.Lanes, used)
	}
	for name := range limited(c.pools.pools.from(""), all) {
		pool := c.pools.byName[poolMark+name]
		usage.Pools = append(usage.Pools, contract.PoolUsage{Name: name, Size: pool.size(), Used: pool.used, Waiting: pool.waiting.len()})
	}
	for _, held := range c.HeldBack("", now) {
		switch {
		case held.Code != contract.HoldRetryBudget:
		case held.DedupeKey == "":
			usage.DisabledTypes = append(usage.DisabledTypes, held.JobType)
		default:
			usage.HeldKeys[held.JobType]++
		}
	}
	usage.DisabledTypes = slices.Compact(usage.DisabledTypes)
	return usage
}
