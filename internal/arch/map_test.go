package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hop is `Type.method` (`file`) in docs/architecture.md.
var hop = regexp.MustCompile("`([A-Za-z]+)\\.([A-Za-z]+)` \\(`([a-z/._]+\\.go)`\\)")

// TestTheMapLeadsSomewhere checks docs/architecture.md: every question is answered in at most three
// hops, every way has at least three, and each hop is a method in the named file.
func TestTheMapLeadsSomewhere(t *testing.T) {
	t.Parallel()
	for _, table := range []struct {
		title       string
		rows        int
		least, most int
	}{{"## Where to look", 8, 1, 3}, {"## Ways", 10, 3, 4}} {
		rows := 0
		for line := range strings.Lines(section(t, table.title)) {
			hops := hop.FindAllStringSubmatch(line, -1)
			if len(hops) == 0 {
				assert.NotContains(t, line, "?", "no hop is named")
				continue
			}
			rows++
			assert.LessOrEqual(t, len(hops), table.most, line)
			assert.GreaterOrEqual(t, len(hops), table.least, line)
			for _, h := range hops {
				source, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(h[3])))
				require.NoError(t, err)
				declared := regexp.MustCompile(`(?m)^func \(\w+ \*?` + h[1] + `\) ` + h[2] + `\(`)
				assert.True(t, declared.Match(source), "%s has no %s.%s", h[3], h[1], h[2])
			}
		}
		assert.GreaterOrEqual(t, rows, table.rows, table.title)
	}
}

// TestEveryRoomIsDescribed compares the floors of the document with floors.go.
func TestEveryRoomIsDescribed(t *testing.T) {
	t.Parallel()
	text := section(t, "## Floors")
	for _, rooms := range building {
		for _, r := range rooms {
			path := strings.TrimSuffix(r.packages[0], "/...")
			if path == "." {
				path = "roundsman.go"
			}
			assert.Contains(t, text, "`"+path+"`")
		}
	}
}

// TestEveryDecisionIsListed checks that docs/adr/README.md lists each record once, with existing
// packages.
func TestEveryDecisionIsListed(t *testing.T) {
	t.Parallel()
	directory := filepath.Join("..", "..", "docs", "adr")
	text, err := os.ReadFile(filepath.Join(directory, "README.md"))
	require.NoError(t, err)
	var listed []string
	for _, row := range governed.FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, row[1])
		for _, path := range quoted.FindAllStringSubmatch(row[2], -1) {
			assert.DirExists(t, filepath.Join("..", "..", filepath.FromSlash(path[1])), row[1])
		}
	}
	files, err := filepath.Glob(filepath.Join(directory, "[0-9]*.md"))
	require.NoError(t, err)
	var known []string
	for _, file := range files {
		if name := filepath.Base(file); name != "0000-template.md" {
			known = append(known, name)
		}
	}
	assert.ElementsMatch(t, known, listed)
}

// maxChange is the number of characters of a line in CHANGELOG.md.
const maxChange = 100

// TestEachChangeIsOneLine checks the entries of CHANGELOG.md.
func TestEachChangeIsOneLine(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "CHANGELOG.md"))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		assert.LessOrEqual(t, utf8.RuneCountInString(line), maxChange, line)
		assert.False(t, strings.HasPrefix(line, "  "), "%q continues an entry: make it one line", line)
	}
}

func section(t *testing.T, title string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), title)
	require.True(t, found, title)
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}
