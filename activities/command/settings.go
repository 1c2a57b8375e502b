package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/roundsman/roundsman/internal/lib/launch"
)

const (
	formatLines = "lines"
	formatJSON  = "json"
)

const (
	progressLines = "lines"
	progressNone  = "none"
)

type settings struct {
	Command []string `json:"command"`
	// Shell is the script of a bash, in place of Command.
	Shell string `json:"shell"`
	launch.Spec

	// argv is a job's own command line, without templates; it replaces Command.
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
	if len(parsed.ExitCodes.Defer) > 0 || len(parsed.Guard.Command) > 0 || len(parsed.Hooks.All()) > 0 {
		faults = append(faults, errors.New("detect: exit_codes.defer, guard and hooks are for jobs; remove them, or set detection_retries"))
	}
	return parsed, errors.Join(faults...)
}

// A job with its own command line needs no block.
func readExecute(data json.RawMessage, argv []string) (executeSettings, error) {
	parsed := executeSettings{Progress: progressLines}
	if len(argv) == 0 || len(data) > 0 {
		if err := decodeBlock("execute", data, &parsed); err != nil {
			return parsed, err
		}
	}
	if len(argv) > 0 {
		parsed.Command, parsed.Shell, parsed.argv = nil, "", argv
	}
	faults := parsed.faults("execute", executeFields)
	if parsed.Progress != progressLines && parsed.Progress != progressNone {
		faults = append(faults, fmt.Errorf("execute.progress: %q is none of lines, none", parsed.Progress))
	}
	return parsed, errors.Join(faults...)
}

func (s settings) faults(block string, fields []string) []error {
	var faults []error
	switch {
	case s.Shell != "" && len(s.Command) > 0:
		faults = append(faults, fmt.Errorf("%s.shell: write command or shell, not both", block))
	case s.Shell == "" && len(s.Command) == 0 && len(s.argv) == 0:
		faults = append(faults, fmt.Errorf("%s.command: name a program, for example [find, /var/log, -name, \"*.log\"], or write shell with a script", block))
	}
	for _, err := range s.Spec.Faults() {
		faults = append(faults, fmt.Errorf("%s.%w", block, err))
	}
	return append(faults, s.templateFaults(block, fields)...)
}

// decodeBlock refuses unknown keys: a misspelt one would be silently without effect.
func decodeBlock(block string, data json.RawMessage, into any) error {
	if len(bytes.TrimSpace(data)) == 0 || string(data) == "null" {
		return fmt.Errorf("%s: the command handler needs the block `%[1]s: {command: [...]}` or `%[1]s: {shell: ...}`", block)
	}
	if err := launch.Strict(data, into); err != nil {
		return fmt.Errorf("%s: %w", block, err)
	}
	return nil
}

// ValidateSettings implements [jobtype.SettingsValidator]: templates must parse and name existing fields.
func (h *Handler) ValidateSettings(_, detect, execute json.RawMessage) error {
	_, detectErr := readDetect(detect)
	_, executeErr := readExecute(execute, nil)
	return errors.Join(detectErr, executeErr)
}
