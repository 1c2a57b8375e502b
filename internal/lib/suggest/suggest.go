// Package suggest finds the word that was probably meant. It is pure.
package suggest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// longest bounds the compared words: suggestions are for typing errors.
const longest = 64

// Word returns the known word closest to word: at most a third of its letters and one differ. Case is ignored.
func Word(word string, known []string) string {
	return Among(word, slices.Values(known))
}

// Among is [Word] for a sequence of words.
func Among(word string, known func(yield func(string) bool)) string {
	from := letters(word)
	best, limit := "", len(from)/3+2
	var rows [3][]int
	for candidate := range known {
		if short := utf8.RuneCountInString(candidate) - len(from); short > limit || -short > limit {
			continue
		}
		if d := distance(from, letters(candidate), &rows); d < limit || d == limit && candidate < best {
			best, limit = candidate, d
		}
	}
	return best
}

// Clause returns ": did you mean \"x\"?" for the closest known word, else the list of known words.
func Clause(word string, known []string) string {
	best := Word(word, known)
	switch {
	case best != "":
		return fmt.Sprintf(": did you mean %q?", best)
	case len(known) == 0:
		return ""
	}
	return ": use one of " + strings.Join(known, ", ")
}

func letters(word string) []rune {
	all := []rune(strings.ToLower(word))
	return all[:min(len(all), longest)]
}

// distance counts insertions, deletions, substitutions and swaps of neighbors. rows is reused between calls.
func distance(from, to []rune, rows *[3][]int) int {
	for i := range rows {
		rows[i] = slices.Grow(rows[i][:0], len(to)+1)[:len(to)+1]
	}
	last, line, beforeLast := rows[0], rows[1], rows[2]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(from); i++ {
		line[0] = i
		for j := 1; j <= len(to); j++ {
			cost := 1
			if from[i-1] == to[j-1] {
				cost = 0
			}
			line[j] = min(last[j]+1, line[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				line[j] = min(line[j], beforeLast[j-2]+1)
			}
		}
		beforeLast, last, line = last, line, beforeLast
	}
	return last[len(to)]
}
