package workers

import (
	"strings"

	"github.com/roundsman/roundsman/internal/cli/ui"
)

// selector is a list of conditions on labels. A worker has all of them.
type selector []condition

type condition struct {
	key, value string
	unequal    bool
}

func readSelector(texts []string) (selector, error) {
	var all selector
	for _, text := range texts {
		key, value, found := strings.Cut(text, "=")
		key, unequal := strings.CutSuffix(key, "!")
		if !found || key == "" {
			return nil, ui.Usagef("--label %s: write K=V, K!=V or both, separated by commas", text)
		}
		all = append(all, condition{key, value, unequal})
	}
	return all, nil
}

// has reports whether labels meet all conditions. A label that is absent is unequal to each value.
func (s selector) has(labels map[string]string) bool {
	for _, c := range s {
		value, found := labels[c.key]
		if (found && value == c.value) == c.unequal {
			return false
		}
	}
	return true
}
