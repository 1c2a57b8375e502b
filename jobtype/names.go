package jobtype

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaxNameLength is the maximum length of a name of a job type, worker, lane or handler.
const MaxNameLength = 63

const nameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_-"

// ValidateName checks the name of a job type, handler, worker or lane: [a-z0-9][a-z0-9_-]{0,62}.
func ValidateName(name string) error {
	if name != "" && len(name) <= MaxNameLength && strings.Trim(name, nameCharacters) == "" && !strings.ContainsAny(name[:1], "_-") {
		return nil
	}
	return fmt.Errorf("name %q must start with a-z or 0-9 and hold only a-z, 0-9, _ and -, at most %d characters", name, MaxNameLength)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
