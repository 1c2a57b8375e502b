package jobtype

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// OverlayParams returns base overlaid by over, at the top level only. An empty or null side counts as an empty object.
func OverlayParams(base, over json.RawMessage) (json.RawMessage, error) {
	merged, err := objectKeys("params of the job type", base)
	if err != nil {
		return nil, err
	}
	top, err := objectKeys("params of the proposal", over)
	if err != nil {
		return nil, err
	}
	maps.Copy(merged, top)
	return json.Marshal(merged)
}

func objectKeys(what string, data json.RawMessage) (map[string]json.RawMessage, error) {
	keys := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(data)) == 0 {
		return keys, nil
	}
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, fmt.Errorf("%s must be a JSON object: %w", what, err)
	}
	if keys == nil { // null
		keys = map[string]json.RawMessage{}
	}
	return keys, nil
}

func isObject(data json.RawMessage) bool {
	trimmed := bytes.TrimSpace(data)
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed)
}
