package inspect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/action"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/starter/explainer"
)

func source(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", "..", ".."}, path...)...))
	require.NoError(t, err)
	return string(text)
}

// pagesOf lists the operations with a page in the console.
func pagesOf(t *testing.T) map[string]bool {
	t.Helper()
	_, table, found := strings.Cut(source(t, "web", "src", "remedies.tsx"), "const pages:")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n};")
	pages := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^  '?([a-z-]+)'?: `).FindAllStringSubmatch(table, -1) {
		pages[line[1]] = true
	}
	require.NotEmpty(t, pages)
	return pages
}

// schemas returns the schemas of the API document by name.
func schemas(t *testing.T) map[string]map[string]any {
	t.Helper()
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any `yaml:"properties"`
			} `yaml:"schemas"`
		} `yaml:"components"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(source(t, "docs", "openapi.yaml")), &document))
	found := map[string]map[string]any{}
	for name, schema := range document.Components.Schemas {
		found[name] = schema.Properties
	}
	return found
}

// fieldsOf returns the field names of a value as JSON.
func fieldsOf(t *testing.T, value any) (names []string) {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	fields := map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal(text, &fields))
	for name := range fields {
		names = append(names, name)
	}
	return names
}

// TestEveryCodeIsOnEverySurface: the command line, the API, the console and the documents have each code and
// its actions.
func TestEveryCodeIsOnEverySurface(t *testing.T) {
	t.Parallel()
	var reasons []explain.Reason
	require.NoError(t, json.Unmarshal([]byte(source(t, "internal", "engine", "explain", "testdata", "reasons.json")), &reasons))
	codes := make([]contract.Code, len(reasons))
	for i, reason := range reasons {
		codes[i] = reason.Code
	}
	assert.Equal(t, explain.Codes(), codes)
	pages, api, docs := pagesOf(t), schemas(t), source(t, "docs", "explain.md")
	for _, reason := range reasons {
		t.Run(string(reason.Code), func(t *testing.T) {
			t.Parallel()
			text := printed(80, explainer.Explanation{Kind: "run", Name: "x", State: "waiting", Reasons: []explain.Reason{reason}})
			assert.Contains(t, text, "\n"+string(reason.Code), "the text of explain")
			for _, field := range fieldsOf(t, reason) {
				assert.Contains(t, api["ExplainReason"], field, "the API")
			}
			assert.Contains(t, docs, "| `"+string(reason.Code)+"` |", "docs/explain.md")
			changes := false
			for _, one := range reason.Actions {
				assert.Contains(t, text, "`"+one.Command+"`", "a command in one piece")
				for _, field := range fieldsOf(t, one) {
					assert.Contains(t, api["Action"], field, "the API")
				}
				switch {
				case one.Request == nil:
					assert.NotEmpty(t, action.Shell(one.Operation), "the console shows the line: the reason")
				case one.Reads():
					assert.True(t, pages[string(one.Operation)], "web/src/remedies.tsx: a page for %s", one.Operation)
				default:
					assert.NotEmpty(t, one.Label, "the button")
					assert.NotEmpty(t, one.Effect, "the dialog")
				}
				changes = changes || one.Request != nil && !one.Reads()
			}
			assert.True(t, changes || reason.Actor != "", "a button, or who can change the state")
		})
	}
}
