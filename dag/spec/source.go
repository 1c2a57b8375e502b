package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ParamError is the reason why a value cannot replace a param of a spec.
type ParamError struct {
	Key, Message string
}

func (e *ParamError) Error() string { return "params." + e.Key + ": " + e.Message }

// SetParams replaces declared params. Text is parsed as JSON unless the declared value is text or null. After a
// [*ParamError] nothing is replaced.
func (s *Spec) SetParams(params map[string]any) error {
	values, faults := make(map[string]any, len(params)), []error(nil)
	for _, key := range sortedKeys(params) {
		declared, ok := s.Params[key]
		if !ok {
			hint := "it declares no params"
			if len(s.Params) > 0 {
				hint = suggestion(key, sortedKeys(s.Params))
			}
			faults = append(faults, &ParamError{key, fmt.Sprintf("DAG %s has no such param; %s", s.Name, hint)})
			continue
		}
		value, err := likeDeclared(declared, params[key])
		if err != nil {
			faults = append(faults, &ParamError{key, err.Error()})
			continue
		}
		values[key] = value
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	for _, key := range sortedKeys(values) {
		s.Params[key] = values[key]
	}
	return nil
}

// SetParamsJSON is [Spec.SetParams] with a JSON object, whose numbers keep their spelling.
func (s *Spec) SetParamsJSON(params json.RawMessage) error {
	if len(bytes.TrimSpace(params)) == 0 {
		return nil
	}
	var values map[string]any
	if err := decodeJSON(params, &values); err != nil {
		return fmt.Errorf("the params of DAG %s: %w", s.Name, err)
	}
	return s.SetParams(values)
}

// CompileText compiles a document that travels with its sub-DAG files. params is a JSON object.
func CompileText(name, text string, files map[string]string, params json.RawMessage) (*Compiled, error) {
	loaded, err := Load(name, []byte(text))
	if err != nil {
		return nil, err
	}
	if err := loaded.SetParamsJSON(params); err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return Compile(loaded, nil)
	}
	return Compile(loaded, texts(files))
}

type texts map[string]string

// ReadFile implements [Files].
func (t texts) ReadFile(name string) ([]byte, error) {
	text, ok := t[name]
	if !ok {
		return nil, fmt.Errorf("%s does not travel with the spec", name)
	}
	return []byte(text), nil
}
