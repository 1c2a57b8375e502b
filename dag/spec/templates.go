package spec

import (
	"cmp"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/gotemplate"
	"github.com/roundsman/roundsman/internal/lib/runview"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

func fields() []string { return []string{"Needs", "Params", "Item", "Matrix", "Run", "Schedule"} }

// checkTemplates records the references in the definition.
func (u *unit) checkTemplates(t *Task, d *Definition) {
	needs := slices.Values(t.Needs)
	if len(t.Needs)+len(t.PerItem) == 0 && u.implied != "" {
		needs = slices.Values([]string{u.implied})
	}
	m := mentionsOf(needs, slices.Values(t.PerItem))
	t.eachText(d.Launch, func(text string, at *yamlread.Node) {
		if !gotemplate.Templated(text) {
			return
		}
		found, faults := gotemplate.Scan(text, fields())
		for _, err := range faults {
			u.at(at, "task %q: %v", t.ID, err)
		}
		for _, ref := range found {
			if u.doubtful || t.doubtful {
				break
			}
			if problem := u.checkRef(t, ref, d, m); problem != "" {
				u.at(below(at, ref.Line), "task %q: %s", t.ID, problem)
			}
		}
	})
	d.Refs = slices.Sorted(maps.Keys(m.used))
}

// mentions are the tasks that templates of a task may refer to, and the tasks that they do refer to.
type mentions struct {
	// needed is true for a task that is needed item by item.
	needed, used map[string]bool
}

// mentionsOf reads the names once: a task may have thousands of needs, and of references to them.
func mentionsOf(needs, perItem iter.Seq[string]) mentions {
	m := mentions{needed: map[string]bool{}, used: map[string]bool{}}
	for name := range needs {
		m.needed[name] = false
	}
	for name := range perItem {
		m.needed[name] = true
	}
	return m
}

func below(at *yamlread.Node, line int) *yamlread.Node {
	if at == nil || line == 0 || !at.Block {
		return at
	}
	moved, place := *at, at.Place()
	place.Line, place.Column = place.Line+1+line, 1
	moved.MoveTo(place)
	return &moved
}

func (t *Task) eachText(launch map[string]any, f func(text string, at *yamlread.Node)) {
	at := func(key string, k int) *yamlread.Node { return entryNode(t.node, key, k) }
	f(t.When, at("when", 0))
	f(t.Node, at("node", 0))
	for k, arg := range t.Command {
		f(arg, at("command", k))
	}
	f(t.Shell, at("shell", 0))
	for k, object := range t.Exclusive {
		f(object, at("exclusive", k))
	}
	for k, object := range t.Shared {
		f(object, at("shared", k))
	}
	f(t.Key, at("key", 0))
	for _, key := range slices.Sorted(maps.Keys(t.Labels)) {
		f(t.Labels[key], cmp.Or(child(child(t.node, "labels"), key), t.node))
	}
	if t.Approval != nil {
		f(t.Approval.Prompt, cmp.Or(child(child(t.node, "approval"), "prompt"), t.node))
	}
	for _, key := range slices.Sorted(maps.Keys(launch)) {
		eachLeaf(launch[key], cmp.Or(child(t.node, key), t.node), f)
	}
	for _, key := range slices.Sorted(maps.Keys(t.Params)) {
		eachLeaf(t.Params[key], cmp.Or(child(child(t.node, "params"), key), t.node), f)
	}
}

func eachLeaf(v any, at *yamlread.Node, f func(text string, at *yamlread.Node)) {
	switch v := v.(type) {
	case string:
		f(v, at)
	case []any:
		for k, item := range v {
			next := at
			if at != nil && at.Kind == yamlread.List && k < len(at.Items) {
				next = at.Items[k]
			}
			eachLeaf(item, next, f)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			eachLeaf(v[key], cmp.Or(child(at, key), at), f)
		}
	}
}

func (u *unit) checkRef(t *Task, ref gotemplate.Reference, d *Definition, m mentions) string {
	switch ref.Root {
	case "Needs":
		return u.checkNeed(ref, m)
	case "Params":
		return u.checkParam(t, ref, d)
	case "Run":
		return runview.Fault(ref.Root, reflect.TypeFor[runview.Run](), ref.Path)
	case "Schedule":
		return runview.Fault(ref.Root, reflect.TypeFor[runview.Schedule](), ref.Path)
	case "Item":
		if len(t.ForEach) == 0 && !t.late() {
			return ".Item exists only in a task with for_each"
		}
		return withoutField(".Item", t.ForEach, ref.Path)
	case "Matrix":
		if len(t.Matrix) == 0 {
			return ".Matrix exists only in a task with matrix"
		}
		return t.checkAxis(ref.Path)
	}
	return ""
}

func (t *Task) checkAxis(path []string) string {
	if len(path) == 0 {
		return ""
	}
	keys := make([]string, len(t.Matrix))
	for k, axis := range t.Matrix {
		if axis.Key == path[0] {
			return withoutField(".Matrix."+axis.Key, axis.Values, path[1:])
		}
		keys[k] = axis.Key
	}
	return "the matrix has no key " + strconv.Quote(path[0]) + "; " + suggestion(path[0], keys)
}

// withoutField explains why a path leads nowhere in each of the values, whose kinds the definition has; empty if it may
// lead somewhere. A key that a mapping lacks is left to the run: an index of it is no error.
func withoutField(name string, values []any, path []string) string {
	first := ""
	for _, value := range values {
		fault := leadsNowhere(name, value, path)
		if fault == "" {
			return ""
		}
		first = cmp.Or(first, fault)
	}
	return first
}

func leadsNowhere(name string, value any, path []string) string {
	for _, key := range path {
		fields, mapping := value.(map[string]any)
		if !mapping && value != nil {
			return name + " is " + jsonKind(value) + " and has no field " + strconv.Quote(key)
		}
		name, value = name+"."+key, fields[key]
	}
	return ""
}

func (u *unit) checkNeed(ref gotemplate.Reference, m mentions) string {
	if len(ref.Path) == 0 {
		return "name the task, like {{.Needs.build.Result.key}}; .Needs as a whole cannot be used"
	}
	id := ref.Path[0]
	byItem, needed := m.needed[id]
	switch {
	case needed:
	case u.entry(id) != nil:
		return "it refers to the result of " + strconv.Quote(id) + ", which is not among its needs; add it there"
	case len(m.needed) == 0:
		return "it refers to " + strconv.Quote(id) + ", but the task needs nothing; add it to needs"
	default:
		return "it refers to " + strconv.Quote(id) + ", which is not among its needs; " + u.suggest(id, func() []string { return slices.Sorted(maps.Keys(m.needed)) })
	}
	m.used[id] = true
	if len(ref.Path) < 2 {
		return ""
	}
	if u.fans[id] && !byItem {
		return strconv.Quote(id) + " fans out into several tasks; use {{range .Needs." + id + "}}{{.Result.key}}{{end}}"
	}
	if known := []string{"Result", "State", "ID"}; !slices.Contains(known, ref.Path[1]) {
		return ".Needs." + id + " has no field " + strconv.Quote(ref.Path[1]) + "; " + suggestion(ref.Path[1], known)
	}
	return ""
}

func (u *unit) checkParam(t *Task, ref gotemplate.Reference, d *Definition) string {
	params := t.Params
	if t.kind == KindDAG {
		params = nil // They belong to the sub-DAG.
	}
	note := func(key string) {
		if _, own := params[key]; own {
			return
		}
		if d.Globals == nil {
			d.Globals = map[string]any{}
		}
		d.Globals[key] = u.params[key]
	}
	twice := func(key string, below ...string) string {
		if _, hidden := u.params[key]; hidden && hasTemplate(inside(params[key], below)) {
			return "parameter " + strconv.Quote(key) + " of the task is itself a template and hides the one of the spec: rename one of them"
		}
		if hasTemplate(inside(params[key], below)) {
			return "parameter " + strconv.Quote(key) + " is itself a template; params are not rendered twice"
		}
		return ""
	}
	if len(ref.Path) == 0 {
		for _, key := range sortedKeys(params) {
			if fault := twice(key); fault != "" {
				return fault
			}
		}
		//workflowcheck:ignore each goes to a place of its own
		for key := range u.params {
			note(key)
		}
		return ""
	}
	key := ref.Path[0]
	_, own := params[key]
	_, global := u.params[key]
	if !own && !global {
		known := slices.Sorted(maps.Keys(params))
		known = append(known, slices.Sorted(maps.Keys(u.params))...)
		if len(known) == 0 {
			return "unknown parameter " + strconv.Quote(key) + "; neither the task nor the spec has params"
		}
		return "unknown parameter " + strconv.Quote(key) + "; " + suggestion(key, known)
	}
	if fault := twice(key, ref.Path[1:]...); fault != "" {
		return fault
	}
	note(key)
	if own {
		return withoutField(".Params."+key, []any{params[key]}, ref.Path[1:])
	}
	// A run may replace the value by another one of its kind.
	return withoutField(".Params."+key, []any{u.params[key]}, ref.Path[1:min(2, len(ref.Path))])
}

// inside follows a path through nested maps. It stops at the first value that is no map.
func inside(v any, path []string) any {
	for _, name := range path {
		fields, ok := v.(map[string]any)
		if !ok {
			break
		}
		v = fields[name]
	}
	return v
}

func hasTemplate(v any) (found bool) {
	eachLeaf(v, nil, func(text string, _ *yamlread.Node) { found = found || gotemplate.Templated(text) })
	return found
}

func textOf(v any) string {
	s, _ := v.(string)
	return strings.TrimSpace(s)
}
