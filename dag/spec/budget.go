package spec

import (
	"maps"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

func (k Kind) budgeted() bool { return k == KindCommand || k == KindJobType || k == KindDAG }

func (r reader) retryBudget(n *yamlread.Node) *contract.RetryBudgetRule {
	out := &contract.RetryBudgetRule{Window: contract.DefaultBudgetWindow, DisableFor: contract.DefaultDisableFor}
	lasts := func(name string, into *jobtype.Duration, most jobtype.Duration) field {
		return field{name, func(n *yamlread.Node) {
			if *into = r.duration(n, "retry_budget."+name, contract.MinBudgetTime); *into > most {
				r.at(n, "retry_budget.%s %s is out of range: use %s to %s", name, *into, contract.MinBudgetTime, most)
			}
		}}
	}
	r.mapping(n, "retry_budget", []field{
		{"count", func(n *yamlread.Node) { out.Count = r.number(n, "retry_budget.count", 1, contract.MaxKeyFailures) }},
		lasts("window", &out.Window, contract.MaxBudgetWindow),
		lasts("hard_timeout", &out.HardTimeout, contract.MaxBudgetWindow),
		lasts("disable_for", &out.DisableFor, contract.MaxDisableFor),
	})
	if n.Kind == yamlread.Object && child(n, "count") == nil && child(n, "hard_timeout") == nil {
		r.at(n, "retry_budget has neither count nor hard_timeout, so it disables nothing: write count: 3")
	}
	return out
}

// Budgeted lists the names of the DAGs in the spec that have a task with a retry budget, sub-DAGs included.
func (c *Compiled) Budgeted() []string {
	found := map[string]bool{}
	c.budgeted(found)
	return slices.Sorted(maps.Keys(found))
}

func (c *Compiled) budgeted(found map[string]bool) {
	for i := range c.Spec.Tasks {
		if t := &c.Spec.Tasks[i]; t.Settings != nil && t.RetryBudget != nil {
			found[c.Header.Name] = true
		}
	}
	for _, sub := range c.subs {
		sub.budgeted(found)
	}
}
