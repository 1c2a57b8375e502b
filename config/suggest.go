package config

import (
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/suggest"
)

// didYouMean returns ": did you mean \"x\"?" for the closest known word, the list of known words if
// none is close, or nothing without known words.
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
