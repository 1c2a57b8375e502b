package config_test

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/jobtype"
)

func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/configuration.md")
	require.NoError(t, err)
	return string(text)
}

// Every example of the reference is a valid configuration.
func TestDocumentedExamplesLoad(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(documentation(t), -1)
	require.NotEmpty(t, blocks)
	command := jobtype.Descriptor{Name: "command", DetectSettings: json.RawMessage(`{}`), ExecuteSettings: json.RawMessage(`{}`), Batches: true}
	for _, block := range blocks {
		loaded, err := loadWith(block[1], func(o *config.Options) { o.Handlers, o.Sources[0].Dir = []jobtype.Descriptor{command}, "../examples" })
		require.NoError(t, err, block[1])
		assert.Empty(t, loaded.Warnings, block[1])
	}
}

// Every policy setting has a row with its default.
func TestEveryPolicySettingIsDocumented(t *testing.T) {
	t.Parallel()
	text, defaults := documentation(t), reflect.ValueOf(jobtype.DefaultPolicy())
	for i := range defaults.NumField() {
		key, _, _ := strings.Cut(defaults.Type().Field(i).Tag.Get("json"), ",")
		row := regexp.MustCompile("(?m)^\\| `" + key + "` \\| (.*?) \\|").FindStringSubmatch(text)
		require.NotNil(t, row, key)
		switch key {
		case "stall_timeout", "stop_after", "catchup_window":
			continue // follow another setting
		}
		encoded, err := json.Marshal(defaults.Field(i).Interface())
		require.NoError(t, err)
		assert.Equal(t, "`"+strings.Trim(string(encoded), `"`)+"`", row[1], key)
	}
}

// Every key in the schema is documented.
func TestEveryKeyIsDocumented(t *testing.T) {
	t.Parallel()
	text := documentation(t)
	encoded, err := config.Schema(nil)
	require.NoError(t, err)
	var schema any
	require.NoError(t, json.Unmarshal(encoded, &schema))
	var walk func(value any)
	walk = func(value any) {
		object, ok := value.(map[string]any)
		if !ok {
			return
		}
		if properties, ok := object["properties"].(map[string]any); ok {
			for key := range properties {
				assert.Regexp(t, "`([a-z_]+\\.)?"+key+"`", text, key)
			}
		}
		for _, child := range object {
			walk(child)
		}
	}
	walk(schema)
}
