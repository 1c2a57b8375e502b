package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/internal/lib/jsonout"
)

// encodeYAML writes the JSON of value as YAML: the same fields in the same order.
func encodeYAML(value any) ([]byte, error) {
	plain, err := jsonout.JSON(value, "")
	if err != nil {
		return nil, err //nolint:wrapcheck // answer wraps it
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	node, err := yamlNode(decoder)
	if err != nil {
		return nil, err
	}
	var encoded bytes.Buffer
	encoder := yaml.NewEncoder(&encoded)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return nil, err //nolint:wrapcheck // answer wraps it
	}
	return escapeUnsafeYAML(encoded.Bytes()), nil
}

func yamlNode(decoder *json.Decoder) (*yaml.Node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err //nolint:wrapcheck // answer wraps it
	}
	switch token := token.(type) {
	case json.Delim:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		if token == '{' {
			node.Kind = yaml.MappingNode
		}
		for decoder.More() { // The keys of an object are values like the others.
			inner, err := yamlNode(decoder)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, inner)
		}
		if len(node.Content) == 0 {
			node.Style = yaml.FlowStyle
		}
		_, err := decoder.Token()
		return node, err //nolint:wrapcheck // answer wraps it
	case string:
		return yamlString(token), nil
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(token.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: token.String()}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(token)}, nil
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
	return nil, io.ErrUnexpectedEOF
}

// Escapes work only in quotes, and YAML 1.1 reads some words as a bool.
func yamlString(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	old := slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(text))
	if old || strings.ContainsFunc(text, func(r rune) bool { return unsafe(r) && r != '\n' }) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

func escapeUnsafeYAML(encoded []byte) []byte {
	if !bytes.ContainsFunc(encoded, func(r rune) bool { return r > '~' && unsafe(r) }) {
		return encoded
	}
	var escaped bytes.Buffer
	for _, r := range string(encoded) {
		if r > '~' && unsafe(r) {
			fmt.Fprintf(&escaped, `\U%08x`, r)
			continue
		}
		escaped.WriteRune(r)
	}
	return escaped.Bytes()
}
