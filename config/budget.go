package config

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

func budgetRuleKeys() []string { return []string{"count", "window", "hard_timeout", "disable_for"} }

func (l *loader) retryBudget(e entry) *contract.RetryBudget {
	n, path := e.node.Get("retry_budget"), e.path+".retry_budget"
	if n == nil || !l.object(n, path, "per_key", "per_type") {
		return nil
	}
	budget := &contract.RetryBudget{
		PerKey:  l.budgetRule(n.Get("per_key"), path+".per_key", contract.MaxKeyFailures),
		PerType: l.budgetRule(n.Get("per_type"), path+".per_type", contract.MaxTypeFailures),
	}
	if budget.PerKey == nil && budget.PerType == nil {
		if n.Get("per_key") == nil && n.Get("per_type") == nil {
			l.fault(n.Place(), path, "says neither per_key nor per_type: write `per_key: {count: 3, window: 1h}`, or leave it out")
		}
		return nil
	}
	return budget
}

func (l *loader) budgetRule(n *yamlread.Node, path string, most int) *contract.RetryBudgetRule {
	if n == nil || !l.object(n, path, budgetRuleKeys()...) {
		return nil
	}
	rule := &contract.RetryBudgetRule{Window: contract.DefaultBudgetWindow, DisableFor: contract.DefaultDisableFor}
	before := len(l.faults)
	if written := n.Get("count"); written != nil {
		l.integer(written, path+".count", &rule.Count)
		if len(l.faults) == before && (rule.Count < 0 || rule.Count > most) {
			l.fault(written.Place(), path+".count", "%d is out of range: use 1 to %d, or 0 to count on hard_timeout alone", rule.Count, most)
		}
	}
	l.budgetTime(n, path, "window", &rule.Window, contract.MinBudgetTime, contract.MaxBudgetWindow)
	l.budgetTime(n, path, "hard_timeout", &rule.HardTimeout, 0, contract.MaxBudgetWindow)
	l.budgetTime(n, path, "disable_for", &rule.DisableFor, contract.MinBudgetTime, contract.MaxDisableFor)
	if len(l.faults) > before {
		return rule
	}
	if rule.Count == 0 && rule.HardTimeout == 0 {
		l.fault(n.Place(), path, "sets neither count nor hard_timeout, so it disables nothing: write `count: 3`")
	}
	if rule.HardTimeout > 0 && rule.HardTimeout < contract.MinBudgetTime {
		l.fault(n.Get("hard_timeout").Place(), path+".hard_timeout", "%s is out of range: use %s to %s, or 0s for none", rule.HardTimeout, contract.MinBudgetTime, contract.MaxBudgetWindow)
	}
	return rule
}

func (r *reader) budgetTime(n *yamlread.Node, path, key string, into *jobtype.Duration, low, high jobtype.Duration) {
	written, before := n.Get(key), len(r.faults)
	if written == nil {
		return
	}
	r.duration(written, join(path, key), into)
	if len(r.faults) == before && (*into < low || *into > high) {
		r.fault(written.Place(), join(path, key), "%s is out of range: use %s to %s", *into, low, high)
	}
}

func budgetSchema() object {
	rule := func(most int) object {
		return closed(object{
			"count":        object{"type": "integer", "minimum": 0, "maximum": most, "description": "that many failed attempts within window disable"},
			"window":       duration("the time over which failures are counted; default 1h"),
			"hard_timeout": duration("a failure this long after the first of an unbroken series disables; default 0s: off"),
			"disable_for":  duration("for how long; default 24h"),
		})
	}
	return closed(object{"per_key": rule(contract.MaxKeyFailures), "per_type": rule(contract.MaxTypeFailures)})
}
