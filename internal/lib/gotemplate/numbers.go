package gotemplate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Plain decodes a block so that templates print and compare its numbers as written: 1000000, not 1e+06.
func Plain(block string, data json.RawMessage) (any, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("%s: %w", block, err)
	}
	return Native(value), nil
}

// Native copies a JSON value with numbers that templates can compare. Integers too large for int64 stay text.
func Native(value any) any {
	switch typed := value.(type) {
	case json.Number:
		if whole, err := typed.Int64(); err == nil {
			return whole
		}
		if strings.ContainsAny(typed.String(), ".eE") {
			if float, err := typed.Float64(); err == nil {
				return float
			}
		}
		return typed.String()
	case map[string]any:
		out := make(map[string]any, len(typed))
		//workflowcheck:ignore each goes to a place of its own
		for key, element := range typed {
			out[key] = Native(element)
		}
		return out
	case []any:
		return lists.Map(typed, Native)
	}
	return value
}
