package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/lib/gotemplate"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

func withParams(data []byte, sub *SubDAG, params map[string]any) ([]byte, error) {
	g, err := dag.Decode(data)
	if err != nil {
		return nil, err
	}
	h, err := HeaderOf(g)
	if err != nil {
		return nil, err
	}
	h.Params = make(map[string]any, len(params))
	for _, key := range sortedKeys(params) {
		if h.Params[key], err = likeDeclared(sub.Declared[key], params[key]); err != nil {
			return nil, fmt.Errorf("params.%s of sub-DAG %s: %w", key, sub.File, err)
		}
	}
	meta, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return g.WithMeta(meta).Encode(), nil
}

// Templates produce text, which is parsed as JSON unless the declared value is text.
func likeDeclared(declared, given any) (any, error) {
	want := jsonKind(declared)
	if text, ok := given.(string); ok && declared != nil && want != "text" {
		var value any
		if !json.Valid([]byte(text)) || decodeJSON([]byte(text), &value) != nil {
			return nil, fmt.Errorf("%.60q is not %s, which the spec declares", text, want)
		}
		given = value
	}
	if got := jsonKind(given); declared != nil && got != want {
		return nil, fmt.Errorf("it is %s, but the spec declares %s", got, want)
	}
	return given, nil
}

func jsonKind(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case string:
		return "text"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return "a number"
}

// checkSubParams returns the declared values.
func (u *unit) checkSubParams(t *Task, sub *Spec) map[string]any {
	var declared map[string]any
	for _, key := range sortedKeys(t.Params) {
		at := keyPlace(t.node, "params", key)
		value, ok := sub.Params[key]
		if !ok {
			known := sortedKeys(sub.Params)
			hint := "it declares no params"
			if len(known) > 0 {
				hint = suggestion(key, known)
			}
			u.on(at, "task %q: %s has no param %s; %s", t.ID, t.DAG, strconv.Quote(key), hint)
			continue
		}
		if declared == nil {
			declared = map[string]any{}
		}
		declared[key] = value
		if gotemplate.Templated(textOf(t.Params[key])) {
			continue // The run checks the rendered value.
		}
		if _, err := likeDeclared(value, t.Params[key]); err != nil {
			u.on(at, "task %q: params.%s: %v", t.ID, key, err)
		}
	}
	return declared
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

func keyPlace(n *yamlread.Node, key, below string) yamlread.Place {
	switch f := child(n, key).Field(below); {
	case f != nil:
		return f.At
	case n != nil:
		return n.Place()
	}
	return yamlread.Place{}
}
