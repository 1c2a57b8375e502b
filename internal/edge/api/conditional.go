package api

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// conditional adds an ETag to every GET, and refuses a PUT or PATCH with If-Match if the thing has changed.
func conditional(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !under(Prefix, r.URL.Path) || under(Prefix+"/events", r.URL.Path):
			next.ServeHTTP(w, r)
		case r.Method == http.MethodGet, r.Method == http.MethodHead:
			serveTagged(w, r, next)
		case r.Header.Get("If-Match") != "" && (r.Method == http.MethodPut || r.Method == http.MethodPatch):
			if refused := matchBefore(r, next); refused != nil {
				guard.Refuse(w, refused)
				return
			}
			next.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func describeConditions(o Operation, described *huma.Operation) {
	header := func(name, text string) {
		described.Parameters = append(described.Parameters, &huma.Param{Name: name, In: "header", Description: text, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	switch o.Method {
	case http.MethodGet:
		header("If-None-Match", "The ETag of an earlier answer: 304 without a body if it is still that")
		tag := map[string]*huma.Param{"ETag": {Description: "The same for the same content, whenever it was made", Schema: &huma.Schema{Type: huma.TypeString}}}
		described.Responses[strconv.Itoa(http.StatusOK)].Headers = tag
		described.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{Description: http.StatusText(http.StatusNotModified), Headers: tag}
	case http.MethodPut, http.MethodPatch:
		header("If-Match", "The ETag of an earlier GET: 412 (CHANGED) if the thing has changed since")
	}
}

func serveTagged(w http.ResponseWriter, r *http.Request, next http.Handler) {
	kept := &buffered{header: w.Header(), status: http.StatusOK}
	next.ServeHTTP(kept, r)
	head := w.Header()
	head.Add("Vary", "Accept-Encoding")
	if head.Get("Cache-Control") == "" {
		head.Set("Cache-Control", "private, no-cache")
	}
	if kept.status == http.StatusOK {
		tag := tagOf(kept.body.Bytes())
		head.Set("ETag", tag)
		if matchesTag(r.Header.Get("If-None-Match"), tag) {
			head.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	writeBody(w, r, kept.status, kept.body.Bytes())
}

const compressFrom = 1 << 10

func writeBody(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	if len(body) < compressFrom || !takesGzip(r) {
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

func takesGzip(r *http.Request) bool {
	for each := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(each, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			return quality == "" || strings.Trim(strings.TrimPrefix(strings.ToLower(quality), "q="), "0.") != ""
		}
	}
	return false
}

func matchBefore(r *http.Request, next http.Handler) *problem.Problem {
	read := r.Clone(r.Context())
	read.Method, read.Body, read.ContentLength = http.MethodGet, http.NoBody, 0
	read.Header.Del("If-None-Match")
	kept := &buffered{header: http.Header{}, status: http.StatusOK}
	next.ServeHTTP(kept, read)
	if kept.status != http.StatusOK {
		return nil // The write itself reports the error.
	}
	if tag := tagOf(kept.body.Bytes()); !matchesTag(r.Header.Get("If-Match"), tag) {
		return problem.New(http.StatusPreconditionFailed, problem.CodeChanged, "it has changed since it was read").With("read it again, then decide")
	}
	return nil
}

func matchesTag(written, tag string) bool {
	for each := range strings.SplitSeq(written, ",") {
		each = strings.TrimPrefix(strings.TrimSpace(each), "W/")
		if each == "*" || each == tag {
			return true
		}
	}
	return false
}

// asOf matches the time of an answer, which does not count as a difference.
var asOf = regexp.MustCompile(`"as_of":"[^"]*"`)

func tagOf(body []byte) string { return `"` + digest(body) + `"` }

func digest(body []byte) string {
	sum := sha256.Sum256(asOf.ReplaceAll(body, nil))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

type buffered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (b *buffered) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *buffered) WriteHeader(status int) { b.status = status }

func (b *buffered) Write(part []byte) (int, error) { return b.body.Write(part) }
