package config_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/jobtype"
)

// Messages do not require knowledge of JSON Schema.
func TestSchemaFaultsAreSaidPlainly(t *testing.T) {
	t.Parallel()
	schema := `{"type": "object", "properties": {
		"few": {"type": "array", "minItems": 2}, "many": {"type": "array", "maxItems": 1},
		"empty": {"type": "string", "minLength": 1}, "short": {"type": "string", "minLength": 3}, "long": {"type": "string", "maxLength": 2}}}`
	text := `version: 1
job_types:
  a:
    handler: sweep
    schedule: {every: 1h}
    params: {few: [x], many: [x, y], empty: "", short: ab, long: abc}
`
	_, err := loadWith(text, func(o *config.Options) {
		o.Handlers = []jobtype.Descriptor{{Name: "sweep", Params: json.RawMessage(schema)}}
	})
	for _, said := range []string{
		"params.few: has 1 entries, and needs 2 or more", "params.many: has 2 entries, and may have 1", "params.empty: must not be empty",
		"params.short: has 2 characters, and needs 3 or more", "params.long: has 3 characters, and may have 2",
	} {
		require.ErrorContains(t, err, said)
	}
}
