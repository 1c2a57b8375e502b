package surge

import (
	"context"
	"fmt"
	"strings"

	"github.com/roundsman/roundsman/jobtype"
)

const (
	// Proposals is the number of DAGs, each with proposalBytes.
	Proposals     = 40
	proposalBytes = 700
)

// Graphs is a handler whose proposals have DAGs.
type Graphs struct{}

// Descriptor implements [jobtype.Handler].
func (Graphs) Descriptor() jobtype.Descriptor {
	return jobtype.Descriptor{Name: "graphs", Help: "Proposes DAGs of tasks that do nothing."}
}

// Detect implements [jobtype.Handler].
func (Graphs) Detect(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
	for i := range Proposals {
		dag := fmt.Sprintf("version: 1\nname: graph-%d\ntasks:\n  - {id: a, noop: true}\n  - {id: b, needs: [a], noop: true}\n", i)
		dag += "# " + strings.Repeat("x", proposalBytes-len(dag)-3) + "\n"
		if err := out.Emit(ctx, jobtype.Proposal{DedupeKey: fmt.Sprint(i), DAG: dag}); err != nil {
			return err
		}
	}
	return nil
}

// Execute implements [jobtype.Handler].
func (Graphs) Execute(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
	return jobtype.Result{}, nil
}
