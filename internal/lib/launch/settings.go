package launch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Texts is a list of texts. A single text counts as a list of one.
type Texts []string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = Texts{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// Kinds of standard input.
const (
	StdinParams = "params"
	StdinNone   = "none"
	StdinFile   = "file"
	StdinData   = "data"
)

// IOClass is a class of scheduling of disks, with the numbers of Linux.
type IOClass int

// The classes.
const (
	IORealtime   IOClass = 1
	IOBestEffort IOClass = 2
	IOIdle       IOClass = 3
)

const (
	minNice, maxNice = -20, 19
	maxIOLevel       = 7
	// defaultIOLevel is the middle, as in ionice.
	defaultIOLevel = 4
	maxUmask       = 0o777
)

// ParseUmask parses octal digits.
func (s Spec) ParseUmask() (int, error) {
	mask, err := strconv.ParseUint(s.Umask, 8, 16)
	if err != nil || mask > maxUmask {
		return 0, fmt.Errorf("umask: %q is not octal: write it like 0027", s.Umask)
	}
	return int(mask), nil
}

// ParseIONice parses a class with its level.
func (s Spec) ParseIONice() (class IOClass, level int, err error) {
	name, number, given := strings.Cut(s.IONice, ":")
	switch name {
	case "realtime":
		class, level = IORealtime, defaultIOLevel
	case "best-effort":
		class, level = IOBestEffort, defaultIOLevel
	case "idle":
		class = IOIdle
	}
	if given && class != IOIdle {
		level, err = strconv.Atoi(number)
	}
	if class == 0 || err != nil || level < 0 || level > maxIOLevel || given && class == IOIdle {
		return 0, 0, fmt.Errorf("ionice: %q is none of idle, best-effort, best-effort:0 to best-effort:7, realtime, realtime:0 to realtime:7", s.IONice)
	}
	return class, level, nil
}

// Input returns the kind of the standard input, and its path or text.
func (s Spec) Input() (kind, value string, err error) {
	kind, value, given := strings.Cut(s.Stdin, ":")
	switch {
	case s.Stdin == "":
		return StdinParams, "", nil
	case !given && (kind == StdinParams || kind == StdinNone):
	case given && kind == StdinFile && value != "", given && kind == StdinData:
	default:
		return "", "", fmt.Errorf("stdin: %.60q is none of params, none, file:PATH, data:TEXT", s.Stdin)
	}
	return kind, value, nil
}

// settingFaults checks the settings that have a form of their own.
func (s Spec) settingFaults() []error {
	var faults []error
	if s.Umask != "" {
		if _, err := s.ParseUmask(); err != nil {
			faults = append(faults, err)
		}
	}
	if s.Nice != nil && (*s.Nice < minNice || *s.Nice > maxNice) {
		faults = append(faults, fmt.Errorf("nice: %d is out of range: use %d to %d", *s.Nice, minNice, maxNice))
	}
	if s.IONice != "" {
		if _, _, err := s.ParseIONice(); err != nil {
			faults = append(faults, err)
		}
	}
	if !strings.HasPrefix(s.Stdin, "{{") {
		if _, _, err := s.Input(); err != nil {
			faults = append(faults, err)
		}
	}
	return slices.Concat(faults, s.Output.faults(), s.Limits.Faults(), artifactFaults(s.Artifacts))
}
