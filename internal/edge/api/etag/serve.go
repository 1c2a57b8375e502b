package etag

import (
	"compress/gzip"
	"maps"
	"net/http"
	"strings"

	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// Serve serves a GET with an ETag.
func Serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	kept := NewAnswer(w.Header())
	next.ServeHTTP(kept, r)
	head := w.Header()
	head.Add("Vary", "Accept-Encoding")
	if head.Get("Cache-Control") == "" {
		head.Set("Cache-Control", "private, no-cache")
	}
	if kept.Status == http.StatusOK {
		tag := tagOf(kept.Body.Bytes())
		head.Set("ETag", tag)
		if matches(r.Header.Get("If-None-Match"), tag) {
			head.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	writeBody(w, r, kept.Status, kept.Body.Bytes())
}

// Unchanged compares the If-Match of a request with a GET of its path, and answers the request if it returns false.
// Without an answer to the GET it is unknown whether anything has changed.
func Unchanged(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
	read := r.Clone(r.Context())
	read.Method, read.Body, read.ContentLength = http.MethodGet, http.NoBody, 0
	read.URL.RawQuery = "" // It is the query of the write.
	kept := NewAnswer(http.Header{})
	next.ServeHTTP(kept, read)
	switch {
	case kept.Status == http.StatusOK && matches(r.Header.Get("If-Match"), tagOf(kept.Body.Bytes())):
		return true
	case kept.Status == http.StatusOK, kept.Status == http.StatusNotFound:
		guard.Refuse(w, problem.New(http.StatusPreconditionFailed, problem.CodeChanged, "it has changed since it was read").With("read it again, then decide"))
	default:
		maps.Copy(w.Header(), kept.Header())
		writeBody(w, r, kept.Status, kept.Body.Bytes())
	}
	return false
}

const compressFrom = 1 << 10

func writeBody(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	if len(body) < compressFrom || !TakesGzip(r) {
		w.WriteHeader(status)
		_, _ = w.Write(body) // The client has disconnected.
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Del("Content-Length")
	w.WriteHeader(status)
	zipped := gzip.NewWriter(w)
	_, _ = zipped.Write(body) // As above.
	_ = zipped.Close()
}

// TakesGzip reports whether the client takes compressed answers.
func TakesGzip(r *http.Request) bool {
	for each := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(each, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			return quality == "" || strings.Trim(strings.TrimPrefix(strings.ToLower(quality), "q="), "0.") != ""
		}
	}
	return false
}
