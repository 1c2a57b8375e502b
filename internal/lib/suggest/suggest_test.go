package suggest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestWord(t *testing.T) {
	t.Parallel()
	known := []string{"list", "show", "retry_limit", "größe", "List2"}
	for word, meant := range map[string]string{
		"lits": "list", "lst": "list", "LIST": "list", "retry-limit": "retry_limit", "große": "größe",
		"xyz": "", "": "", "something_else": "", strings.Repeat("l", 1000): "",
	} {
		assert.Equal(t, meant, Word(word, known), word)
	}
	assert.Empty(t, Word("a", nil))
	assert.Equal(t, "ab", Word("a", []string{"ac", "ab", "ad"}), "the first of those that are as near")
}

// The distance is compared with a recursive definition.
func TestDistance(t *testing.T) {
	t.Parallel()
	words := rapid.StringOfN(rapid.SampledFrom([]rune("abcö")), 0, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := []rune(words.Draw(t, "a")), []rune(words.Draw(t, "b"))
		var rows [3][]int
		distance([]rune("other words"), []rune("leave traces"), &rows)
		assert.Equal(t, defined(a, b), distance(a, b, &rows))
	})
}

func defined(a, b []rune) int {
	if len(a) == 0 || len(b) == 0 {
		return len(a) + len(b)
	}
	x, y := len(a)-1, len(b)-1
	cost := 1
	if a[x] == b[y] {
		cost = 0
	}
	least := min(defined(a[:x], b)+1, defined(a, b[:y])+1, defined(a[:x], b[:y])+cost)
	if x > 0 && y > 0 && a[x] == b[y-1] && a[x-1] == b[y] {
		least = min(least, defined(a[:x-1], b[:y-1])+1)
	}
	return least
}
