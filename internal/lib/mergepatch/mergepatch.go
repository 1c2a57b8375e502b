// Package mergepatch applies JSON merge patches (RFC 7396). It keeps numbers as written and the order of keys.
package mergepatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

type field struct {
	key   string
	value json.RawMessage
}

// Over applies a patch. A null removes a key, an object is merged, any other value replaces.
func Over(document, patch json.RawMessage) (json.RawMessage, error) {
	changes, isObject, err := fields(patch)
	if err != nil {
		return nil, fmt.Errorf("the patch is no JSON: %w", err)
	}
	if !isObject {
		return nil, errors.New("the patch must be an object of settings")
	}
	return merge(document, changes, 1)
}

// Bounds of a patch: each level reads the rest of the text again, and each key is searched.
const (
	maxDepth = 64
	maxKeys  = 5000
)

func merge(document json.RawMessage, changes []field, depth int) (json.RawMessage, error) {
	switch {
	case depth > maxDepth:
		return nil, fmt.Errorf("the patch is nested deeper than %d objects: send a document instead", maxDepth)
	case len(changes) > maxKeys:
		return nil, fmt.Errorf("the patch has more than %d keys in one object: send a document instead", maxKeys)
	}
	merged, _, err := fields(document)
	if err != nil {
		return nil, fmt.Errorf("the document is no JSON: %w", err)
	}
	for _, change := range changes {
		at := -1
		for i := range merged {
			if merged[i].key == change.key {
				at = i
			}
		}
		if bytes.Equal(change.value, []byte("null")) {
			if at >= 0 {
				merged = append(merged[:at:at], merged[at+1:]...)
			}
			continue
		}
		var before json.RawMessage
		if at >= 0 {
			before = merged[at].value
		} else {
			at, merged = len(merged), append(merged, field{key: change.key})
		}
		merged[at].value = change.value
		if inner, isObject, err := fields(change.value); err != nil {
			return nil, err
		} else if isObject {
			if merged[at].value, err = merge(before, inner, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return encode(merged)
}

func fields(text json.RawMessage) (list []field, isObject bool, err error) {
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' {
		if len(text) > 0 && !json.Valid(text) {
			return nil, false, errors.New("invalid text")
		}
		return nil, false, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if _, err = decoder.Token(); err != nil {
		return nil, false, err //nolint:wrapcheck // the caller adds the name
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, false, err //nolint:wrapcheck // as above
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, false, err //nolint:wrapcheck // as above
		}
		name, _ := key.(string)
		list = append(list, field{name, value})
	}
	if _, err = decoder.Token(); err != nil {
		return nil, false, err //nolint:wrapcheck // as above
	}
	return list, true, nil
}

func encode(list []field) (json.RawMessage, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, f := range list {
		if i > 0 {
			text.WriteByte(',')
		}
		key, err := json.Marshal(f.key)
		if err != nil {
			return nil, fmt.Errorf("encode key %q: %w", f.key, err)
		}
		text.Write(key)
		text.WriteByte(':')
		text.Write(f.value)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}
