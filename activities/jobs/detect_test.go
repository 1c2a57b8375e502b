package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

type detector func(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error

func (b *bench) detect(t *testing.T, in contract.DetectActivityInput) (contract.DetectActivityResult, error) {
	t.Helper()
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(b.activities.Detect, activity.RegisterOptions{Name: contract.DetectActivity})
	in.Handler, in.WorkflowID, in.RunID = "fake", "group/x-1", "run"
	_, err := env.ExecuteActivity(contract.DetectActivity, in)
	require.ErrorIs(t, err, activity.ErrResultPending)
	outcomes := b.server.outcomes()
	require.Len(t, outcomes, 1)
	result, ok := outcomes[0].result.(contract.DetectActivityResult)
	require.True(t, ok)
	return result, outcomes[0].failure
}

func emitting(t *testing.T, detect detector) *bench {
	t.Helper()
	return newBench(t, &fakeHandler{detect: detect})
}

func proposals(from, to, bytes int) []jobtype.Proposal {
	var list []jobtype.Proposal
	for i := from; i < to; i++ {
		list = append(list, jobtype.Proposal{
			DedupeKey: fmt.Sprintf("key-%06d", i),
			Params:    json.RawMessage(`{"path":"` + strings.Repeat("x", bytes) + `"}`),
		})
	}
	return list
}

func TestDetectSendsPagesInOrder(t *testing.T) {
	t.Parallel()
	b := emitting(t, func(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
		assert.Equal(t, "node-a", in.WorkerID)
		for _, p := range proposals(0, 450, 10) {
			if err := out.Emit(ctx, p); err != nil {
				return err
			}
		}
		return nil
	})
	away := true
	b.server.onPage = func(_ int, page contract.DetectPageInput) (contract.DetectPageResult, error) {
		if page.Seq == 1 && away {
			away = false
			return contract.DetectPageResult{}, errAway
		}
		return contract.DetectPageResult{Accepted: len(page.Proposals)}, nil
	}
	result, failure := b.detect(t, contract.DetectActivityInput{Attempt: 2})
	require.NoError(t, failure)
	assert.Equal(t, contract.DetectActivityResult{Worker: "node-a", Pages: 3, Emitted: 450}, result)
	assert.Equal(t, []string{"detect-page-2-0-run", "detect-page-2-1-run", "detect-page-2-2-run"}, b.server.updateIDs)
	n := 0
	for seq, page := range b.server.pages {
		assert.Equal(t, seq, page.Seq)
		assert.Equal(t, 2, page.Attempt)
		for _, p := range page.Proposals {
			assert.Equal(t, fmt.Sprintf("key-%06d", n), p.DedupeKey)
			n++
		}
	}
	assert.Equal(t, 450, n)
}

func TestDetectBoundsPagesByBytes(t *testing.T) {
	t.Parallel()
	b := emitting(t, func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
		return out.Emit(ctx, proposals(0, 300, 3000)...)
	})
	_, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1})
	require.NoError(t, failure)
	require.Greater(t, len(b.server.pages), 2)
	for _, page := range b.server.pages {
		encoded, err := json.Marshal(page.Proposals)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(encoded), contract.MaxPageBytes+contract.MaxPageProposals+2)
	}
}

func TestDetectCountsWhatAFullGroupDoesNotTake(t *testing.T) {
	t.Parallel()
	b := emitting(t, func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
		full := 0
		for _, p := range proposals(0, 1000, 10) {
			if err := out.Emit(ctx, p); errors.Is(err, jobtype.ErrSinkFull) {
				full++
			} else if err != nil {
				return err
			}
		}
		assert.Equal(t, 600, full, "Emit says full from the first proposal on that does not fit")
		return jobtype.ErrSinkFull
	})
	b.server.onPage = func(n int, page contract.DetectPageInput) (contract.DetectPageResult, error) {
		return contract.DetectPageResult{Accepted: len(page.Proposals), Full: n == 2}, nil
	}
	result, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1})
	require.NoError(t, failure)
	assert.Equal(t, 1000, result.Emitted)
	assert.Equal(t, 600, result.Surplus)
	assert.True(t, result.More, "it returned ErrSinkFull")
	assert.Equal(t, 2, result.Pages)
}

// TestDetectKeepsExplanations: bounded in number and size, each on one line.
func TestDetectKeepsExplanations(t *testing.T) {
	t.Parallel()
	b := emitting(t, func(_ context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
		jobtype.Explain(out, "8 volumes\nwithout garbage\n")
		for range 100 {
			jobtype.Explain(out, strings.Repeat("x", 10_000))
		}
		return nil
	})
	result, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1})
	require.NoError(t, failure)
	require.Len(t, result.Explanations, jobtype.MaxExplanations)
	assert.Equal(t, "8 volumes without garbage", result.Explanations[0])
	assert.LessOrEqual(t, len(result.Explanations[1]), jobtype.MaxExplanationBytes)
}

func TestDetectCountsInvalidProposals(t *testing.T) {
	t.Parallel()
	b := emitting(t, func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
		good, bad := jobtype.Proposal{DedupeKey: "good"}, jobtype.Proposal{DedupeKey: "bad", Priority: "urgent"}
		var refused *jobtype.ProposalError
		assert.ErrorAs(t, out.Emit(ctx, bad, good), &refused)
		for range 20 {
			assert.Error(t, out.Emit(ctx, jobtype.Proposal{Summary: "\xff"}))
		}
		huge := jobtype.Proposal{DAG: strings.Repeat("x", contract.MaxPageBytes)}
		assert.ErrorContains(t, out.Emit(ctx, huge), "the limit is")
		return nil
	})
	result, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1})
	require.NoError(t, failure)
	assert.Equal(t, 23, result.Emitted)
	assert.Equal(t, 22, result.Invalid)
	assert.Len(t, result.InvalidErrors, contract.MaxInvalidErrors)
	assert.Contains(t, result.InvalidErrors[0], "urgent")
	require.Len(t, b.server.pages, 1)
	assert.Equal(t, "good", b.server.pages[0].Proposals[0].DedupeKey)
}

func TestDetectFailures(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		detect detector
		onPage func(int, contract.DetectPageInput) (contract.DetectPageResult, error)
		kind   contract.FailureKind
		text   string
	}{
		"error": {
			detect: func(context.Context, jobtype.DetectInput, jobtype.ProposalSink) error { return errors.New("no disk") },
			kind:   contract.FailureFailed, text: "no disk",
		},
		"permanent": {
			detect: func(context.Context, jobtype.DetectInput, jobtype.ProposalSink) error {
				return jobtype.Permanent(errors.New("no such command"))
			},
			kind: contract.FailurePermanent, text: "no such command",
		},
		"panic": {
			detect: func(context.Context, jobtype.DetectInput, jobtype.ProposalSink) error { panic("oops") },
			kind:   contract.FailureFailed, text: "panicked: oops",
		},
		"page refused": {
			detect: func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
				return out.Emit(ctx, proposals(0, 1, 1)...)
			},
			onPage: func(int, contract.DetectPageInput) (contract.DetectPageResult, error) {
				return contract.DetectPageResult{}, &RejectedError{Err: errors.New("attempt 1 is over")}
			},
			kind: contract.FailureFailed, text: "attempt 1 is over",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := emitting(t, c.detect)
			b.server.onPage = c.onPage
			_, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1})
			var application *temporal.ApplicationError
			require.ErrorAs(t, failure, &application)
			assert.Equal(t, string(c.kind), application.Type())
			assert.Contains(t, application.Message(), c.text)
			assert.True(t, application.NonRetryable())
		})
	}
}

func TestDetectDrains(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	b := emitting(t, func(ctx context.Context, _ jobtype.DetectInput, _ jobtype.ProposalSink) error {
		close(started)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	go func() { <-started; b.activities.Drain() }()
	_, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1})
	var application *temporal.ApplicationError
	require.ErrorAs(t, failure, &application)
	assert.Equal(t, string(contract.FailureDraining), application.Type())
}

func TestReportRepeats(t *testing.T) {
	t.Parallel()
	b := emitting(t, func(context.Context, jobtype.DetectInput, jobtype.ProposalSink) error { return nil })
	b.server.onComplete = func(n int) error {
		if n < 3 {
			return errAway
		}
		return nil
	}
	_, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1})
	require.NoError(t, failure)
}

// Under liveness activity a hanging detection is ended, unless it emits or reports a sign of
// life.
func TestDetectionsAreWatched(t *testing.T) {
	t.Parallel()
	in := contract.DetectActivityInput{Attempt: 1, Liveness: jobtype.LivenessActivity, StallTimeout: jobtype.Duration(300 * time.Millisecond)}
	signs := map[string]func(ctx context.Context, out jobtype.ProposalSink) error{
		"none": func(context.Context, jobtype.ProposalSink) error { return nil },
		"emits": func(ctx context.Context, out jobtype.ProposalSink) error {
			return out.Emit(ctx, jobtype.Proposal{DedupeKey: "a"})
		},
		"alive": func(_ context.Context, out jobtype.ProposalSink) error {
			sink, ok := out.(jobtype.Alive)
			if !ok {
				return errors.New("the sink takes no signs of life")
			}
			sink.Alive()
			return nil
		},
	}
	for name, sign := range signs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // On a busy machine a sign of life can come late.
				b := emitting(t, func(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
					assert.Equal(t, jobtype.LivenessActivity, in.Liveness)
					for range 40 {
						select {
						case <-time.After(20 * time.Millisecond):
						case <-ctx.Done():
							return context.Cause(ctx)
						}
						if err := sign(ctx, out); err != nil {
							return err
						}
					}
					return nil
				})
				_, failure := b.detect(t, in)
				if name != "none" {
					require.NoError(t, failure)
					return
				}
				var application *temporal.ApplicationError
				require.ErrorAs(t, failure, &application)
				assert.Equal(t, string(contract.FailureStale), application.Type())
				assert.Contains(t, application.Message(), "no report, output, CPU or I/O for 300ms (stall_timeout)")
				assert.NotContains(t, application.Message(), "execution timeout")
			})
		})
	}
}

// Duplicates cost no page: a group accepts 2,000 pages at most. A detector that repeats itself
// comes to an end.
func TestDuplicatesDoNotTravel(t *testing.T) {
	t.Parallel()
	b := emitting(t, func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
		if err := out.Emit(ctx, proposals(0, 300, 10)...); err != nil {
			return err
		}
		for {
			if err := out.Emit(ctx, append(proposals(0, 100, 10), jobtype.Proposal{Priority: "urgent"})...); errors.Is(err, jobtype.ErrSinkFull) {
				return jobtype.ErrSinkFull
			}
		}
	})
	result, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1})
	require.NoError(t, failure)
	assert.Equal(t, 2, result.Pages)
	assert.Equal(t, maxRepeats, result.Duplicates)
	assert.True(t, result.More)
	assert.Equal(t, result.Emitted, 300+result.Duplicates+result.Invalid+result.Surplus)
	sent := 0
	for _, page := range b.server.pages {
		sent += len(page.Proposals)
	}
	assert.Equal(t, 300, sent)
}

// A page of up to 32 KiB is returned with the result if the group accepts that; more, or a
// second page, is sent.
func TestDetectReturnsASmallPageInline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inline       bool
		found, bytes int
		pages        int
	}{
		"small": {true, 3, 10, 0}, "not asked for": {false, 3, 10, 1}, "large": {true, 20, 3000, 1}, "two pages": {true, 250, 10, 2}, "nothing": {true, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := emitting(t, func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
				return out.Emit(ctx, proposals(0, c.found, c.bytes)...)
			})
			result, failure := b.detect(t, contract.DetectActivityInput{Attempt: 1, Inline: c.inline})
			require.NoError(t, failure)
			assert.Equal(t, c.pages, result.Pages)
			assert.Len(t, b.server.pages, c.pages)
			if c.pages == 0 {
				assert.Len(t, result.Proposals, c.found)
			} else {
				assert.Empty(t, result.Proposals)
			}
		})
	}
}
