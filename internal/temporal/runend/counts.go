package runend

import (
	"log/slog"
	"maps"
	"slices"
)

// counted returns the counts that are not zero, by name.
func counted(counts map[string]any) slog.Attr {
	var shown []any
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if n, ok := counts[name].(float64); ok && n != 0 {
			shown = append(shown, slog.Int64(name, int64(n)))
		}
	}
	return slog.Group("counts", shown...)
}
