package spec

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/gotemplate"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

var listReference = regexp.MustCompile(`^\{\{-?\s*\.Params((?:\.\w+)+)\s*-?\}\}$`)

func (u *unit) fillIn(t *Task) {
	if !t.fans() {
		return
	}
	own := *t.Settings // Other tasks, and the spec, share them.
	t.Settings = &own
	if t.source = sourceOf(t.ForEachFrom); t.late() {
		return
	}
	if t.ForEachFrom != "" {
		t.ForEach = u.listOf(t, t.ForEachFrom, child(t.node, "for_each"))
	}
	t.Matrix = slices.Clone(t.Matrix)
	for k, axis := range t.Matrix {
		if axis.From != "" {
			t.Matrix[k].Values = u.listOf(t, axis.From, child(child(t.node, "matrix"), axis.Key))
		}
	}
	if t.ForEachFrom == "" && !slices.ContainsFunc(t.Matrix, func(a Axis) bool { return a.From != "" }) {
		return
	}
	if t.fanOut() > MaxFanOut {
		u.at(t.node, "task %q fans out into more than %d tasks; split it into sub-DAGs", t.ID, MaxFanOut)
		t.ForEach, t.Matrix = nil, nil
	}
}

// listOf never returns an empty list, so that later checks report nothing more.
func (u *unit) listOf(t *Task, text string, at *yamlread.Node) []any {
	none := []any{nil}
	found := listReference.FindStringSubmatch(strings.TrimSpace(text))
	switch {
	case found == nil && sourceOf(text) != nil:
		u.at(at, "task %q: a matrix is over lists of the params only; use for_each for a list in a result", t.ID)
		return none
	case found == nil:
		u.at(at, "task %q: the items are a list, or one reference to a list: of the params, like '{{.Params.hosts}}', or in the result of a task, like '{{.Needs.plan.Result.hosts}}', not %.60q", t.ID, text)
		return none
	}
	if u.doubtful {
		return none
	}
	path := strings.Split(found[1][1:], ".")
	value := any(u.params)
	for k, key := range path {
		fields, _ := value.(map[string]any)
		next, ok := fields[key]
		if !ok {
			u.at(at, "task %q: there is no param %s%s", t.ID, strings.Join(path[:k+1], "."), unlessEmpty(key, fields))
			return none
		}
		value = next
	}
	u.structural[path[0]] = true
	list, ok := value.([]any)
	if !ok || len(list) == 0 {
		is := jsonKind(value)
		if ok {
			is = "an empty list"
		}
		u.at(at, "task %q: param %s is %s; the items must be a list with at least one entry", t.ID, strings.Join(path, "."), is)
		return none
	}
	return list
}

func unlessEmpty(key string, fields map[string]any) string {
	if len(fields) == 0 {
		return ""
	}
	return "; " + suggestion(key, sortedKeys(fields))
}

func (u *unit) checkPerItem(t *Task) {
	for k, name := range t.PerItem {
		at := entryNode(t.node, "per_item", k)
		switch {
		case u.fans[name] && name != t.ID && !slices.Contains(t.Needs, name):
			if problem := u.sameItems(t, name); problem != "" {
				u.at(at, "%s", problem)
			}
		case name == t.ID:
			u.at(at, "task %q needs itself; remove that dependency", t.ID)
		case u.fans[name]:
			u.at(at, "task %q has %q in needs and in per_item; keep one", t.ID, name)
		case u.entry(name) != nil:
			u.at(at, "task %q per_item %q, which does not fan out; use needs", t.ID, name)
		case u.ofRun(name):
			u.at(at, "task %q per_item: %q is a task of the run, and only entries of one list go item by item; use needs", t.ID, name)
		case !u.nameless:
			u.at(at, "task %q per_item %q, which is not a task; %s", t.ID, name, u.similar(name))
		}
	}
}

func (u *unit) ofRun(name string) bool {
	if u.known == nil {
		return false
	}
	_, found := u.known(name)
	return found
}

func (u *unit) withoutItem(t *Task, name string) string {
	if u.partial {
		return ""
	}
	list, err := t.instances()
	if err != nil {
		return ""
	}
	for _, in := range list {
		if u.items[name][string(in.args)] == "" {
			return strconv.Quote(in.id)
		}
	}
	return ""
}

// Structural params must be known at compile time.
func (u *unit) structuralParams(t *Task, sub *Compiled) map[string]any {
	values := map[string]any{}
	for _, key := range sortedKeys(t.Params) {
		if !sub.structural[key] {
			continue
		}
		at := keyPlace(t.node, "params", key)
		value, ok := u.static(t, t.Params[key], at, key)
		if !ok {
			continue
		}
		typed, err := likeDeclared(sub.Spec.Params[key], value)
		if err != nil {
			u.on(at, "task %q: params.%s: %v", t.ID, key, err)
			continue
		}
		values[key] = typed
	}
	return values
}

// static renders the templates of a value with the params of the spec; false after a fault.
func (u *unit) static(t *Task, value any, at yamlread.Place, key string) (any, bool) {
	ok := true
	switch v := value.(type) {
	case string:
		if gotemplate.Templated(v) {
			return u.staticText(t, strings.TrimSpace(v), at, key)
		}
	case []any:
		out := make([]any, len(v))
		for k := 0; k < len(v) && ok; k++ {
			out[k], ok = u.static(t, v[k], at, key)
		}
		return out, ok
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range sortedKeys(v) {
			if out[name], ok = u.static(t, v[name], at, key); !ok {
				return nil, false
			}
		}
		return out, true
	}
	return value, true
}

func (u *unit) staticText(t *Task, text string, at yamlread.Place, key string) (any, bool) {
	refs, faults := gotemplate.Scan(text, fields())
	if len(faults) > 0 {
		return nil, false // Already reported with the other templates.
	}
	for _, ref := range refs {
		if ref.Root != "Params" || len(ref.Path) == 0 {
			u.on(at, "task %q: params.%s decides which tasks %s has, so it may refer to .Params only", t.ID, key, t.DAG)
			return nil, false
		}
		u.structural[ref.Path[0]] = true
	}
	parsed, err := gotemplate.Trusted("", text)
	if err != nil {
		return nil, false
	}
	out, err := parsed.Execute(map[string]any{"Params": gotemplate.Native(u.params)})
	if err != nil {
		u.on(at, "task %q: params.%s: %s", t.ID, key, plain(err))
		return nil, false
	}
	return out, true
}
