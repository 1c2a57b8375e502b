package etag

import (
	"compress/gzip"
	"net/http"
	"strings"
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
		if match(r.Header.Get("If-None-Match"), tag) {
			head.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	WriteBody(w, r, kept.Status, kept.Body.Bytes())
}

// Matches compares the If-Match of a request with a GET of its path. unread is the answer to the GET if it is
// an error other than 404.
func Matches(r *http.Request, next http.Handler) (matches bool, unread *Answer) {
	read := r.Clone(r.Context())
	read.Method, read.Body, read.ContentLength = http.MethodGet, http.NoBody, 0
	read.URL.RawQuery = "" // It is the query of the write.
	kept := NewAnswer(http.Header{})
	next.ServeHTTP(kept, read)
	switch kept.Status {
	case http.StatusOK:
		return match(r.Header.Get("If-Match"), tagOf(kept.Body.Bytes())), nil
	case http.StatusNotFound:
		return false, nil
	default:
		return false, kept
	}
}

const compressFrom = 1 << 10

// WriteBody sends an answer, compressed if the client takes that.
func WriteBody(w http.ResponseWriter, r *http.Request, status int, body []byte) {
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
