package spec

import (
	"slices"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/suggest"
)

func suggestion(word string, known []string) string {
	if best := suggest.Word(word, known); best != "" {
		return "did you mean " + `"` + best + `"` + "?"
	}
	if len(known) > 30 {
		return "check its spelling"
	}
	sorted := slices.Sorted(slices.Values(known))
	return "known here: " + strings.Join(sorted, ", ")
}
