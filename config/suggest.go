package config

import (
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/suggest"
)

// didYouMean returns ": did you mean \"x\"?" for the closest of the known
// words, or the list of them when none is close, or nothing when there is
// nothing to choose from.
func didYouMean(word string, known []string) string {
	best := suggest.Word(word, known)
	switch {
	case best != "":
		return fmt.Sprintf(": did you mean %q?", best)
	case len(known) == 0:
		return ""
	}
	return ": use one of " + strings.Join(known, ", ")
}
