package launch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/lib/rlimit"
	"github.com/roundsman/roundsman/jobtype"
)

const (
	// DefaultKillGrace is the default time between SIGTERM and SIGKILL.
	DefaultKillGrace = jobtype.Duration(10 * time.Second)
	// MaxKillGrace bounds it.
	MaxKillGrace = jobtype.Duration(time.Hour)

	maxExitCode = 255
)

// Spec is how a program is started and how its exit code is read. An empty field keeps the worker's value.
type Spec struct {
	// Names or numbers. Groups are supplementary groups in addition to those of the user.
	User   string   `json:"user,omitempty"`
	Group  string   `json:"group,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Dir is the working directory; "~" is the home directory of the user.
	Dir string           `json:"dir,omitempty"`
	Env map[string]Value `json:"env,omitempty"`
	// Files of variables, which replace those of Env. A path that begins with "-" may be missing.
	EnvFile Texts `json:"env_file,omitempty"`
	// Octal digits; a priority from -20 to 19; a class of ionice with a level, such as "best-effort:7".
	Umask  string `json:"umask,omitempty"`
	Nice   *int   `json:"nice,omitempty"`
	IONice string `json:"ionice,omitempty"`
	// Stdin is the standard input: empty or "params", "none", "file:PATH" or "data:TEXT".
	Stdin  string        `json:"stdin,omitempty"`
	Output Output        `json:"output,omitzero"`
	Limits rlimit.Limits `json:"limits,omitzero"`
	// Artifacts are patterns of files that are kept after the end of the program.
	Artifacts Texts `json:"artifacts,omitempty"`
	// KillGrace is the time between SIGTERM and SIGKILL; nil: [DefaultKillGrace].
	KillGrace *jobtype.Duration `json:"kill_grace,omitempty"`
	ExitCodes ExitCodes         `json:"exit_codes,omitzero"`
	Guard     Guard             `json:"guard,omitzero"`
	Hooks     Hooks             `json:"hooks,omitzero"`
}

// ExitCodes sorts the exit codes of a program. Every code that is not listed is a failure.
type ExitCodes struct {
	// Success lists the codes of success; empty: 0.
	Success []int `json:"success,omitempty"`
	// Warning lists the codes of work that was done and that a person should look at.
	Warning []int `json:"warning,omitempty"`
	// Permanent lists the failures that no retry repairs.
	Permanent []int `json:"permanent,omitempty"`
	// Defer has the codes of "not now", each with the time until the next attempt.
	Defer map[int]jobtype.Duration `json:"defer,omitempty"`
}

// Succeeded reports whether a code is one of success.
func (e ExitCodes) Succeeded(code int) bool {
	if len(e.Success) == 0 {
		return code == 0
	}
	return slices.Contains(e.Success, code)
}

// Warned reports whether a code is one of a warning.
func (e ExitCodes) Warned(code int) bool { return slices.Contains(e.Warning, code) }

// Grace returns the time between SIGTERM and SIGKILL.
func (s Spec) Grace() time.Duration {
	return cmp.Or(s.KillGrace, new(DefaultKillGrace)).Std()
}

// SwitchesUser reports whether the program may run as somebody else than the worker.
func (s Spec) SwitchesUser() bool { return s.User != "" || s.Group != "" || len(s.Groups) > 0 }

// Decode reads the keys of a Spec from JSON and refuses any other. An empty text is an empty Spec.
func Decode(data json.RawMessage) (Spec, error) {
	var s Spec
	if len(bytes.TrimSpace(data)) == 0 {
		return s, nil
	}
	return s, Strict(data, &s)
}

// Strict decodes one JSON value without unknown keys: a misspelled key would have no effect.
func Strict(data json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("%s must be %s, not %s", wrong.Field, kind(wrong.Type), wrong.Value)
		}
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

func kind(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Int:
		return "a whole number"
	}
	return "text"
}

// Map returns a copy with each text replaced by the result of change, in a fixed order. path is like "env.PGHOST".
func (s Spec) Map(change func(path, text string) string) Spec {
	s.User, s.Group = change("user", s.User), change("group", s.Group)
	s.Groups = mapAll("groups", s.Groups, change)
	s.Dir = change("dir", s.Dir)
	if s.Env != nil {
		env := make(map[string]Value, len(s.Env))
		for _, key := range slices.Sorted(maps.Keys(s.Env)) {
			env[key] = s.Env[key].mapped("env."+key, change)
		}
		s.Env = env
	}
	s.EnvFile = mapAll("env_file", s.EnvFile, change)
	s.Stdin = change("stdin", s.Stdin)
	s.Artifacts = mapAll("artifacts", s.Artifacts, change)
	s.Guard.Command = mapAll("guard.command", s.Guard.Command, change)
	s.Hooks = s.Hooks.mapped(change)
	return s
}

func mapAll(path string, texts []string, change func(path, text string) string) []string {
	changed := slices.Clone(texts)
	for k, text := range texts {
		changed[k] = change(fmt.Sprintf("%s[%d]", path, k), text)
	}
	return changed
}

// Faults returns every fault of the keys, with the path of the key first. Texts may be templates.
func (s Spec) Faults() []error {
	var faults []error
	if grace := jobtype.Duration(s.Grace()); grace < 0 || grace > MaxKillGrace {
		faults = append(faults, fmt.Errorf("kill_grace: %s is out of range: use 0s to %s", grace, MaxKillGrace))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		if key == "" || strings.ContainsAny(key, "=\x00") {
			faults = append(faults, fmt.Errorf("env: %q is no name of a variable", key))
		}
		if err := s.Env[key].fault(); err != nil {
			faults = append(faults, fmt.Errorf("env.%s: %w", key, err))
		}
	}
	faults = append(faults, s.settingFaults()...)
	faults = slices.Concat(faults, s.Guard.faults(), s.Hooks.faults())
	return append(faults, s.ExitCodes.faults()...)
}

func (e ExitCodes) faults() []error {
	var faults []error
	meaning := map[int]string{}
	list := func(name string, codes []int) {
		for _, code := range codes {
			if code < 0 || code > maxExitCode {
				faults = append(faults, fmt.Errorf("exit_codes: %d is no exit code: use 0 to %d", code, maxExitCode))
			}
			if other := meaning[code]; other != "" && other != name {
				faults = append(faults, fmt.Errorf("exit_codes: %d cannot be both %s and %s", code, other, name))
			}
			meaning[code] = name
		}
	}
	success := e.Success
	if len(success) == 0 {
		success = []int{0}
	}
	list("success", success)
	list("warning", e.Warning)
	list("permanent", e.Permanent)
	list("defer", slices.Sorted(maps.Keys(e.Defer)))
	for _, code := range slices.Sorted(maps.Keys(e.Defer)) {
		if fault := waitFault(e.Defer[code]); fault != nil {
			faults = append(faults, fmt.Errorf("exit_codes.defer.%d: %w", code, fault))
		}
	}
	return faults
}

// Describe returns the user and the groups in words.
func (s Spec) Describe() string {
	var parts []string
	if s.User != "" {
		parts = append(parts, "user "+s.User)
	}
	if s.Group != "" {
		parts = append(parts, "group "+s.Group)
	}
	if len(s.Groups) > 0 {
		parts = append(parts, "groups "+strings.Join(s.Groups, ", "))
	}
	return strings.Join(parts, ", ")
}
