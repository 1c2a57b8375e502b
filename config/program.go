package config

import (
	"encoding/json"
	"maps"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/roundsman/roundsman/internal/lib/commandlint"
	"github.com/roundsman/roundsman/internal/lib/launch"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// program reads the keys for starting a program from an object with other keys.
func (l *loader) program(n *yamlread.Node, path string) launch.Spec {
	written := map[string]any{}
	for _, key := range launch.Keys() {
		value := n.Get(key)
		if value == nil {
			continue
		}
		written[key] = launch.Plain(key, value)
		encoded, err := json.Marshal(map[string]any{key: written[key]})
		if err == nil {
			_, err = launch.Decode(encoded)
		}
		if err != nil {
			l.fault(value.Place(), join(path, key), "%s", err)
			delete(written, key)
		}
	}
	l.found(commandlint.Values(n.Get("env"), path+".env"))
	encoded, err := json.Marshal(written)
	if err != nil {
		return launch.Spec{}
	}
	read, _ := launch.Decode(encoded) // Each key was read before.
	return read
}

func withProgram(properties object, keys []string) object {
	all := maps.Clone(properties)
	for _, key := range keys {
		all[key] = launch.Schema()[key]
	}
	return all
}

// A handler gets only the defaults that are keys of its schema.
func (l *loader) withDefaults(tree *yamlread.Node) *yamlread.Node {
	defaults := tree.Get("defaults")
	if defaults == nil || l.options.OnlyTemporal || l.options.WithoutJobTypes {
		return tree
	}
	before := len(l.faults)
	if l.object(defaults, "defaults", launch.Keys()...) {
		l.program(defaults, "defaults")
	}
	if types := tree.Get("job_types"); types != nil && len(l.faults) == before {
		for k := range types.Fields {
			l.defaultsOf(&types.Fields[k], defaults)
		}
	}
	return tree.Without("defaults")
}

func (l *loader) defaultsOf(jobType *yamlread.Field, defaults *yamlread.Node) {
	written := jobType.Value.Get("handler")
	if jobType.Value.Kind != yamlread.Object || written == nil {
		return
	}
	known, ok := l.handlers[written.Literal]
	if !ok {
		return
	}
	for _, b := range known.blocks() {
		if own := jobType.Value.Get(b.key); own != nil && own.Kind == yamlread.Object && b.key != "params" && b.schema != nil {
			jobType.Value = jobType.Value.With(b.key, below(own, defaults, b.schema, true))
		}
	}
}

// With inner, below also fills objects inside, but not those below, such as a reference to a secret.
func below(own, defaults *yamlread.Node, schema *jsonschema.Schema, inner bool) *yamlread.Node {
	merged := own.Without()
	for _, f := range defaults.Fields {
		property := schema.Properties[f.Key]
		if property == nil {
			if open, known := schema.AdditionalProperties.(bool); known && !open {
				continue
			}
			property = &jsonschema.Schema{}
		}
		written := own.Field(f.Key)
		switch object := f.Value.Kind == yamlread.Object; {
		case written == nil && object:
			f.Value = below(f.Value.Empty(), f.Value, property, false)
			merged.Add(f)
		case written == nil:
			merged.Add(f)
		case object && written.Value.Kind == yamlread.Object && inner:
			merged = merged.With(f.Key, below(written.Value, f.Value, property, false))
		}
	}
	return merged
}
