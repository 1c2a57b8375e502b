package workflows

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// auditTasks bounds how many names an entry lists.
const auditTasks = 10

func listed(names []string) string {
	text := strings.Join(names[:min(len(names), auditTasks)], ", ")
	if more := len(names) - auditTasks; more > 0 {
		text += ", and " + strconv.Itoa(more) + " more"
	}
	return text
}

// changedSettings lists the settings that differ, as they were and as they are.
func changedSettings(before, after any) (was, is string) {
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
	if value == "" {
		value = "(none)"
	}
	return fmt.Sprintf("%s: %s", key, strings.Trim(value, `"`))
}

// settingsOf are the settings of a policy, or of anything that is an object, by
// name. What is none has none.
func settingsOf(value any) map[string]json.RawMessage {
	settings := map[string]json.RawMessage{}
	if encoded, err := json.Marshal(value); err != nil || json.Unmarshal(encoded, &settings) != nil {
		return map[string]json.RawMessage{}
	}
	return settings
}
