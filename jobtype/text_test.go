package jobtype_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/jobtype"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"plain", 200, "plain"},
		{" two\nlines\t\x1b[31m ", 200, "two lines  [31m"},
		{"caf\xe9", 200, "caf\uFFFD"},
		{"abcdefgh", 6, "abc…"},
		{"äääää", 8, "ää…"},
		{"abc", 2, ""},
		{"", 5, ""},
	} {
		assert.Equal(t, c.want, jobtype.OneLine(c.text, c.limit), "%q", c.text)
	}
}

func TestOneLineAlwaysFitsASummary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "raw"))
		line := jobtype.OneLine(raw, jobtype.MaxSummaryBytes)
		require.NoError(t, jobtype.Proposal{Summary: line}.Validate())
		require.Equal(t, line, jobtype.OneLine(line, jobtype.MaxSummaryBytes), "idempotent")
	})
}

func TestKeyOf(t *testing.T) {
	t.Parallel()
	assert.Empty(t, jobtype.KeyOf(""))
	assert.Equal(t, "/var/log/ä.log", jobtype.KeyOf("/var/log/ä.log"))
	assert.Equal(t, `"caf\xe9"`, jobtype.KeyOf("caf\xe9"))
	assert.Equal(t, `"a\nb"`, jobtype.KeyOf("a\nb"))
	assert.Equal(t, `"\"quoted\""`, jobtype.KeyOf(`"quoted"`), "what looks quoted is quoted, so no two strings meet")

	long := strings.Repeat("ü", 600)
	key := jobtype.KeyOf(long)
	assert.LessOrEqual(t, len(key), jobtype.MaxDedupeKeyBytes)
	assert.Contains(t, key, "…sha256:")
	assert.NotEqual(t, key, jobtype.KeyOf(long+"x"))
}

func TestKeyOfIsValidAndInjective(t *testing.T) {
	t.Parallel()
	raw := rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(rapid.Byte(), 1, 1000).Draw(t, "bytes"))
	})
	rapid.Check(t, func(t *rapid.T) {
		one, other := raw.Draw(t, "one"), raw.Draw(t, "other")
		key := jobtype.KeyOf(one)
		require.True(t, utf8.ValidString(key))
		require.NoError(t, jobtype.Proposal{DedupeKey: key}.Validate())
		require.Equal(t, one == other, key == jobtype.KeyOf(other))
	})
}

func TestClipCauseKeepsTheFirstClauseAndTheEnd(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("a line of no use\n", 20)
	for name, c := range map[string]struct {
		text  string
		limit int
		want  string
	}{
		"it fits":                  {"sh: a\nb", 100, "sh: a\nb"},
		"it begins at a line":      {"sh exited with status 3: " + lines + "no space left\n", 50, "sh exited with status 3: …\nno space left"},
		"more lines fit":           {"sh: " + lines + "no space left", 40, "sh: …\na line of no use\nno space left"},
		"one long line":            {"sh: " + strings.Repeat("x", 100) + " the end", 20, "sh: …xxxxx the end"},
		"a long line, a short end": {"sh: " + strings.Repeat("x", 100) + "\nexit 1", 30, "sh: …" + strings.Repeat("x", 16) + "\nexit 1"},
		"no clause":                {strings.Repeat("x", 100) + " the end", 15, "…xxxx the end"},
		"a clause over the half":   {"what is long: " + strings.Repeat("x", 100), 20, "…" + strings.Repeat("x", 17)},
		"a character is cut":       {strings.Repeat("ä", 50), 10, "…äää"},
		"control characters":       {"a\x1b[1mb\tc\n", 100, "a [1mb\tc\n"},
		"a clause without room":    {": abcdef", 4, ":…"},
		"less than an ellipsis":    {"abcdef", 2, ""},
		"only its end is a space":  {"abc   \n\n", 4, "abc"},
	} {
		got := jobtype.ClipCause(c.text, c.limit)
		assert.Equal(t, c.want, got, name)
		assert.LessOrEqual(t, len(got), c.limit, name)
		assert.Equal(t, got, jobtype.ClipCause(got, c.limit), name)
	}
}
