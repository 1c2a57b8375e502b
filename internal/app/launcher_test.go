package app

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The settings for Temporal's CLI are those of roundsman-devserver in the table of docs/devserver.md.
func TestTemporalCLIGetsTheDocumentedSettings(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/devserver.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "## Dynamic configuration")
	require.True(t, found)
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\| .*? \\| (.*?) \\|").FindAllStringSubmatch(section, -1) {
		for _, key := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			documented[key[1]] = row[2]
		}
	}
	require.Greater(t, len(documented), 10)

	given := map[string]string{}
	args := startDevArgs(DevServer{})
	for i, arg := range args {
		if arg != "--dynamic-config-value" {
			continue
		}
		key, value, _ := strings.Cut(args[i+1], "=")
		require.True(t, json.Valid([]byte(value)), "%s: the CLI reads values as JSON", args[i+1])
		given[key] = strings.Trim(value, `"`)
	}
	assert.Equal(t, "true", given["frontend.ListWorkersEnabled"], "older servers need it")
	delete(given, "frontend.ListWorkersEnabled")
	assert.Equal(t, documented, given)
}
