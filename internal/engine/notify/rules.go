package notify

import (
	"slices"

	"github.com/roundsman/roundsman/contract"
)

// TypeRules are the rules of one job type. A disabled job type is never overdue.
type TypeRules struct {
	Name     string
	Disabled bool
	Rules    []contract.NotifyRule
}

// Rules are all rules. Global ones apply to every job type, DAG and worker.
type Rules struct {
	Global []contract.NotifyRule
	Types  []TypeRules
}

// Wants reports whether any rule names one of these events.
func (r Rules) Wants(events ...contract.NotifyEvent) bool {
	for _, event := range events {
		if len(receivers(r.Global, event)) > 0 {
			return true
		}
		for _, known := range r.Types {
			if len(receivers(known.Rules, event)) > 0 {
				return true
			}
		}
	}
	return false
}

// Overdue lists the job types with a rule on not_succeeded_for, by name.
func (r Rules) Overdue() []string {
	var names []string
	for _, known := range r.Types {
		if !known.Disabled && len(r.limits(known)) > 0 {
			names = append(names, known.Name)
		}
	}
	return names
}

func (r Rules) limits(known TypeRules) []contract.NotifyRule {
	var found []contract.NotifyRule
	for _, rule := range slices.Concat(r.Global, known.Rules) {
		if rule.NotSucceededFor > 0 {
			found = append(found, rule)
		}
	}
	return found
}

func (r Rules) of(jobType string) []contract.NotifyRule {
	for _, known := range r.Types {
		if jobType != "" && known.Name == jobType {
			return slices.Concat(r.Global, known.Rules)
		}
	}
	return r.Global
}

func receivers(rules []contract.NotifyRule, event contract.NotifyEvent) []string {
	var to []string
	for _, rule := range rules {
		if slices.Contains(rule.On, event) {
			to = appendNew(to, rule.To...)
		}
	}
	return to
}

func appendNew(list []string, names ...string) []string {
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
