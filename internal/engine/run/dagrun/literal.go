package dagrun

import "strings"

// literal protects rendered texts from the handler, which fills in templates of its own.
func literal(values map[string]any) map[string]any {
	if values == nil {
		return nil
	}
	escaped, _ := escape(values).(map[string]any)
	return escaped
}

func escape(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "{{", `{{"{{"}}`)
	case []any:
		out := make([]any, len(v))
		for k := range v {
			out[k] = escape(v[k])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		//workflowcheck:ignore each goes to a place of its own
		for key := range v {
			out[key] = escape(v[key])
		}
		return out
	}
	return v
}
