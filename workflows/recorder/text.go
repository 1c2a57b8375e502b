package recorder

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxListed bounds the names in the detail of an entry.
const maxListed = 10

// Listed names the first of many.
func Listed(names []string) string {
	text := strings.Join(names[:min(len(names), maxListed)], ", ")
	if more := len(names) - maxListed; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// Changes lists the differing settings of two values of one type.
func Changes(before, after any) (was, is string) {
	old, current := settingsOf(before), settingsOf(after)
	both := maps.Clone(old)
	maps.Copy(both, current)
	var left, right []string
	for _, key := range slices.Sorted(maps.Keys(both)) {
		if a, b := string(old[key]), string(current[key]); a != b {
			left, right = append(left, setting(key, a)), append(right, setting(key, b))
		}
	}
	return strings.Join(left, "; "), strings.Join(right, "; ")
}

func setting(key, value string) string {
	value = cmp.Or(value, "(none)")
	return fmt.Sprintf("%s: %s", key, strings.Trim(value, `"`))
}

// settingsOf returns nothing for a value that is no object.
func settingsOf(value any) map[string]json.RawMessage {
	settings := map[string]json.RawMessage{}
	if encoded, err := json.Marshal(value); err != nil || json.Unmarshal(encoded, &settings) != nil {
		return map[string]json.RawMessage{}
	}
	return settings
}
