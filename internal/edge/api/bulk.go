package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/roundsman/roundsman/internal/edge/api/etag"
	"github.com/roundsman/roundsman/internal/edge/api/guard"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// bulkParallel bounds the parallel requests, within a namespace's limits.
const bulkParallel = 8

// mostBulkKey leaves room for the position of a request.
const mostBulkKey = mostKey - len("/999")

// BulkRequest is one request of a bulk.
type BulkRequest struct {
	Method string          `json:"method" enum:"POST,PUT,PATCH"`
	Path   string          `json:"path" minLength:"1" maxLength:"2000" doc:"Without the path of the API, like /runs/scrub-adhoc-x/cancel"`
	Body   json.RawMessage `json:"body,omitempty"`
	Key    string          `json:"idempotency_key,omitempty" maxLength:"200" doc:"Default: that of the whole request with the position"`
}

// BulkResult is the answer to one request.
type BulkResult struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// BulkResults holds the answers in the order of the requests.
type BulkResults struct {
	Results []BulkResult `json:"results"`
	Failed  int          `json:"failed"`
}

type bulkInput struct {
	Body struct {
		Operations []BulkRequest `json:"operations" minItems:"1" maxItems:"1000"`
	}
}

func (a *API) bulk() {
	Add(a, Operation{
		ID: "bulk", Method: http.MethodPost, Path: "/bulk", Tag: "system", Summary: "Do up to 1,000 operations; each has an answer of its own",
		Description: "Each is checked and answered as if it were sent alone, several at once and in no order. One that fails stops no other. " +
			"An Idempotency-Key is every one's, with its position.",
		May: access.Permission{Verb: access.View, Kind: access.Self}, Bulk: true,
	}, func(ctx context.Context, _ *Call, in *bulkInput) (BulkResults, error) {
		results := BulkResults{Results: make([]BulkResult, len(in.Body.Operations))}
		whole, _ := ctx.Value(keyedKey{}).(keyed)
		if len(whole.key) > mostBulkKey {
			return BulkResults{}, problem.Newf(http.StatusUnprocessableEntity, "", "%s has %d characters; at most %d are taken here", keyHeader, len(whole.key), mostBulkKey)
		}
		ctx = context.WithValue(ctx, keyedKey{}, nil)
		slots := make(chan struct{}, bulkParallel)
		var group sync.WaitGroup
		for i, each := range in.Body.Operations {
			if each.Key == "" && whole.key != "" {
				each.Key = whole.key + "/" + strconv.Itoa(i)
			}
			slots <- struct{}{}
			group.Go(func() {
				defer func() { <-slots }()
				results.Results[i] = a.isolated(ctx, each)
			})
		}
		group.Wait()
		results.Failed += lists.Count(results.Results, func(result BulkResult) bool { return result.Status >= http.StatusBadRequest })
		return results, nil
	})
}

func (a *API) isolated(ctx context.Context, each BulkRequest) BulkResult {
	result, err := survives(a.options.Logger, func(ctx context.Context) (BulkResult, error) { return a.single(ctx, each), nil })(ctx)
	if err != nil {
		refused := etag.NewAnswer(http.Header{})
		guard.Refuse(refused, problem.From(err))
		return BulkResult{Status: refused.Status, Body: bytes.TrimSpace(refused.Body.Bytes())}
	}
	return result
}

func (a *API) single(ctx context.Context, each BulkRequest) BulkResult {
	kept := etag.NewAnswer(http.Header{})
	r, err := http.NewRequestWithContext(ctx, each.Method, Prefix+each.Path, bytes.NewReader(each.Body))
	switch {
	case err != nil || !strings.HasPrefix(each.Path, "/"):
		guard.Refuse(kept, problem.Newf(http.StatusUnprocessableEntity, "", "%q is no path", each.Path))
	case !a.takesInBulk(r):
		guard.Refuse(kept, problem.Newf(http.StatusUnprocessableEntity, "", "%s %s is no operation of a bulk", each.Method, each.Path))
	default:
		if len(each.Body) > 0 {
			r.Header.Set("Content-Type", guard.JSON)
		}
		if each.Key != "" {
			r.Header.Set(keyHeader, each.Key)
		}
		a.operations().ServeHTTP(kept, r)
	}
	return BulkResult{Status: kept.Status, Body: bytes.TrimSpace(kept.Body.Bytes())}
}

func (c *catalog) takesInBulk(r *http.Request) bool {
	o, known := c.operationOf(r)
	return known && o.takesKeys()
}
