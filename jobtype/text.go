package jobtype

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const ellipsis = "…"

// OneLine makes text fit for a summary: valid UTF-8, control characters and
// line breaks turned into spaces, at most limit bytes, an ellipsis where
// something was cut. File names and the output of programs need it.
func OneLine(text string, limit int) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
	return Clip(strings.TrimSpace(clean), limit)
}

// Clip makes text valid UTF-8 of at most limit bytes, an ellipsis where something
// was cut. Line breaks stay.
func Clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	switch {
	case len(text) <= limit:
		return text
	case limit < len(ellipsis):
		return ""
	}
	return cutRunes(text, limit-len(ellipsis)) + ellipsis
}

// KeyOf makes a dedupe key of any string, even one that is no UTF-8 (a file
// name may be anything) or too long. Text that is a valid key already stays as
// it is; otherwise it is quoted as in Go source, and what is still over
// [MaxDedupeKeyBytes] is cut and closed with a digest of the whole. Different
// strings have different keys, and the same string always has the same.
func KeyOf(raw string) string {
	if raw == "" {
		return ""
	}
	key := raw
	if raw[0] == '"' || !utf8.ValidString(raw) || strings.ContainsFunc(raw, unicode.IsControl) {
		key = strconv.Quote(raw)
	}
	if len(key) <= MaxDedupeKeyBytes {
		return key
	}
	digest := sha256.Sum256([]byte(raw))
	tail := ellipsis + "sha256:" + hex.EncodeToString(digest[:])
	return cutRunes(key, MaxDedupeKeyBytes-len(tail)) + tail
}

// cutRunes returns the longest prefix of valid UTF-8 text that has at most
// limit bytes and ends at a rune boundary.
func cutRunes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
