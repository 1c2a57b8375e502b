package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/internal/engine/action"
)

// Method, path and permission of each action are those of its operation, and its body has the operation's
// fields.
func TestActionsAreOperationsOfTheAPI(t *testing.T) {
	t.Parallel()
	made, err := app.APIDocument(false)
	require.NoError(t, err)
	var document struct {
		Paths map[string]map[string]struct {
			ID   string `yaml:"operationId"`
			May  string `yaml:"x-roundsman-permission"`
			Body *struct {
				Content map[string]struct {
					Schema struct {
						Ref string `yaml:"$ref"`
					} `yaml:"schema"`
				} `yaml:"content"`
			} `yaml:"requestBody"`
		} `yaml:"paths"`
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `yaml:"properties"`
			} `yaml:"schemas"`
		} `yaml:"components"`
	}
	require.NoError(t, yaml.Unmarshal(made, &document))
	for _, operation := range action.Operations() {
		a := action.New(operation, nil)
		if a.Request == nil {
			continue
		}
		// The API names a path's arguments like the table.
		found := document.Paths[a.Request.Path][strings.ToLower(a.Request.Method)]
		assert.Equal(t, string(operation), found.ID, "%s %s", a.Request.Method, a.Request.Path)
		assert.Equal(t, found.May, a.Permission, operation)
		for _, in := range a.Inputs {
			if in.Body == "" {
				assert.True(t, strings.Contains(a.Request.Path, "{"+in.Name+"}") || a.Request.Method == http.MethodGet || operation == action.SetRun, "%s: %s", operation, in.Name)
				continue
			}
			if assert.NotNil(t, found.Body, operation) {
				schema := strings.TrimPrefix(found.Body.Content["application/json"].Schema.Ref, "#/components/schemas/")
				assert.Contains(t, document.Components.Schemas[schema].Properties, in.Body, operation)
			}
		}
	}
}
