// Package mask replaces secrets in outputs and texts.
package mask

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	masked = "***"
	// Shorter values would turn every output into asterisks.
	minSecret     = 4
	minSecretLine = 8
	maskChunk     = 32 << 10
	// Bounds of kept back output: the bytes of one terminal code, and of all codes in one secret.
	maxCode, maxCodes = 32, 1 << 10
)

// Masker replaces secrets, and the usual encodings of them. A nil Masker replaces nothing.
type Masker struct {
	// forms are the texts to replace, by their first byte, the longest first.
	forms [256][][]byte
	empty bool
}

// New returns a Masker of the secrets. Shorter ones than four bytes are no secrets.
func New(secrets []string) *Masker {
	m := &Masker{empty: true}
	for _, secret := range secrets {
		m.add(secret, minSecret)
		for line := range strings.Lines(secret) {
			m.add(strings.TrimRight(line, "\r\n"), minSecretLine)
		}
	}
	return m
}

func (m *Masker) add(secret string, least int) {
	if len(secret) < least {
		return
	}
	quoted, _ := json.Marshal(secret) //nolint:errchkjson // a text
	escaped := string(quoted[1 : len(quoted)-1])
	bare := strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(escaped)
	forms := []string{
		secret, escaped, bare, ascii(bare), strings.ReplaceAll(bare, "/", `\/`), url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
	}
	for _, padded := range forms[len(forms)-2:] {
		// Without padding, and before the line end that echo adds.
		forms = append(forms, strings.TrimRight(padded, "="))
	}
	slices.Sort(forms)
	for _, form := range slices.Compact(forms) {
		first := form[0]
		m.forms[first] = append(m.forms[first], []byte(form))
		slices.SortFunc(m.forms[first], func(a, b []byte) int { return len(b) - len(a) })
	}
	m.empty = false
}

// ascii escapes like JSON encoders that write only ASCII.
func ascii(text string) string {
	var out strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		if unit < utf8.RuneSelf {
			out.WriteByte(byte(unit))
			continue
		}
		_, _ = fmt.Fprintf(&out, `\u%04x`, unit)
	}
	return out.String()
}

// Text returns the text without the secrets.
func (m *Masker) Text(text string) string {
	if m == nil || m.empty {
		return text
	}
	done, _ := m.replace(nil, []byte(text), true)
	return string(done)
}

// Reader keeps back the beginning of a possible secret until more of it arrives.
func (m *Masker) Reader(from io.Reader) io.Reader {
	if m == nil || m.empty {
		return from
	}
	return &maskReader{from: from, masker: m, chunk: make([]byte, maskChunk)}
}

func (m *Masker) replace(done, text []byte, last bool) (replaced, rest []byte) {
	for len(text) > 0 {
		length := 0
		for _, form := range m.forms[text[0]] {
			found := find(form, text)
			if found < 0 && !last {
				return done, text
			}
			length = max(length, found)
		}
		if length > 0 {
			done, text = append(done, masked...), text[length:]
			continue
		}
		done, text = append(done, text[0]), text[1:]
	}
	return done, nil
}

type maskReader struct {
	from        io.Reader
	masker      *Masker
	chunk       []byte
	rest, ready []byte
	err         error
}

// find returns the length of the form at the beginning of text, with the terminal codes in it: grep --color prints some.
// It is 0 if text begins with something else, and negative if more text decides.
func find(form, text []byte) int {
	at := 0
	for i := 0; i < len(form); {
		if at == len(text) {
			return -1
		}
		if text[at] == form[i] {
			i++
			at++
			continue
		}
		if i == 0 || at > len(form)+maxCodes {
			return 0
		}
		skipped := code(text[at:])
		if skipped <= 0 {
			return skipped
		}
		at += skipped
	}
	return at
}

// code returns the length of the terminal code at the beginning of text, 0 without one, and -1 if more text decides.
func code(text []byte) int {
	final := byte('0') // Such as ESC ( B, of tput sgr0.
	for i, b := range text[:min(len(text), maxCode)] {
		switch {
		case i == 0 && b == 0x1b:
		case i == 0, b < ' ', b > '~', i == 1 && strings.IndexByte("]PX^_k", b) >= 0:
			return 0
		case i == 1 && b == '[':
			final = '@'
		case b >= final:
			return i + 1
		}
	}
	if len(text) < maxCode {
		return -1
	}
	return 0
}

// Read implements io.Reader.
func (r *maskReader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		var n int
		n, r.err = r.from.Read(r.chunk)
		text := append(r.rest, r.chunk[:n]...)
		r.ready, r.rest = r.masker.replace(nil, text, r.err != nil)
		r.rest = slices.Clone(r.rest)
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}
