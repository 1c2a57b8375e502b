package tail_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/lib/tail"
	"github.com/roundsman/roundsman/jobtype"
)

// plain is the readable form of an output without sequences of a terminal.
func plain(output []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(string(output), string(utf8.RuneError))))
}

// Colors, titles and progress displays of programs leave neither their codes nor all their states on one line.
func TestATailIsWithoutCodesOfTerminals(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"\x1b[0;31mERROR\x1b[0m: no space\n\x1b[0m\n":            "ERROR: no space\n\n",
		"\x1b[38;5;196mx\x1b[K\x1b[2J\x1b[1A\x1b[?25hy":          "xy",
		"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\": "ab",
		"\x1b(Ba\x1b=b\x1bMc\x1b7d":                              "abcd",
		"10%\r50%\r100%\r\ndone\r\n":                             "10%\n50%\n100%\ndone\n",
		"\x1b]an open one\nb":                                    "]an open one\nb",
		"a\x1b":                                                  "a",
		"\x1bkvim\x1b\\done \x1bP1$r0m\x1b\\.":                   "done .",
		"a[31m [0]":                                              "a[31m [0]",
		"日\x1b[1m本\x1b[m":                                        "日本",
	} {
		kept := tail.New(1 << 10)
		_, err := kept.Write([]byte(output))
		require.NoError(t, err)
		assert.Equal(t, want, kept.Text(), "%q", output)
	}
}

// A tail is the readable end of an output, however the program divides its writes.
func TestATailIsTheEndOfAnOutput(t *testing.T) {
	t.Parallel()
	pieces := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 20), rapid.Map(rapid.StringN(0, 20, 60), func(text string) []byte { return []byte(text) }))
	withoutEscape := func(piece []byte) []byte { return bytes.ReplaceAll(piece, []byte{0x1b}, []byte{'\r'}) }
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(t, "size")
		kept, output := tail.New(size), []byte(nil)
		for _, piece := range rapid.SliceOfN(pieces, 0, 8).Draw(t, "pieces") {
			piece = withoutEscape(piece)
			n, err := kept.Write(piece)
			if n != len(piece) || err != nil {
				t.Fatalf("wrote %d of %d: %v", n, len(piece), err)
			}
			output = append(output, piece...)
		}
		text, all := kept.Text(), plain(output)
		if !utf8.ValidString(text) || plain([]byte(text)) != text || !strings.HasSuffix(all, text) {
			t.Fatalf("%q is not the end of %q", text, all)
		}
		if len(output) < size && text != all {
			t.Fatalf("%q is not all of %q", text, all)
		}
		if lost := len(output) - size; lost >= 0 { // At most a character is cut.
			at := min(lost+utf8.UTFMax-1, len(output))
			for at < len(output) && !utf8.RuneStart(output[at]) {
				at++
			}
			least := utf8.RuneCountInString(plain(output[at:]))
			if utf8.RuneCountInString(text) < least {
				t.Fatalf("%q lacks a part of the last %d bytes of %q", text, size, output)
			}
		}
	})
}

// An output fits into a result, also one that JSON makes six times as long.
func TestATailFitsIntoAResult(t *testing.T) {
	t.Parallel()
	for _, one := range []string{"a", "<", `"`, `\`, "\n", "\u2028", "é", "日", "😀", "\x80"} {
		kept := tail.New(4 * jobtype.MaxOutputBytes)
		_, err := kept.Write([]byte(strings.Repeat(one, 4*jobtype.MaxOutputBytes)))
		require.NoError(t, err)
		text := kept.Text()
		encoded, err := json.Marshal(text)
		require.NoError(t, err)
		assert.NotEmpty(t, text, one)
		assert.LessOrEqual(t, len(text), jobtype.MaxOutputBytes, one)
		assert.LessOrEqual(t, len(encoded), jobtype.MaxResultBytes*3/4+len(`""`), one)
	}
}
