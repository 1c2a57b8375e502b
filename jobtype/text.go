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

// OneLine returns text as valid UTF-8 of at most limit bytes, with spaces for control characters and line breaks. An
// ellipsis marks a cut.
func OneLine(text string, limit int) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
	return Clip(strings.TrimSpace(clean), limit)
}

// Clip returns text as valid UTF-8 of at most limit bytes. An ellipsis marks a cut. Line breaks stay.
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

// maxLead bounds the first clause that [ClipCause] keeps.
const maxLead = 200

// ClipCause bounds the text of an error. The cause is at its end, so the middle is cut: the first clause up to its
// colon stays, and as much of the end as fits. Line breaks and tabs stay, other control characters become spaces.
func ClipCause(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
	if len(text) <= limit {
		return text
	}
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	if len(text) <= limit || limit < 2*len(ellipsis) {
		return Clip(text, limit)
	}
	lead := ""
	if at := strings.Index(text[:min(limit/2, maxLead)], ": "); at >= 0 {
		lead = text[:at+len(": ")]
	}
	end := text[len(text)-(limit-len(lead)-len(ellipsis)):]
	if _, lines, several := strings.Cut(end, "\n"); several && len(lines) >= len(end)/2 {
		return lead + ellipsis + "\n" + lines
	}
	for len(end) > 0 && !utf8.RuneStart(end[0]) {
		end = end[1:]
	}
	return lead + ellipsis + end
}

// KeyOf returns a dedupe key for any string. A valid key stays unchanged. Other text is quoted as in Go source;
// beyond [MaxDedupeKeyBytes] it ends in a digest of the whole. Different strings have different keys.
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

// cutRunes returns the longest prefix of text with at most limit bytes that ends at a rune boundary.
func cutRunes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
