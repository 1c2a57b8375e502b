package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/lib/gotemplate"
	"github.com/roundsman/roundsman/internal/lib/runview"
)

// ErrResultGone means that a template refers to a missing result: its task was skipped or returned none.
var ErrResultGone = errors.New("a result is missing")

// Rendered is a task with every template filled in.
type Rendered struct {
	// Run is false if the condition is false: report the task as skipped.
	Run               bool
	Command           []string
	Node              string
	Labels            map[string]string
	Params            map[string]any
	Launch            map[string]any
	Prompt            string
	Exclusive, Shared []string
	Key               string
	// Item and Matrix come from the fan-out, nil without one.
	Item   any
	Matrix map[string]any
}

// Need is a dependency in templates: {{.Needs.<id>.Result.<key>}}.
type Need struct {
	ID     string
	State  string
	Result map[string]any
}

// Render fills in the templates of task i. It calls result only for the tasks from [Program.Referred].
func (p *Program) Render(i dag.Index, result func(dag.Index) []byte) (*Rendered, error) {
	d, err := p.Definition(i)
	if err != nil {
		return nil, err
	}
	data, err := p.data(i, d, result)
	if err != nil {
		return nil, err
	}
	f := filler{id: p.run.ID(i), data: data}
	out := &Rendered{Item: data["Item"]}
	out.Matrix, _ = data["Matrix"].(map[string]any)
	if out.Run = f.condition(d.When); !out.Run {
		return out, f.err
	}
	out.Command = f.texts(d.Command)
	out.Node = f.text(d.Node)
	for _, key := range slices.Sorted(maps.Keys(d.Labels)) {
		if out.Labels == nil {
			out.Labels = make(map[string]string, len(d.Labels))
		}
		out.Labels[key] = f.text(d.Labels[key])
	}
	out.Exclusive, out.Shared, out.Key = f.texts(d.Exclusive), f.texts(d.Shared), f.text(d.Key)
	if d.Params != nil {
		out.Params, _ = f.value(d.Params).(map[string]any)
	}
	if d.Launch != nil {
		out.Launch, _ = f.value(d.Launch).(map[string]any)
	}
	if d.Approval != nil {
		out.Prompt = f.text(d.Approval.Prompt)
	}
	return out, f.err
}

func (p *Program) data(i dag.Index, d *Definition, result func(dag.Index) []byte) (map[string]any, error) {
	params := maps.Clone(d.Globals)
	if params == nil {
		params = map[string]any{}
	}
	for _, key := range slices.Sorted(maps.Keys(d.Globals)) {
		if given, ok := p.Header.Params[key]; ok {
			params[key] = given
		}
	}
	if d.Kind != KindDAG { // A DAG's params belong to the sub-DAG.
		maps.Copy(params, d.Params)
	}
	data := map[string]any{"Params": gotemplate.Native(params)}
	runview.Add(data, p.About, p.Header.Name)
	item, matrix, err := p.variables(i)
	if err != nil {
		return nil, err
	}
	if matrix != nil {
		data["Matrix"] = gotemplate.Native(matrix)
	} else if p.run.Args(i) != nil {
		data["Item"] = gotemplate.Native(item)
	}
	referred, err := p.Referred(i)
	if err != nil {
		return nil, err
	}
	needs := map[string]any{}
	for _, n := range referred {
		need := Need{ID: p.run.ID(n), State: p.run.State(n).String()}
		if raw := result(n); raw != nil {
			if err := decodeJSON(raw, &need.Result); err != nil {
				return nil, fmt.Errorf("the result of task %q is not a JSON object: %w", need.ID, err)
			}
			need.Result, _ = gotemplate.Native(need.Result).(map[string]any)
		}
		if slices.Contains(d.Refs, need.ID) {
			needs[need.ID] = need // An added task may name a single task of a fan-out.
		}
		if !group(need.ID) || slices.Contains(d.PerItem, Entry(need.ID)) {
			needs[Entry(need.ID)] = need
			continue
		}
		list, _ := needs[Entry(need.ID)].([]Need)
		needs[Entry(need.ID)] = append(list, need)
	}
	for _, name := range d.Refs {
		if i, found := p.run.Lookup(name); found && needs[name] == nil && p.run.IsFanOut(i) && !slices.Contains(d.PerItem, name) {
			needs[name] = []Need{} // It was skipped before it had tasks.
		}
	}
	data["Needs"] = needs
	return data, nil
}

// filler renders; the first error sticks.
type filler struct {
	id   string
	data map[string]any
	err  error
}

func (f *filler) text(text string) string {
	if f.err != nil || !gotemplate.Templated(text) {
		return text
	}
	t, err := gotemplate.Trusted("", text)
	if err != nil {
		f.err = fmt.Errorf("task %q: %w", f.id, err)
		return ""
	}
	out, err := t.Execute(f.data)
	if err != nil {
		f.err = f.explain(err)
	}
	return out
}

func (f *filler) texts(list []string) []string {
	var out []string
	for _, text := range list {
		out = append(out, f.text(text))
	}
	return out
}

func (f *filler) explain(err error) error {
	if strings.Contains(err.Error(), "map has no entry for key") || strings.Contains(err.Error(), "nil data") {
		return fmt.Errorf("task %q: %w: %s; the task it refers to was skipped or did not return that key", f.id, ErrResultGone, plain(err))
	}
	return fmt.Errorf("task %q: %s", f.id, plain(err))
}

func plain(err error) string {
	return strings.ReplaceAll(strings.TrimPrefix(err.Error(), "template: :"), `executing "" at `, "at ")
}

// condition evaluates when; an empty condition is true.
func (f *filler) condition(text string) bool {
	if text == "" {
		return true
	}
	switch got := strings.TrimSpace(f.text(text)); {
	case f.err != nil:
	case got == "true":
		return true
	case got == "false", got == "":
	default:
		f.err = fmt.Errorf("task %q: when must come out as true or false, not %.60q; compare with eq, like {{eq .Params.mode \"full\"}}", f.id, got)
	}
	return false
}

func (f *filler) value(v any) any {
	switch v := v.(type) {
	case string:
		return f.text(v)
	case []any:
		out := make([]any, len(v))
		for k := range v {
			out[k] = f.value(v[k])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		// Sorted, so that the same one of several errors is reported.
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out[key] = f.value(v[key])
		}
		return out
	}
	return v
}
