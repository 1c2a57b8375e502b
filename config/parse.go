package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// People write configurations: a larger file is the wrong one or hostile.
const maxFileBytes = 1 << 20

// parse parses one file to a tree. It returns nil if no part is usable; the faults are then not empty.
func parse(file string, data []byte) (*yamlread.Node, Faults) {
	const begin = "it begins with `version: 1`, see docs/configuration.md"
	root, found := yamlread.Read(file, data, yamlread.Options{
		Bytes: maxFileBytes, MergeKeys: true, TooLarge: "is this a configuration?", Empty: begin,
	})
	var faults Faults
	for _, f := range found {
		faults = append(faults, Fault{File: file, Line: f.Line, Column: f.Column, Path: f.Path, Message: f.Message})
	}
	if root != nil && root.Kind != yamlread.Object {
		return nil, append(faults, faultAt(root.Place(), "", fmt.Sprintf("the file holds %s, not keys and values: %s", root.Kind, begin)))
	}
	return root, faults
}

func faultAt(at yamlread.Place, path, message string) Fault {
	return Fault{File: at.File, Line: at.Line, Column: at.Column, Path: path, Message: message}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// canonicalJSON encodes with sorted keys and without HTML escaping, so equal values give equal bytes.
func canonicalJSON(value any) (json.RawMessage, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode as JSON: %w", err)
	}
	return bytes.TrimRight(buffer.Bytes(), "\n"), nil
}
