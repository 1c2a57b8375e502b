// Package noop has jobs that do nothing.
package noop

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/roundsman/roundsman/jobtype"
)

// Params are those of a job type.
type Params struct {
	// N is the number of its proposals.
	N int `json:"n"`
	// Keyless: they have no dedupe keys.
	Keyless bool `json:"keyless,omitempty"`
}

// Handler does nothing.
type Handler struct{}

// Descriptor implements [jobtype.Handler].
func (Handler) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{Name: "noop", Help: "Does nothing."}
}

// Detect implements [jobtype.Handler].
func (Handler) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	var params Params
	if err := json.Unmarshal(in.Params, &params); err != nil {
		return err
	}
	for i := range params.N {
		p := jobtype.Proposal{DedupeKey: fmt.Sprintf("object/%06d", i), Summary: fmt.Sprintf("no-op %d", i)}
		if params.Keyless {
			p.DedupeKey = ""
		}
		if err := out.Emit(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// Execute implements [jobtype.Handler].
func (Handler) Execute(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
	return jobtype.Result{}, nil
}
