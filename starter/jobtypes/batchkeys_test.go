package jobtypes

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// starting is a server that receives the start of a group, and answers with an error.
type starting struct {
	client.Client

	input contract.JobGroupInput
}

func (s *starting) ExecuteWorkflow(_ context.Context, _ client.StartWorkflowOptions, _ any, arguments ...any) (client.WorkflowRun, error) {
	s.input, _ = arguments[0].(contract.JobGroupInput)
	return nil, assert.AnError
}

// TestEachProposalOfALargeSubmissionHasItsBatch: duplicates of a large submission are dropped before its start.
func TestEachProposalOfALargeSubmissionHasItsBatch(t *testing.T) {
	t.Parallel()
	spec := contract.JobTypeSpec{Name: "pack", Handler: "command", Policy: jobtype.Policy{MaxJobsPerDetection: 10_000}.WithDefaults(), Batch: &contract.BatchSpec{By: "{{ .DedupeKey }}", MaxSize: 10}}
	const proposals = 400
	var work []jobtype.Proposal
	size := 0
	for i := range proposals {
		p := jobtype.Proposal{DedupeKey: fmt.Sprint("key-", i-i%2), Detail: strings.Repeat("x", 3900)} // Each key twice.
		work, size = append(work, p), size+len(p.Detail)
	}
	require.Greater(t, size, contract.MaxSubmissionBytes)
	server := &starting{}
	_, err := Of(starter.New(server, "", nil)).Submit(t.Context(), JobType{Name: "pack", Spec: spec}, contract.Submission{ID: "one", Proposals: work})
	require.ErrorIs(t, err, assert.AnError)
	submitted := server.input.Submission
	require.Len(t, submitted.Proposals, proposals/2)
	assert.Equal(t, proposals/2, submitted.Duplicates)
	require.Len(t, submitted.BatchKeys, proposals/2)
	for i, p := range submitted.Proposals {
		assert.Equal(t, p.DedupeKey, submitted.BatchKeys[i])
	}
}
