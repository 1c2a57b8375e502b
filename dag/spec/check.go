package spec

import (
	"math"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/lib/gotemplate"
)

func (r reader) checkTask(t *Task) {
	r.checkAction(t)
	r.checkProgram(t)
	if t.Node != "" && len(t.Labels) > 0 {
		r.at(child(t.node, "labels"), "task %q has both node and labels; node already names the one worker", t.ID)
	}
	if !t.NotBefore.IsZero() && !t.ExpiresAt.IsZero() && !t.NotBefore.Before(t.ExpiresAt) {
		r.at(child(t.node, "expires_at"), "expires_at is not after not_before: task %q could never start", t.ID)
	}
	r.checkObjects(t, "exclusive", t.Exclusive)
	r.checkObjects(t, "shared", t.Shared)
	if len(t.Key) > MaxKey && !gotemplate.Templated(t.Key) {
		r.at(child(t.node, "key"), "key has %d bytes; at most %d are possible", len(t.Key), MaxKey)
	}
	for _, object := range t.Shared {
		if slices.Contains(t.Exclusive, object) {
			r.at(child(t.node, "shared"), "object %q is in exclusive, too, which says everything; leave it out of shared", object)
		}
	}
	if child(t.node, "for_each") != nil && len(t.Matrix) > 0 {
		r.at(child(t.node, "matrix"), "task %q has both for_each and matrix; use one", t.ID)
	}
	if len(t.PerItem) > 0 && !t.fans() {
		r.at(child(t.node, "per_item"), "task %q has per_item but no for_each or matrix; use needs", t.ID)
	}
	if t.Concurrency > 0 && !t.fans() {
		r.at(child(t.node, "concurrency"), "task %q has concurrency but no for_each or matrix; it bounds the tasks of a fan-out", t.ID)
	}
	r.checkItems(t)
	if size := t.fanOut(); size > MaxFanOut {
		r.at(t.node, "task %q fans out into more than %d tasks; split it into sub-DAGs", t.ID, MaxFanOut)
	}
	if t.TriggerRule == dag.OneFailed && len(t.Needs)+len(t.PerItem) == 0 {
		r.at(child(t.node, "trigger_rule"), "task %q has trigger_rule one_failed but needs nothing; name the tasks whose failure it handles", t.ID)
	}
	if most := t.attemptTimeout(); t.HeartbeatTimeout > most && most > 0 {
		r.at(child(t.node, "heartbeat_timeout"), "heartbeat_timeout %s is above timeout %s and can never act", t.HeartbeatTimeout, most)
	}
	if when := strings.TrimSpace(t.When); when != "" && when != "true" && when != "false" && !gotemplate.Templated(when) {
		r.at(child(t.node, "when"), "when is a condition that comes out as true or false, not %.60q%s", when, notWhen(when))
	}
	if t.Key != "" && t.kind == KindDAG {
		r.at(child(t.node, "key"), "a sub-DAG has no key: give its tasks keys")
	}
	if t.RetryBudget != nil && !t.kind.budgeted() {
		r.at(child(t.node, "retry_budget"), "retry_budget is for tasks whose work can fail: command, shell, job_type and dag; remove it")
	}
	if t.KeyValid > 0 && t.Key == "" {
		r.at(child(t.node, "key_valid"), "task %q has key_valid but no key; it bounds the age of a result that is taken over", t.ID)
	}
	if !t.kind.metered() {
		r.checkUnmetered(t)
	}
}

// checkObjects checks names without templates; the run checks the others.
func (r reader) checkObjects(t *Task, key string, objects []string) {
	for k, object := range objects {
		at := entryNode(t.node, key, k)
		if isScalar(at) && !gotemplate.Templated(object) && (object == "" || len(object) > MaxObject) {
			r.at(at, "%s: %.40q is no name of an object: it has %d bytes, 1 to %d are possible", key, object, len(object), MaxObject)
		}
	}
}

func (r reader) checkItems(t *Task) {
	if t.ItemsInFlight > 0 && !t.fans() {
		r.at(child(t.node, "items_in_flight"), "task %q has items_in_flight but no for_each or matrix; it bounds the items of a fan-out", t.ID)
	}
	if t.OnItemFailure != nil && t.ItemsInFlight == 0 {
		r.at(child(t.node, "on_item_failure"), "task %q has on_item_failure but no items_in_flight, so all its items begin at once; add items_in_flight: 1", t.ID)
	}
}

func notWhen(when string) string {
	var rule dag.Rule
	if rule.UnmarshalText([]byte(when)) == nil {
		return "; write trigger_rule: " + when
	}
	return `; write a template, like '{{eq .Params.mode "full"}}'`
}

func (r reader) checkAction(t *Task) {
	var given []string
	for _, a := range actions() {
		if child(t.node, a) != nil {
			given = append(given, a)
		}
	}
	switch len(given) {
	case 1:
	case 0:
		r.at(t.node, "task %q does nothing; give it one of %s", t.ID, strings.Join(actions(), ", "))
	default:
		r.at(child(t.node, given[1]), "task %q has %s; keep exactly one", t.ID, strings.Join(given, " and "))
	}
}

func (r reader) checkUnmetered(t *Task) {
	for _, key := range []string{"node", "labels", "resources", "exclusive", "shared", "not_before", "expires_at", "on_worker_loss", "key", "key_valid", "heartbeat_timeout", "retries", "timeout"} {
		if n := child(t.node, key); n != nil {
			r.at(n, "%s has no meaning for a task of kind %s, which uses no worker; remove it", key, t.kind)
		}
	}
}

// fanOut caps the number well above MaxFanOut.
func (t *Task) fanOut() int {
	if len(t.ForEach) > 0 {
		return len(t.ForEach)
	}
	n := 1
	for _, axis := range t.Matrix {
		if n *= max(len(axis.Values), 1); n > MaxFanOut {
			return math.MaxInt32
		}
	}
	return n
}

func (t *Task) fans() bool { return len(t.ForEach) > 0 || t.ForEachFrom != "" || len(t.Matrix) > 0 }
