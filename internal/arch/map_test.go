package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hop is `Type.method` (`file`) in docs/architecture.md.
var hop = regexp.MustCompile("`([A-Za-z]+)\\.([A-Za-z]+)` \\(`([a-z/._]+\\.go)`\\)")

// TestTheMapLeadsSomewhere: every question of docs/architecture.md is answered in at
// most three hops, each a method that stands in the file named.
func TestTheMapLeadsSomewhere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "## Where to look")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	questions := 0
	for line := range strings.Lines(table) {
		hops := hop.FindAllStringSubmatch(line, -1)
		if len(hops) == 0 {
			assert.NotContains(t, line, "?", "no hop is named")
			continue
		}
		questions++
		assert.LessOrEqual(t, len(hops), 3, line)
		for _, h := range hops {
			source, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(h[3])))
			require.NoError(t, err)
			declared := regexp.MustCompile(`(?m)^func \(\w+ \*?` + h[1] + `\) ` + h[2] + `\(`)
			assert.True(t, declared.Match(source), "%s has no %s.%s", h[3], h[1], h[2])
		}
	}
	assert.GreaterOrEqual(t, questions, 4)
}
