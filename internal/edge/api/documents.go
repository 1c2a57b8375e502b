package api

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// documents wraps a YAML body into JSON. Only operations for documents accept YAML.
func (c *catalog) documents(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil || kind != guard.YAML || r.Method == http.MethodGet || !under(Prefix, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		if o, known := c.operationOf(r); known && !o.Document {
			guard.Refuse(w, problem.New(http.StatusUnsupportedMediaType, "", "the body must be application/json: this operation takes no document"))
			return
		}
		wrapped, refused := wrapped(r.Body)
		if refused != nil {
			guard.Refuse(w, refused)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set("Content-Type", guard.JSON)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(wrapped)), int64(len(wrapped))
		next.ServeHTTP(w, r)
	})
}

func wrapped(body io.Reader) ([]byte, *problem.Problem) {
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, unreadable(err)
	}
	encoded, err := json.Marshal(map[string]string{"document": string(text)})
	if err != nil {
		return nil, problem.New(http.StatusUnprocessableEntity, "", err.Error())
	}
	return encoded, nil
}

func (c *catalog) describeDocument(o Operation) {
	if !o.Document {
		return
	}
	c.huma.OpenAPI().Paths[o.Path].Post.RequestBody.Content[guard.YAML] = &huma.MediaType{
		Schema: &huma.Schema{Type: huma.TypeString, Description: "The document alone"},
	}
}
