package jobtypetest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Case is what [Check] holds a handler against.
type Case struct {
	// Input must make Detect find at least one job, unless Job is set or the
	// descriptor says DetectOnly.
	Input jobtype.DetectInput
	// ExecuteSettings is the `execute:` block of the jobs.
	ExecuteSettings json.RawMessage
	// Job is executed instead of the first proposal. Needed where the
	// descriptor says ExecuteOnly.
	Job *jobtype.Job
	// Bound is how long the handler may continue after its context has ended.
	// Default 5s.
	Bound time.Duration
	// NoRepeat leaves out the second run of a finished job. Workers may die
	// between the effect and the report, so a handler should pass it.
	NoRepeat bool
}

// Check is the conformance test of a handler, in sub-tests: its descriptor is
// valid and stable, its schemas compile and accept the case; detection is
// deterministic, emits valid proposals, takes a full sink for a success and
// ends when its context does; a job ends when its context does, before it
// started and in the middle; it succeeds, and succeeds again when it is
// repeated.
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
	if c.Bound == 0 {
		c.Bound = 5 * time.Second
	}
	return c
}

// part is one aspect of conformance.
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
