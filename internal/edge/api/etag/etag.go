// Package etag tags answers with a digest of their content, compresses them, and compares tags.
package etag

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
)

// asOf matches the time of an answer, which does not count as a difference.
var asOf = regexp.MustCompile(`"as_of":"[^"]*"`)

// HasTime reports whether a part of a body has the time of the answer.
func HasTime(part []byte) bool { return asOf.Match(part) }

// Digest returns the tag of a body without quotes.
func Digest(body []byte) string {
	sum := sha256.Sum256(asOf.ReplaceAll(body, nil))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

func tagOf(body []byte) string { return `"` + Digest(body) + `"` }

func match(written, tag string) bool {
	for each := range strings.SplitSeq(written, ",") {
		each = strings.TrimPrefix(strings.TrimSpace(each), "W/")
		if each == "*" || each == tag {
			return true
		}
	}
	return false
}

// Answer keeps an answer.
type Answer struct {
	head   http.Header
	Status int
	Body   bytes.Buffer
}

// NewAnswer returns an empty answer with its headers in head.
func NewAnswer(head http.Header) *Answer { return &Answer{head: head, Status: http.StatusOK} }

// Header implements http.ResponseWriter.
func (a *Answer) Header() http.Header { return a.head }

// WriteHeader implements http.ResponseWriter.
func (a *Answer) WriteHeader(status int) { a.Status = status }

func (a *Answer) Write(part []byte) (int, error) { return a.Body.Write(part) }
