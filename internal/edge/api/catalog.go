package api

import (
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

type catalog struct {
	mux   *http.ServeMux
	huma  huma.API
	needs map[string]Operation
}

func newCatalog() catalog {
	mux := http.NewServeMux()
	return catalog{mux: mux, huma: humago.NewWithPrefix(mux, Prefix, description()), needs: map[string]Operation{}}
}

func (c *catalog) declare(o Operation) {
	if o.May.Verb == "" || o.May.Kind == "" {
		panic("operation " + o.ID + " declares no permission")
	}
	if _, twice := c.needs[o.ID]; twice {
		panic("operation " + o.ID + " is declared twice")
	}
	c.needs[o.ID] = o
}

// Operations returns all operations by id.
func (c *catalog) Operations() map[string]Operation { return c.needs }

// operationOf returns the operation of a request. A path that the server would redirect has none.
func (c *catalog) operationOf(r *http.Request) (Operation, bool) {
	_, pattern := c.mux.Handler(r)
	method, of, _ := strings.Cut(pattern, " ")
	for _, o := range c.needs {
		if o.Method == method && Prefix+o.Path == of && path.Clean(r.URL.Path) == r.URL.Path {
			return o, true
		}
	}
	return Operation{}, false
}

// Document returns the OpenAPI document as YAML.
func (c *catalog) Document() ([]byte, error) {
	text, err := c.huma.OpenAPI().YAML()
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return text, nil
}

// Downgraded returns the document in OpenAPI 3.0, for generators that need it.
func (c *catalog) Downgraded() ([]byte, error) {
	text, err := c.huma.OpenAPI().DowngradeYAML()
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return text, nil
}

// OpenAPI returns the document.
func (c *catalog) OpenAPI() *huma.OpenAPI { return c.huma.OpenAPI() }

func (c *catalog) unknownPath(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := c.mux.Handler(other); method != r.Method && pattern != Prefix+"/" && pattern != "" {
			w.Header().Add("Allow", method)
		}
	}
	if w.Header().Get("Allow") != "" {
		guard.Refuse(w, problem.Newf(http.StatusMethodNotAllowed, "", "%s takes no %s", r.URL.Path, r.Method))
		return
	}
	guard.Refuse(w, problem.Newf(http.StatusNotFound, "", "there is no %s", r.URL.Path).With("`roundsman api openapi` prints all paths"))
}
