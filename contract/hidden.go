package contract

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Hidden stands for a secret value.
const Hidden = "(hidden)"

// envKey is the setting whose values are secrets: the environment of a program.
const envKey = "env"

// HidesPath reports whether the value of a setting, such as execute.env.TOKEN, is a secret.
func HidesPath(path string) bool {
	return strings.Contains(path+".", "."+envKey+".")
}

// HideEnv replaces the values below every key env by [Hidden]. References to secrets stay.
func HideEnv(block json.RawMessage) json.RawMessage {
	return overEnv(block, nil, func(value any, _ map[string]any, _ string) any {
		if _, reference := value.(map[string]any); reference {
			return value
		}
		return Hidden
	})
}

// RevealEnv replaces every [Hidden] by the value of another block, and returns the paths missing there.
func RevealEnv(block, other json.RawMessage) (revealed json.RawMessage, missing []string) {
	revealed = overEnv(block, other, func(value any, values map[string]any, name string) any {
		if value != Hidden {
			return value
		}
		if value, known := values[name]; known {
			return value
		}
		missing = append(missing, envKey+"."+name)
		return Hidden
	})
	return revealed, missing
}

// known has the values that other has at the same place.
func overEnv(block, other json.RawMessage, instead func(value any, known map[string]any, name string) any) json.RawMessage {
	if !bytes.Contains(block, []byte(envKey)) {
		return block
	}
	read, readOther := numbered(block), numbered(other)
	replaceEnv(read, readOther, instead)
	text, err := json.Marshal(read)
	if err != nil || read == nil {
		return block // It is no JSON, so it has no key.
	}
	return text
}

func numbered(block json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(block))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

func replaceEnv(value, other any, instead func(any, map[string]any, string) any) {
	switch value := value.(type) {
	case map[string]any:
		others, _ := other.(map[string]any)
		for key, inner := range value {
			variables, isObject := inner.(map[string]any)
			if key != envKey || !isObject {
				replaceEnv(inner, others[key], instead)
				continue
			}
			known, _ := others[key].(map[string]any)
			for name, value := range variables {
				variables[name] = instead(value, known, name)
			}
		}
	case []any:
		others, _ := other.([]any)
		for i, inner := range value {
			var same any
			if i < len(others) {
				same = others[i]
			}
			replaceEnv(inner, same, instead)
		}
	}
}

// WithoutSecrets is the job type with its secret values hidden.
func (s JobTypeSpec) WithoutSecrets() JobTypeSpec {
	s.Detect, s.Execute = HideEnv(s.Detect), HideEnv(s.Execute)
	return s
}

// HiddenPaths lists the settings whose value is [Hidden]. A job type with one cannot run.
func (s JobTypeSpec) HiddenPaths() []string {
	_, hidden := s.WithSecretsOf(JobTypeSpec{})
	slices.Sort(hidden)
	return hidden
}

// WithSecretsOf replaces hidden values by those of another version, and returns the paths missing there.
func (s JobTypeSpec) WithSecretsOf(other JobTypeSpec) (JobTypeSpec, []string) {
	var missing, more []string
	s.Detect, missing = RevealEnv(s.Detect, other.Detect)
	s.Execute, more = RevealEnv(s.Execute, other.Execute)
	for i := range missing {
		missing[i] = "detect." + missing[i]
	}
	for _, path := range more {
		missing = append(missing, "execute."+path)
	}
	return s, missing
}
