package rest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/auth"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/gateway/rest"
	"github.com/roundsman/roundsman/internal/engine/access"
)

func TestWorkersPaths(t *testing.T) {
	t.Parallel()
	seen := ""
	served := rest.Workers("/api/v1", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.URL.String() }))
	for from, to := range map[string]string{
		"/workers":                      "/api/v1/workers",
		"/workers/register":             "/api/v1/workers/register",
		"/workers?findDeleted=true":     "/api/v1/workers?findDeleted=true",
		"/workers/x/jobs?status=polled": "/api/v1/workers/x/jobs?status=polled",
		"/workersmore":                  "/workersmore",
		"/api/v1/workers/x/jobs:poll":   "/api/v1/workers/x/jobs:poll",
		"/workers/x/function-blocks":    "/api/v1/workers/x/function-blocks",
		"/console/workers":              "/console/workers",
	} {
		served.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, from, nil))
		assert.Equal(t, to, seen, from)
	}
}

// bearers are workers with all handlers, authenticated by any Authorization header.
type bearers struct{}

func (bearers) Authenticate(r *http.Request) (api.Caller, error) {
	var roles access.Policy
	return api.Caller{Name: "x", Auth: r.Header.Get("Authorization"), Worker: "far", Rights: roles.Grant(access.Worker, nil, nil)}, nil
}

// TestATokenDoesNotRegister: it has no limit of handlers, but the key behind it may have one.
func TestATokenDoesNotRegister(t *testing.T) {
	t.Parallel()
	handler := api.New(api.Options{Auth: bearers{}, Bare: true, Extra: []func(*api.API){rest.Protocol(nil)}}).Handler()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, api.Prefix+"/workers/register", strings.NewReader(`{"capabilities":[{"handler":"command"}]}`))
	r.Host = "localhost"
	r.Header = http.Header{"Authorization": {auth.ByWorker}, "Content-Type": {"application/json"}}
	refused := httptest.NewRecorder()
	handler.ServeHTTP(refused, r)
	assert.Equal(t, http.StatusForbidden, refused.Code)
	assert.Contains(t, refused.Body.String(), problem.CodeAccessDenied)
}
