package api

import (
	"context"
	"maps"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/roundsman/roundsman/internal/edge/api/etag"
	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// conditional adds an ETag to every GET that is no stream, and refuses a PUT or PATCH with If-Match if the thing has
// changed.
func (a *API) conditional(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !under(Prefix, r.URL.Path):
			next.ServeHTTP(w, r)
		case r.Method == http.MethodGet, r.Method == http.MethodHead:
			if o, known := a.operationOf(r); known && o.Streams {
				w.Header().Set("Cache-Control", "no-store")
				next.ServeHTTP(w, r)
				return
			}
			etag.Serve(w, r, next)
		case r.Header.Get("If-Match") != "" && (r.Method == http.MethodPut || r.Method == http.MethodPatch):
			a.serveMatching(w, r, next)
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

// serveMatching takes one request to a path at a time: each would match before the others have written.
func (a *API) serveMatching(w http.ResponseWriter, r *http.Request, next http.Handler) {
	leave, err := a.turns.Take(r.Context(), r.URL.Path)
	if err != nil {
		guard.Refuse(w, problem.From(err))
		return
	}
	defer leave()
	matches, unread := etag.Matches(r, next)
	repeat := false
	if unread == nil && !matches {
		repeat, err = repeats(r.Context(), a.options.Client)
	}
	switch {
	case err != nil:
		guard.Refuse(w, problem.From(err))
	case unread != nil:
		maps.Copy(w.Header(), unread.Header())
		etag.WriteBody(w, r, unread.Status, unread.Body.Bytes())
	case matches:
		next.ServeHTTP(w, r)
	case repeat: // The first request may have made the change, or somebody else after it.
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), lateKey{}, true)))
	default:
		guard.Refuse(w, hasChanged())
	}
}

// lateKey marks a repeat whose thing has changed since it was read.
type lateKey struct{}

func hasChanged() *problem.Problem {
	return problem.New(http.StatusPreconditionFailed, problem.CodeChanged, "it has changed since it was read").With("read it again, then decide")
}

// Already is an [Operation.Already] for inputs of one type.
func Already[I any](is func(context.Context, *Call, *I) (bool, error)) func(context.Context, *Call, any) (bool, error) {
	return func(ctx context.Context, call *Call, in any) (bool, error) {
		own, known := in.(*I)
		if !known {
			return false, nil
		}
		return is(ctx, call, own)
	}
}

// harmless refuses a late repeat that could undo a change of somebody else.
func (c *Call) harmless(ctx context.Context, in any) error {
	if late, _ := ctx.Value(lateKey{}).(bool); !late {
		return nil
	}
	if already := c.operation.Already; already != nil {
		if is, err := already(ctx, c, in); err != nil || is {
			return err
		}
	}
	return hasChanged()
}
