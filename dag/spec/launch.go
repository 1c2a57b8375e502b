package spec

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// Most tasks of a large document have no keys for the start of a program.
func beyond(n *yamlread.Node, fields []field) bool {
	return slices.ContainsFunc(n.Fields, func(f yamlread.Field) bool {
		return !slices.ContainsFunc(fields, func(known field) bool { return known.name == f.Key })
	})
}

func (r reader) launchKeys(into *map[string]any) []field {
	keys := launch.Keys()
	fields := make([]field, len(keys))
	for k, key := range keys {
		fields[k] = field{key, func(n *yamlread.Node) {
			if n.Kind == yamlread.Null {
				r.at(n, "%s is empty; give it a value or remove it", key)
				return
			}
			if *into == nil {
				*into = map[string]any{}
			}
			(*into)[key] = launch.Plain(key, n)
			r.checkLaunch(n, map[string]any{key: (*into)[key]})
		}}
	}
	return fields
}

func (r reader) checkLaunch(n *yamlread.Node, one map[string]any) {
	encoded, err := json.Marshal(one)
	if err != nil {
		r.at(n, "%v", err)
		return
	}
	read, err := launch.Decode(encoded)
	if err != nil {
		r.at(n, "%s", strings.TrimPrefix(err.Error(), "json: "))
		return
	}
	for _, fault := range read.Faults() {
		r.at(n, "%v", fault)
	}
}

func (r reader) checkProgram(t *Task) {
	if t.kind == KindCommand || t.kind == "" {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(t.Launch)) {
		r.at(cmp.Or(child(t.node, key), t.node), "%s is for tasks with command; a job type has it in its execute block", key)
	}
}

// programOf adds the keys of defaults that the task does not set. Variables are merged one by one.
func programOf(defaults map[string]any, t *Task) map[string]any {
	if t.kind != KindCommand || len(defaults)+len(t.Launch) == 0 {
		return nil
	}
	return launch.Over(defaults, t.Launch)
}
