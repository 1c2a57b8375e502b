// Package tail keeps the end of a program's output.
package tail

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/roundsman/roundsman/jobtype"
)

// Tail keeps the last written bytes. It is safe for concurrent use: stdout and stderr share one.
type Tail struct {
	mu    sync.Mutex
	ring  []byte
	next  int
	total int64
}

// New returns a tail of at most size bytes.
func New(size int) *Tail { return &Tail{ring: make([]byte, size)} }

// Write implements io.Writer and never fails.
func (t *Tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += int64(len(data))
	written := len(data)
	if len(data) > len(t.ring) {
		data = data[len(data)-len(t.ring):]
	}
	for len(data) > 0 {
		n := copy(t.ring[t.next:], data)
		t.next = (t.next + n) % len(t.ring)
		data = data[n:]
	}
	return written, nil
}

// Text returns the kept end as text for JSON and people.
func (t *Tail) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.total < int64(len(t.ring)) {
		return readable(t.ring[:t.next])
	}
	kept := append(append(make([]byte, 0, len(t.ring)), t.ring[t.next:]...), t.ring[:t.next]...)
	// The cut may have hit the middle of a character.
	for range utf8.UTFMax - 1 {
		if len(kept) > 0 && !utf8.RuneStart(kept[0]) {
			kept = kept[1:]
		}
	}
	return readable(kept)
}

// Escapes make six bytes of one, and a result over jobtype.MaxResultBytes would not travel.
const maxEncodedOutput = jobtype.MaxResultBytes * 3 / 4

// sequences are those of terminals for colors, the cursor and titles. Without their first character they would stay as [31m.
var sequences = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_k][^\x07\x1b\n]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])`)

// readable drops control characters and keeps the last part within both bounds.
func readable(data []byte) string {
	data = bytes.ReplaceAll(sequences.ReplaceAll(data, nil), []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n")) // A progress display returns to the beginning of its line.
	text := strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(data), string(utf8.RuneError)))
	from, encoded := len(text), 0
	for from > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:from])
		encoded += encodedSize(r, size)
		if len(text)-from+size > jobtype.MaxOutputBytes || encoded > maxEncodedOutput {
			break
		}
		from -= size
	}
	return text[from:]
}

func encodedSize(r rune, size int) int {
	switch r {
	case '"', '\\', '\n', '\t':
		return 2
	case '<', '>', '&', '\u2028', '\u2029':
		return 6
	}
	return size
}
