package jobtypetest

import (
	"cmp"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Case is the test case of [Check].
type Case struct {
	// Input must lead Detect to at least one job, unless Job is set or the descriptor is DetectOnly.
	Input jobtype.DetectInput
	// ExecuteSettings is the `execute:` block of the jobs.
	ExecuteSettings json.RawMessage
	// Job is executed instead of the first proposal. ExecuteOnly handlers need it.
	Job *jobtype.Job
	// Bound is the time for the handler to end after its context. Default 5s.
	Bound time.Duration
	// NoRepeat skips the second run of a finished job. Handlers should pass it: workers may die between effect and report.
	NoRepeat bool
}

// Check is the conformance test of a handler, in sub-tests:
//   - The descriptor is valid and stable; its schemas compile and accept the case.
//   - Detection is deterministic, emits valid proposals, accepts a full sink and ends with its context.
//   - A job ends with its context, canceled before its start or in the middle.
//   - A job succeeds, and succeeds again when repeated.
func Check(t *testing.T, handler jobtype.Handler, c Case) {
	t.Helper()
	for _, part := range partsOf(handler.Descriptor()) {
		t.Run(part.name, func(t *testing.T) {
			for _, fault := range part.faults(t.Context(), handler, c.withDefaults()) {
				t.Error(fault)
			}
		})
	}
}

func (c Case) withDefaults() Case {
	c.Bound = cmp.Or(c.Bound, 5*time.Second)
	return c
}

type part struct {
	name   string
	faults func(context.Context, jobtype.Handler, Case) []error
}

func partsOf(descriptor jobtype.Descriptor) []part {
	parts := []part{{"descriptor", descriptorFaults}}
	if !descriptor.ExecuteOnly {
		parts = append(parts, part{"detect", detectFaults})
	}
	if !descriptor.DetectOnly {
		parts = append(parts, part{"execute", executeFaults})
	}
	return parts
}
