package spec

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/roundsman/roundsman/internal/lib/launch"
)

//go:embed dag.schema.json
var dagSchema []byte

// Schema returns the JSON Schema (draft 2020-12) of a document, for editors. Load checks more.
func Schema() ([]byte, error) {
	var document map[string]any
	if err := json.Unmarshal(dagSchema, &document); err != nil {
		return nil, fmt.Errorf("read the schema of DAGs: %w", err)
	}
	for _, path := range [][]string{{"properties", "defaults", "properties"}, {"$defs", "task", "properties"}} {
		into := document
		for _, key := range path {
			into, _ = into[key].(map[string]any)
		}
		for key, schema := range launch.Schema() {
			into[key] = schema
		}
	}
	encoded, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema of DAGs: %w", err)
	}
	return append(encoded, '\n'), nil
}
