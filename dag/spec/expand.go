package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/dag"
)

// Expansion holds the tasks of the fan-outs over lists in a task's result.
type Expansion struct {
	// Tasks are to be added with the success of the task.
	Tasks []dag.Addition
	// Gone lists tasks of an earlier success whose items are no longer in the lists.
	Gone []dag.Index
	// Rest is the result without the lists.
	Rest []byte
}

// Expand returns the tasks of the fan-outs over lists in the result of task i. A list has 1 to [MaxFanOut] different
// items. Names and items have at most [MaxAddedBytes] in total.
func (p *Program) Expand(i dag.Index, result []byte) (*Expansion, error) {
	e := expansion{run: p.run, known: finder(p.run), items: map[string]map[string]string{}}
	for _, d := range p.run.Dependants(i) {
		if !p.run.IsFanOut(d) || p.run.State(d) == dag.Skipped {
			continue
		}
		definition, err := p.Definition(d)
		if err != nil {
			return nil, err
		}
		if definition.FanOut.Of == p.run.ID(i) {
			e.fans = append(e.fans, fan{at: d, id: p.run.ID(d), FanOut: definition.FanOut})
		}
	}
	if len(e.fans) == 0 {
		return nil, nil //nolint:nilnil // nothing to expand
	}
	var object map[string]any
	if err := decodeJSON(result, &object); err != nil {
		object = nil // Lists are then reported as missing.
	}
	for k := range e.fans {
		if err := e.name(&e.fans[k], object); err != nil {
			return nil, err
		}
	}
	for k := range e.fans {
		e.add(&e.fans[k])
	}
	e.out.Rest = without(object, e.fans)
	return &e.out, nil
}

type expansion struct {
	run   *dag.Run
	known func(string) ([]string, bool)
	fans  []fan
	items map[string]map[string]string
	bytes int
	out   Expansion
}

type fan struct {
	*FanOut
	at   dag.Index
	id   string
	args []string
}

func (e *expansion) name(f *fan, object map[string]any) error {
	list, err := f.list(object)
	if err != nil {
		return err
	}
	positions, slugs := make(map[string]int, len(list)), make(map[string]int, len(list))
	names := make([]string, len(list))
	for k, item := range list {
		raw, err := json.Marshal(item)
		if err != nil {
			return err
		}
		encoded, err := json.Marshal(args{Item: raw})
		if err != nil {
			return err
		}
		if first, twice := positions[string(encoded)]; twice {
			return f.fault("the items %d and %d are both %.60s: return each once", first+1, k+1, raw)
		}
		positions[string(encoded)] = k
		f.args = append(f.args, string(encoded))
		names[k] = slug(item)
		slugs[names[k]]++
		e.bytes += len(encoded)
	}
	e.items[f.id] = make(map[string]string, len(list))
	for k, name := range names {
		id := f.id + "." + name
		if name == "" || len(name) > maxSuffix || slugs[name] > 1 || e.taken(id, f.args[k]) {
			id = f.id + ".#" + digest(f.args[k])
		}
		e.items[f.id][f.args[k]] = id
		if e.bytes += len(id); e.bytes > MaxAddedBytes {
			return f.fault("items and names of the tasks have more than %d bytes: return short references instead of the data, or split the list over several tasks", MaxAddedBytes)
		}
	}
	return nil
}

func (e *expansion) taken(id, args string) bool {
	i, ok := e.run.Lookup(id)
	return ok && string(e.run.Args(i)) != args
}

// digest: an item has the same name in every list.
func digest(args string) string {
	sum := sha256.Sum256([]byte(args))
	return hex.EncodeToString(sum[:6])
}

func (f *fan) list(object map[string]any) ([]any, error) {
	var value any = object
	for k, key := range f.Path {
		fields, _ := value.(map[string]any)
		next, ok := fields[key]
		if !ok {
			return nil, f.fault("it returned no %s: return a JSON object with the list, like {%q: [\"a\", \"b\"]}", strings.Join(f.Path[:k+1], "."), key)
		}
		value = next
	}
	list, ok := value.([]any)
	switch {
	case !ok:
		return nil, f.fault("%s is %s: return a list", strings.Join(f.Path, "."), jsonKind(value))
	case len(list) == 0:
		return nil, f.fault("%s is an empty list: return at least one item, or fail where there should be some", strings.Join(f.Path, "."))
	case len(list) > MaxFanOut:
		return nil, f.fault("%s has %d items, the limit is %d: split it over several tasks", strings.Join(f.Path, "."), len(list), MaxFanOut)
	}
	return list, nil
}

func (f *fan) fault(format string, args ...any) error {
	return fmt.Errorf("INVALID: for_each of task %q: %s", f.id, fmt.Sprintf(format, args...))
}

func (e *expansion) add(f *fan) {
	common := []string{f.id}
	for _, name := range f.Needs {
		common = append(common, e.need(name)...)
	}
	common = slices.Clip(common)
	ids := e.items[f.id]
	for _, arg := range f.args {
		needs := common
		for _, name := range f.PerItem {
			if id, ok := e.items[name][arg]; ok {
				needs = append(needs, id)
			} else {
				needs = append(needs, name) // An operator skipped that fan-out.
			}
		}
		e.out.Tasks = append(e.out.Tasks, dag.Addition{Under: f.id, Task: dag.Task{
			ID: ids[arg], Needs: needs, Priority: f.Priority, Rule: f.Rule, Unmetered: f.Unmetered, Gated: f.Gated, Payload: f.Task, Args: []byte(arg),
		}})
	}
	for _, i := range e.run.Family(f.id) {
		if id, still := ids[string(e.run.Args(i))]; (!still || id != e.run.ID(i)) && e.run.Under(i) == f.at {
			e.out.Gone = append(e.out.Gone, i)
		}
	}
}

// A late fan-out yields its stand-in and its existing tasks.
func (e *expansion) need(name string) []string {
	ids, _ := e.known(name)
	i, ok := e.run.Lookup(name)
	if !ok || !e.run.IsFanOut(i) {
		return ids
	}
	ids = []string{name}
	if fresh := e.items[name]; fresh != nil {
		for k := range e.fans {
			if e.fans[k].id == name {
				for _, arg := range e.fans[k].args {
					ids = append(ids, fresh[arg])
				}
			}
		}
		return ids
	}
	for _, t := range e.run.Family(name) {
		ids = append(ids, e.run.ID(t))
	}
	return ids
}

func without(object map[string]any, fans []fan) []byte {
	for k := range fans {
		fields := object
		for _, key := range fans[k].Path[:len(fans[k].Path)-1] {
			fields, _ = fields[key].(map[string]any)
		}
		delete(fields, fans[k].Path[len(fans[k].Path)-1])
	}
	rest, err := json.Marshal(object)
	if err != nil || bytes.Equal(rest, []byte("{}")) {
		return nil
	}
	return rest
}
