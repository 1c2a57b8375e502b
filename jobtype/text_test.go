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
