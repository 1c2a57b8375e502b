package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Formats of a detection's output.
const (
	formatLines = "lines"
	formatJSON  = "json"
)

// Values of `execute.progress`.
const (
	progressLines = "lines"
	progressNone  = "none"
)

const (
	defaultKillGrace = jobtype.Duration(10 * time.Second)
	maxKillGrace     = jobtype.Duration(time.Hour)
)

// settings is what both blocks have in common.
type settings struct {
	Command   []string          `json:"command"`
	Env       map[string]string `json:"env"`
	Dir       string            `json:"dir"`
	KillGrace *jobtype.Duration `json:"kill_grace"`
	ExitCodes struct {
		Success   []int `json:"success"`
		Permanent []int `json:"permanent"`
	} `json:"exit_codes"`

	// argv is a job's own command line; it takes the place of Command and has no
	// templates.
	argv []string
}

type detectSettings struct {
	settings
	Format string `json:"format"`
}

type executeSettings struct {
	settings
	Progress string `json:"progress"`
}

func (s settings) killGrace() time.Duration {
	if s.KillGrace == nil {
		return defaultKillGrace.Std()
	}
	return s.KillGrace.Std()
}

// succeeded reports whether an exit code is one of success.
func (s settings) succeeded(code int) bool {
	if len(s.ExitCodes.Success) == 0 {
		return code == 0
	}
	return slices.Contains(s.ExitCodes.Success, code)
}

func readDetect(data json.RawMessage) (detectSettings, error) {
	parsed := detectSettings{Format: formatLines}
	if err := decodeBlock("detect", data, &parsed); err != nil {
		return parsed, err
	}
	faults := parsed.faults("detect", detectFields)
	if parsed.Format != formatLines && parsed.Format != formatJSON {
		faults = append(faults, fmt.Errorf("detect.format: %q is none of lines, json", parsed.Format))
	}
	if len(parsed.ExitCodes.Permanent) > 0 {
		faults = append(faults, errors.New("detect.exit_codes.permanent: only jobs are retried, a detection is not; remove it"))
	}
	return parsed, errors.Join(faults...)
}

// readExecute reads the `execute:` block, which a job with a command line of its own
// need not have.
func readExecute(data json.RawMessage, argv []string) (executeSettings, error) {
	parsed := executeSettings{Progress: progressLines}
	if len(argv) == 0 || len(data) > 0 {
		if err := decodeBlock("execute", data, &parsed); err != nil {
			return parsed, err
		}
	}
	if len(argv) > 0 {
		parsed.Command, parsed.argv = nil, argv
	}
	faults := parsed.faults("execute", executeFields)
	if parsed.Progress != progressLines && parsed.Progress != progressNone {
		faults = append(faults, fmt.Errorf("execute.progress: %q is none of lines, none", parsed.Progress))
	}
	for _, code := range parsed.ExitCodes.Permanent {
		if parsed.succeeded(code) {
			faults = append(faults, fmt.Errorf("execute.exit_codes: %d cannot be both success and permanent", code))
		}
	}
	return parsed, errors.Join(faults...)
}

func (s settings) faults(block string, fields []string) []error {
	var faults []error
	if len(s.Command) == 0 && len(s.argv) == 0 {
		faults = append(faults, fmt.Errorf("%s.command: name a program, for example [find, /var/log, -name, \"*.log\"]", block))
	}
	if grace := jobtype.Duration(s.killGrace()); grace < 0 || grace > maxKillGrace {
		faults = append(faults, fmt.Errorf("%s.kill_grace: %s is out of range: use 0s to %s", block, grace, maxKillGrace))
	}
	for _, code := range slices.Concat(s.ExitCodes.Success, s.ExitCodes.Permanent) {
		if code < 0 || code > 255 {
			faults = append(faults, fmt.Errorf("%s.exit_codes: %d is no exit code: use 0 to 255", block, code))
		}
	}
	return append(faults, s.templateFaults(block, fields)...)
}

// decodeBlock refuses unknown keys: a misspelt one would be silently without
// effect.
func decodeBlock(block string, data json.RawMessage, into any) error {
	if len(bytes.TrimSpace(data)) == 0 || string(data) == "null" {
		return fmt.Errorf("%s: the command handler needs a `%s: {command: [...]}` block", block, block)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s: %w", block, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more than one JSON value", block)
	}
	return nil
}

// ValidateSettings implements [jobtype.SettingsValidator]: what the schemas
// cannot say, above all whether the templates parse and name what exists.
func (h *Handler) ValidateSettings(_, detect, execute json.RawMessage) error {
	_, detectErr := readDetect(detect)
	_, executeErr := readExecute(execute, nil)
	return errors.Join(detectErr, executeErr)
}
