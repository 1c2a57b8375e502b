package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/engine/access"
)

func walk(document *huma.OpenAPI, visit func(path, method string, operation *huma.Operation)) {
	for path, item := range document.Paths {
		for method, operation := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
		} {
			if operation != nil {
				visit(path, method, operation)
			}
		}
	}
}

// Every operation of the document declares its permission.
func TestEveryOperationDeclaresItsPermission(t *testing.T) {
	t.Parallel()
	described := 0
	built := api.New(api.Options{})
	walk(built.OpenAPI(), func(path, method string, operation *huma.Operation) {
		described++
		written, _ := operation.Extensions[api.PermissionExtension].(string)
		permission, err := access.ParsePermission(written)
		require.NoError(t, err, "%s %s", method, path)
		assert.NotEqual(t, access.Verb(access.Any), permission.Verb, path)
		if o := built.Operations()[operation.OperationID]; !o.Writes() || o.Bulk {
			assert.Contains(t, []access.Verb{access.View, access.Work}, permission.Verb, "%s %s reads", method, path)
		} else {
			assert.NotEqual(t, access.View, permission.Verb, "%s %s writes", method, path)
		}
		assert.NotEmpty(t, operation.Summary, path)
		assert.False(t, strings.HasSuffix(operation.Summary, "."), path)
	})
	assert.Greater(t, described, 25)
}

func TestAnOperationWithoutAPermissionDoesNotStart(t *testing.T) {
	t.Parallel()
	assert.PanicsWithValue(t, "operation odd declares no permission", func() {
		api.New(api.Options{Extra: []func(*api.API){func(a *api.API) {
			api.Add(a, api.Operation{ID: "odd", Method: http.MethodGet, Path: "/odd"}, nothing)
		}}})
	})
}
