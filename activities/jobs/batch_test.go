package jobs

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TestDetectNamesBatches: the worker names batches. A proposal whose template fails is invalid,
// and the others continue.
func TestDetectNamesBatches(t *testing.T) {
	t.Parallel()
	b := emitting(t, func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
		var refused *jobtype.ProposalError
		err := out.Emit(ctx, jobtype.Proposal{DedupeKey: "a", Labels: map[string]string{"volume": "7"}}, jobtype.Proposal{DedupeKey: "lost"},
			jobtype.Proposal{DedupeKey: "b", Labels: map[string]string{"volume": ""}})
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, "lost", refused.DedupeKey)
		return nil
	})
	result, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1, BatchBy: "{{.Labels.volume}}"})
	require.NoError(t, failure)
	assert.Equal(t, 3, result.Emitted)
	assert.Equal(t, 1, result.Invalid)
	require.Len(t, result.InvalidErrors, 1)
	assert.Contains(t, result.InvalidErrors[0], `proposal "lost" refused: batch.by: template: by:1:9`)
	require.Len(t, b.server.pages, 1)
	assert.Equal(t, []string{"7", ""}, b.server.pages[0].BatchKeys)
	assert.Len(t, b.server.pages[0].Proposals, 2)
}

func TestDetectWithABrokenTemplateFails(t *testing.T) {
	t.Parallel()
	b := emitting(t, func(context.Context, jobtype.DetectInput, jobtype.ProposalSink) error {
		assert.Fail(t, "nothing is detected")
		return nil
	})
	_, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1, BatchBy: "{{"})
	require.ErrorContains(t, failure, "batch.by: not a valid template: unclosed action")
}

func TestExecuteGivesEveryItemItsParams(t *testing.T) {
	t.Parallel()
	in := input(`{"dir":"/srv","n":1}`)
	in.Job.Labels = map[string]string{"volume": "7"}
	in.Job.Batch = []jobtype.BatchItem{{DedupeKey: "a", Params: json.RawMessage(`{"n":2}`)}, {DedupeKey: "b"}}
	var got jobtype.Job
	b := newBench(t, &fakeHandler{descriptor: jobtype.Descriptor{Batches: true}, execute: func(_ context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
		got = job
		return jobtype.Result{}, nil
	}})
	b.run(t, in)
	state, failure := b.only(t)
	require.NoError(t, failure)
	assert.Empty(t, state.Failure)
	assert.JSONEq(t, `{"dir":"/srv","n":1}`, string(got.Params))
	require.Len(t, got.Items(), 2)
	assert.JSONEq(t, `{"dir":"/srv","n":2}`, string(got.Items()[0].Params))
	assert.JSONEq(t, `{"dir":"/srv","n":1}`, string(got.Items()[1].Params))
	assert.Equal(t, in.Job.Labels, got.Items()[1].Labels)
}

func TestExecuteRefusesABatchThatItsHandlerDoesNotKnow(t *testing.T) {
	t.Parallel()
	in := input(`{}`)
	in.Job.Batch = []jobtype.BatchItem{{DedupeKey: "a"}}
	b := executing(t, func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
		assert.Fail(t, "it would do one of them")
		return jobtype.Result{}, nil
	})
	b.run(t, in)
	state, _ := b.only(t)
	assert.Equal(t, contract.FailurePermanent, state.Failure)
	assert.Contains(t, state.Message, `handler "fake" does one proposal at a time: remove batch`)
}
