package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// paramsSchema describes the values under `params:`. Roundsman checks the configuration against it and reports
// the line of a fault.
const paramsSchema = `{
  "type": "object",
  "additionalProperties": false,
  "required": ["dir"],
  "properties": {
    "dir": {"type": "string", "minLength": 1, "description": "The directory to clean. Links are not followed."},
    "older_than": {"type": "string", "default": "7d", "description": "How long a file must be untouched."},
    "patterns": {"type": "array", "items": {"type": "string"}, "default": ["*.tmp"], "description": "Which file names are temporary."},
    "subdir": {"type": "string", "description": "Set by the detection in each job."}
  }
}`

// params are the job type's params. In a job, Subdir is the directory to clean.
type params struct {
	Dir       string           `json:"dir"`
	OlderThan jobtype.Duration `json:"older_than"`
	Patterns  []string         `json:"patterns"`
	Subdir    string           `json:"subdir"`
}

// handler implements jobtype.Handler. It holds nothing but a clock, so it may
// be called from many jobs at once.
type handler struct{ now func() time.Time }

func newHandler() *handler { return &handler{now: time.Now} }

// Descriptor introduces the handler.
func (h *handler) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{
		Name:   "tempfiles",
		Help:   "Removes temporary files that nobody has touched for a while, one job per directory.",
		Params: json.RawMessage(paramsSchema),
		// These suit this work better than the built-in defaults.
		DefaultPolicy: jobtype.Policy{RetryLimit: 2, ExecutionTimeout: jobtype.Duration(10 * time.Minute)},
	}
}

// ValidateSettings checks rules beyond a JSON Schema. It is optional.
func (h *handler) ValidateSettings(raw, _, _ json.RawMessage) error {
	_, err := readParams(raw)
	return err
}

func readParams(raw json.RawMessage) (params, error) {
	read := params{OlderThan: jobtype.Duration(7 * 24 * time.Hour), Patterns: []string{"*.tmp"}}
	if err := json.Unmarshal(raw, &read); err != nil {
		return params{}, fmt.Errorf("params: %w", err)
	}
	var faults []error
	if read.OlderThan.Std() < time.Minute {
		faults = append(faults, errors.New("params.older_than: at least 1m, or files would go while they are written"))
	}
	for i, pattern := range read.Patterns {
		if _, err := path.Match(pattern, ""); err != nil {
			faults = append(faults, fmt.Errorf("params.patterns[%d]: %q is no pattern", i, pattern))
		}
	}
	return read, errors.Join(faults...)
}
