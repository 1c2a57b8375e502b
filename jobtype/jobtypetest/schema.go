package jobtypetest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/roundsman/roundsman/jobtype"
)

// CheckSchemas compiles the schemas and validates the given blocks. A missing block is nil.
func CheckSchemas(descriptor jobtype.Descriptor, params, detect, execute json.RawMessage) error {
	if err := checkSchema("params", descriptor.Params, params, true); err != nil {
		return err
	}
	if err := checkSchema("detect", descriptor.DetectSettings, detect, false); err != nil {
		return err
	}
	return checkSchema("execute", descriptor.ExecuteSettings, execute, false)
}

// checkSchema validates one block. A missing schema accepts any params (free), but no settings.
func checkSchema(block string, schema, value json.RawMessage, free bool) error {
	if len(schema) == 0 {
		if len(value) > 0 && !free {
			return fmt.Errorf("the handler takes no `%s:` block", block)
		}
		return nil
	}
	compiled, err := compileSchema(block, schema)
	if err != nil {
		return err
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(orEmpty(value)))
	if err != nil {
		return fmt.Errorf("%s is not JSON: %w", block, err)
	}
	if err := compiled.Validate(instance); err != nil {
		return fmt.Errorf("%s does not match the handler's schema: %w", block, err)
	}
	return nil
}

func compileSchema(block string, schema json.RawMessage) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("the schema of %s is not JSON: %w", block, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // a schema stands alone: no files, no network
	location := "roundsman:///" + block
	if err := compiler.AddResource(location, document); err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", block, err)
	}
	compiled, err := compiler.Compile(location)
	if err != nil {
		return nil, fmt.Errorf("the schema of %s does not compile: %w", block, err)
	}
	return compiled, nil
}
