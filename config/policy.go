package config

import (
	"errors"
	"reflect"
	"strings"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/lib/override"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

// setting has its name from the JSON tags of jobtype.Policy, so a new setting needs no change here.
type setting struct {
	key   string
	index int
}

func policySettings() []setting {
	policy := reflect.TypeFor[jobtype.Policy]()
	settings := make([]setting, policy.NumField())
	for i := range settings {
		key, _, _ := strings.Cut(policy.Field(i).Tag.Get("json"), ",")
		settings[i] = setting{key: key, index: i}
	}
	return settings
}

// policy merges the written keys over the handler's defaults over the built-in ones. A written zero counts.
func (l *loader) policy(e entry, interval jobtype.Duration) jobtype.Policy {
	n, path := e.node.Get("policy"), e.path+".policy"
	policy := e.defaultPolicy()
	if l.object(n, path, append(spellings(), override.Names()...)...) {
		l.overlay(n, path, &policy)
	}
	dagPolicy(e, &policy)
	derived := policy.WithDerived()
	if n.Get("stall_timeout") == nil {
		policy.StallTimeout = derived.StallTimeout
	}
	if n.Get("stop_after") == nil {
		policy.StopAfter = derived.StopAfter
	}
	if window := n.Get("catchup_window"); window != nil && policy.CatchupWindow == 0 {
		l.fault(window.Place(), path+".catchup_window", "0s is out of range: leave it out for one interval, or use at least 10s")
	}
	policy = policy.WithCatchupWindow(interval)
	// An unreadable setting keeps its default, which is in range.
	return policy
}

func (e entry) defaultPolicy() jobtype.Policy {
	if e.handler == nil {
		return jobtype.DefaultPolicy()
	}
	return e.handler.descriptor.DefaultPolicy.Over(jobtype.DefaultPolicy())
}

func (l *loader) overlay(n *yamlread.Node, path string, policy *jobtype.Policy) {
	target := reflect.ValueOf(policy).Elem()
	for _, s := range policySettings() {
		written, at := n.Get(s.key), join(path, s.key)
		if written == nil {
			continue
		}
		switch into := target.Field(s.index).Addr().Interface().(type) {
		case *jobtype.Duration:
			l.duration(written, at, into)
		case *int:
			l.integer(written, at, into)
		case *bool:
			l.flag(written, at, into)
		default:
			text := ""
			l.text(written, at, &text)
			target.Field(s.index).SetString(text)
		}
	}
}

// A fault has the line of the setting, or of the job type if the value came from its handler.
func (l *loader) policyFaults(e entry, read JobType) {
	for _, err := range joined(errors.Join(read.Policy.Validate(), contract.CheckKept(read.Policy, read.RetryBudget, read.Batch, read.DetectOn))) {
		var fault *jobtype.PolicyFault
		if !errors.As(err, &fault) {
			l.fault(e.blame("policy"), e.path+".policy", "%s", err)
			continue
		}
		origin := ""
		if e.node.Get("policy").Get(fault.Key) == nil && e.handler != nil {
			origin = " (the default of handler " + e.handler.descriptor.Name + ")"
		}
		l.fault(e.blame("policy", fault.Key), e.path+".policy."+fault.Key, "%s%s", fault.Message, origin)
	}
}

func joined(err error) []error {
	if err == nil {
		return nil
	}
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range several.Unwrap() {
		all = append(all, joined(one)...)
	}
	return all
}
