package launch

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

//go:embed keys.schema.json
var keysSchema []byte

// schema and keys are read once.
var (
	schema = read()                           //nolint:gochecknoglobals // constant table
	keys   = slices.Sorted(maps.Keys(schema)) //nolint:gochecknoglobals // constant table
)

// Schema returns the JSON Schema of each key.
func Schema() map[string]json.RawMessage { return schema }

func read() map[string]json.RawMessage {
	var document struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(keysSchema, &document) // A test reads the file.
	return document.Properties
}

// Keys returns the names of the keys, sorted.
func Keys() []string { return keys }

// AddTo returns a JSON Schema with all keys in its properties, except some, such as "output".
func AddTo(into []byte, without ...string) json.RawMessage {
	var document map[string]any
	if err := json.Unmarshal(into, &document); err != nil {
		return into
	}
	properties, _ := document["properties"].(map[string]any)
	for key, own := range Schema() {
		if slices.Contains(without, key) {
			continue
		}
		var object map[string]any
		_ = json.Unmarshal(own, &object)
		below, _ := object["properties"].(map[string]any)
		for _, path := range without {
			if inner, found := strings.CutPrefix(path, key+"."); found {
				delete(below, inner)
			}
		}
		properties[key] = object
	}
	encoded, err := json.Marshal(document)
	if err != nil {
		return into
	}
	return encoded
}

// numbers are the keys whose scalars stay numbers.
var numbers = []string{"exit_codes", "nice", "limits.pids", "limits.open_files"} //nolint:gochecknoglobals // constant table

// Plain converts the value of one key. A scalar becomes text in its spelling (`umask: 0027`), except for keys with numbers.
func Plain(key string, n *yamlread.Node) any {
	if slices.ContainsFunc(numbers, func(number string) bool { return key == number || strings.HasPrefix(key, number+".") }) {
		return n.Plain()
	}
	switch n.Kind {
	case yamlread.List:
		return lists.Map(n.Items, func(item *yamlread.Node) any { return Plain(key, item) })
	case yamlread.Object:
		object := make(map[string]any, len(n.Fields))
		for _, f := range n.Fields {
			object[f.Key] = Plain(key+"."+f.Key, f.Value)
		}
		return object
	case yamlread.Text, yamlread.Integer, yamlread.Number, yamlread.Bool:
		return n.Literal
	case yamlread.Null:
	}
	return nil
}
