package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Value is a text, or where the worker finds a secret for each attempt. At most one field is set.
type Value struct {
	Text string `json:"-"`
	// A path, a credential of systemd, or a program that prints the secret.
	File       string   `json:"file,omitempty"`
	Credential string   `json:"credential,omitempty"`
	Command    []string `json:"command,omitempty"`
}

// Secret reports whether the value is a reference to a secret.
func (v Value) Secret() bool { return v.File != "" || v.Credential != "" || len(v.Command) > 0 }

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Value) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &v.Text) == nil {
		return nil
	}
	type plain Value
	if err := Strict(data, (*plain)(v)); err != nil {
		return fmt.Errorf("%s: %w", forms, err)
	}
	if !v.Secret() {
		return errors.New(forms)
	}
	return nil
}

const forms = "a value is text, {file: PATH}, {credential: NAME} or {command: [PROGRAM, …]}"

// MarshalJSON implements [json.Marshaler].
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Secret() {
		return json.Marshal(v.Text)
	}
	type plain Value
	return json.Marshal(plain(v))
}

func (v Value) mapped(path string, change func(path, text string) string) Value {
	switch {
	case v.File != "":
		v.File = change(path+".file", v.File)
	case v.Credential != "":
		v.Credential = change(path+".credential", v.Credential)
	case len(v.Command) > 0:
		v.Command = mapAll(path+".command", v.Command, change)
	default:
		v.Text = change(path, v.Text)
	}
	return v
}

func (v Value) fault() error {
	given := lists.Count([]bool{v.File != "", v.Credential != "", len(v.Command) > 0}, func(is bool) bool { return is })
	switch {
	case given > 1:
		return errors.New("write one of file, credential and command")
	case v.File != "" && !strings.HasPrefix(v.File, "/") && !strings.HasPrefix(v.File, "{{"):
		return fmt.Errorf("file: %q is not an absolute path", v.File)
	case strings.Contains(v.Credential, "/") && !strings.Contains(v.Credential, "{{"):
		return fmt.Errorf("credential: %q is no name: it has a slash", v.Credential)
	case len(v.Command) > 0 && v.Command[0] == "":
		return errors.New("command: names no program")
	}
	return nil
}
