package rest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/internal/edge/gateway/rest"
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
