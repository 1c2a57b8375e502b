package ui

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Characters that a terminal or a reader would act on never leave the program: control characters of C0 and C1, and
// the format characters that reorder or hide text (U+202E and the like).

// The two joiners are safe: they are part of words and emoji.
func unsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' || r == '\u2028' || r == '\u2029'
}

// Printable makes spaces of characters that a terminal would act on.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unsafe(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// OneLine is Printable with single spaces.
func OneLine(text string) string {
	return strings.Join(strings.Fields(Printable(text)), " ")
}

// Lines is Printable line by line: line breaks and tabs stay.
func Lines(text string) string {
	return strings.Map(func(r rune) rune {
		if unsafe(r) && r != '\n' && r != '\t' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

// escapeUnsafe escapes unsafe characters in JSON that its encoder leaves.
func escapeUnsafe(encoded []byte) []byte {
	if !bytes.ContainsFunc(encoded, func(r rune) bool { return r > '~' && unsafe(r) }) {
		return encoded
	}
	var escaped bytes.Buffer
	for _, r := range string(encoded) {
		switch {
		case r <= '~' || !unsafe(r):
			escaped.WriteRune(r)
		case r > 0xffff:
			high, low := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00
			fmt.Fprintf(&escaped, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
	}
	return escaped.Bytes()
}
