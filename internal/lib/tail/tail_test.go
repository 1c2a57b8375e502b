package tail_test

import (
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

// plain is the readable form of an output.
func plain(output []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(output), string(utf8.RuneError)))
}

// A tail is the readable end of an output, however the program divides its writes.
func TestATailIsTheEndOfAnOutput(t *testing.T) {
	t.Parallel()
	pieces := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 20), rapid.Map(rapid.StringN(0, 20, 60), func(text string) []byte { return []byte(text) }))
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(t, "size")
		kept, output := tail.New(size), []byte(nil)
		for _, piece := range rapid.SliceOfN(pieces, 0, 8).Draw(t, "pieces") {
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
			least := utf8.RuneCountInString(plain(output[min(lost+utf8.UTFMax-1, len(output)):]))
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
