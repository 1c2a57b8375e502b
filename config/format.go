package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/roundsman/roundsman/jobtype"
)

const hidden = "(hidden)"

// Format prints the effective configuration as a valid one, with the API key hidden. output is "json" or "yaml".
func (c *Config) Format(output string) ([]byte, error) {
	encoded, err := json.Marshal(c.effective())
	if err != nil {
		return nil, fmt.Errorf("format the configuration: %w", err)
	}
	switch output {
	case "json":
		var indented bytes.Buffer
		if err := json.Indent(&indented, encoded, "", "  "); err != nil {
			return nil, fmt.Errorf("format the configuration: %w", err)
		}
		return append(indented.Bytes(), '\n'), nil
	case "yaml":
		return YAML(encoded)
	}
	return nil, fmt.Errorf("output %q is not known: use json or yaml", output)
}

type effectiveJobType struct {
	JobType

	Policy effectivePolicy `json:"policy"`
}

type effectiveConfig struct {
	Config

	JobTypes map[string]effectiveJobType `json:"job_types"`
}

func (c *Config) effective() effectiveConfig {
	printed := effectiveConfig{Config: *c, JobTypes: map[string]effectiveJobType{}}
	if printed.Temporal.APIKey != "" {
		printed.Temporal.APIKey = hidden
	}
	for name, declared := range c.JobTypes {
		printed.JobTypes[name] = effectiveJobType{JobType: declared, Policy: effectivePolicy(declared.Policy)}
	}
	return printed
}

// effectivePolicy encodes every setting, including zeros, in the order of jobtype.Policy.
type effectivePolicy jobtype.Policy

// MarshalJSON implements json.Marshaler.
func (p effectivePolicy) MarshalJSON() ([]byte, error) {
	values := reflect.ValueOf(jobtype.Policy(p))
	lines := make([]string, 0, values.NumField())
	for _, s := range policySettings() {
		encoded, err := json.Marshal(values.Field(s.index).Interface())
		if err != nil {
			return nil, fmt.Errorf("policy setting %s: %w", s.key, err)
		}
		lines = append(lines, fmt.Sprintf("%q:%s", s.key, encoded))
	}
	return []byte("{" + strings.Join(lines, ",") + "}"), nil
}

// YAML rewrites JSON as YAML. It parses JSON as YAML nodes, which keep the order of the keys.
func YAML(encoded []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(encoded, &document); err != nil {
		return nil, fmt.Errorf("format the configuration: %w", err)
	}
	unquote(&document)
	var buffer bytes.Buffer
	encoder := yaml.NewEncoder(&buffer)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return nil, fmt.Errorf("format the configuration: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("format the configuration: %w", err)
	}
	return buffer.Bytes(), nil
}

func unquote(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.Style = 0
	} else if len(n.Content) > 0 {
		n.Style = 0
	}
	for _, child := range n.Content {
		unquote(child)
	}
}
