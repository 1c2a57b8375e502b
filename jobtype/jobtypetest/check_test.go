package jobtypetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/jobtype"
)

// fake is a handler with replaceable parts.
type fake struct {
	descriptor func() jobtype.Descriptor
	detect     func(context.Context, jobtype.DetectInput, jobtype.ProposalSink) error
	execute    func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error)
}

func (f fake) Descriptor() jobtype.Descriptor { return f.descriptor() }

func (f fake) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	return f.detect(ctx, in, out)
}

func (f fake) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	return f.execute(ctx, job, progress)
}

func describe(name string) func() jobtype.Descriptor {
	return func() jobtype.Descriptor {
		return jobtype.Descriptor{Name: name, Params: json.RawMessage(`{"type":"object","properties":{"dir":{"type":"string"}},"additionalProperties":false}`)}
	}
}

// goodHandler counts to ten with a checkpoint at every step.
func goodHandler() fake {
	return fake{
		descriptor: describe("good"),
		detect: func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
			for i := range 3 {
				err := out.Emit(ctx, jobtype.Proposal{DedupeKey: fmt.Sprint("item-", i), Params: json.RawMessage(fmt.Sprintf(`{"item":%d}`, i))})
				if errors.Is(err, jobtype.ErrSinkFull) {
					return nil
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
		execute: func(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
			from := 0
			if len(job.Checkpoint) > 0 {
				if err := json.Unmarshal(job.Checkpoint, &from); err != nil {
					return jobtype.Result{}, jobtype.Permanent(err)
				}
			}
			for step := from; step < 10; step++ {
				if ctx.Err() != nil {
					return jobtype.Result{}, context.Cause(ctx)
				}
				progress.Report(float64(step*10), "counting", "")
				progress.Alive()
				if err := progress.Checkpoint(step + 1); err != nil {
					return jobtype.Result{}, err
				}
			}
			return jobtype.Result{Summary: fmt.Sprintf("counted from %d", from)}, nil
		},
	}
}

func TestCheckPassesAGoodHandler(t *testing.T) {
	Check(t, goodHandler(), Case{Input: jobtype.DetectInput{Params: json.RawMessage(`{"dir":"/x"}`)}})
}

func TestCheckPassesHalfHandlers(t *testing.T) {
	executeOnly := goodHandler()
	executeOnly.descriptor = func() jobtype.Descriptor { return jobtype.Descriptor{Name: "half", ExecuteOnly: true} }
	Check(t, executeOnly, Case{Job: &jobtype.Job{}})
	detectOnly := goodHandler()
	detectOnly.descriptor = func() jobtype.Descriptor { return jobtype.Descriptor{Name: "half", DetectOnly: true} }
	Check(t, detectOnly, Case{})
}

func TestCheckFindsEveryFault(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	for want, change := range map[string]func(*fake, *Case){
		`name "Bad Name" must start`: func(f *fake, _ *Case) { f.descriptor = describe("Bad Name") },
		"same value every time": func(f *fake, _ *Case) {
			calls := 0
			f.descriptor = func() jobtype.Descriptor { calls++; return jobtype.Descriptor{Name: "x", Help: fmt.Sprint(calls)} }
		},
		"the schema of params does not compile": func(f *fake, _ *Case) {
			f.descriptor = func() jobtype.Descriptor {
				return jobtype.Descriptor{Name: "x", Params: json.RawMessage(`{"type":"objekt"}`)}
			}
		},
		"params does not match": func(_ *fake, c *Case) { c.Input.Params = json.RawMessage(`{"dri":"/x"}`) },
		"takes no `detect:` block": func(_ *fake, c *Case) {
			c.Input.Settings = json.RawMessage(`{}`)
		},
		"an invalid proposal": func(f *fake, _ *Case) {
			f.detect = func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
				_ = out.Emit(ctx, jobtype.Proposal{DedupeKey: "a"}, jobtype.Proposal{Priority: "urgent"})
				return nil
			}
		},
		"same keys in the same order": func(f *fake, _ *Case) {
			calls := 0
			f.detect = func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
				calls++
				return out.Emit(ctx, jobtype.Proposal{DedupeKey: fmt.Sprint(calls)})
			}
		},
		"a full sink is no failure": func(f *fake, _ *Case) {
			f.detect = func(ctx context.Context, _ jobtype.DetectInput, out jobtype.ProposalSink) error {
				if err := out.Emit(ctx, jobtype.Proposal{DedupeKey: "a"}, jobtype.Proposal{DedupeKey: "b"}); err != nil {
					return errors.New("could not emit")
				}
				return nil
			}
		},
		"Detect failed: no disk": func(f *fake, _ *Case) {
			f.detect = func(context.Context, jobtype.DetectInput, jobtype.ProposalSink) error { return errors.New("no disk") }
		},
		"a detection whose context has ended continued": func(f *fake, _ *Case) {
			detect := f.detect
			f.detect = func(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
				if ctx.Err() != nil {
					<-never
				}
				return detect(ctx, in, out)
			}
		},
		"a job canceled before it began continued": func(f *fake, _ *Case) {
			f.execute = func(ctx context.Context, _ jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
				if ctx.Err() != nil {
					<-never
				}
				return jobtype.Result{}, nil
			}
		},
		"a job canceled at its first sign of life continued": func(f *fake, _ *Case) {
			f.execute = func(ctx context.Context, _ jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
				before := ctx.Err()
				progress.Alive()
				if before == nil && ctx.Err() != nil {
					<-never
				}
				return jobtype.Result{}, nil
			}
		},
		"the job failed: broken": func(f *fake, _ *Case) {
			f.execute = func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
				return jobtype.Result{}, errors.New("broken")
			}
		},
		"failed when it was repeated": func(f *fake, _ *Case) {
			f.execute = func(_ context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
				if job.Attempt > 1 {
					return jobtype.Result{}, errors.New("already gone")
				}
				return jobtype.Result{}, nil
			}
		},
		"found nothing to execute": func(f *fake, _ *Case) {
			f.detect = func(context.Context, jobtype.DetectInput, jobtype.ProposalSink) error { return nil }
		},
		"give Check a Case.Job": func(f *fake, _ *Case) {
			f.descriptor = func() jobtype.Descriptor { return jobtype.Descriptor{Name: "x", ExecuteOnly: true} }
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			handler, c := goodHandler(), Case{Bound: 100 * time.Millisecond}
			change(&handler, &c)
			var faults []error
			for _, part := range partsOf(handler.Descriptor()) {
				faults = append(faults, part.faults(t.Context(), handler, c)...)
			}
			assert.ErrorContains(t, errors.Join(faults...), want)
		})
	}
}

func TestResumeGoesOnFromTheCheckpoint(t *testing.T) {
	t.Parallel()
	first, second := Resume(t.Context(), goodHandler(), jobtype.Job{}, 4)
	require.ErrorIs(t, first.Err, jobtype.ErrDraining)
	require.NoError(t, second.Err)
	assert.Len(t, first.Reports, 4)
	assert.Len(t, second.Reports, 6)
	assert.Equal(t, "counted from 4", second.Result.Summary)

	_, second = Resume(t.Context(), goodHandler(), jobtype.Job{}, 11)
	assert.ErrorContains(t, second.Err, "ended after 10 of 11 checkpoints")
}

func TestExecuteRecordsAndBounds(t *testing.T) {
	t.Parallel()
	done := Execute(t.Context(), goodHandler(), jobtype.Job{})
	require.NoError(t, done.Err)
	assert.Len(t, done.Reports, 10)
	assert.Equal(t, 10, done.Alive)
	assert.JSONEq(t, `10`, string(done.LastCheckpoint()))
	assert.Equal(t, Report{Percent: 90, Stage: "counting"}, done.Reports[9])

	stopped := Execute(t.Context(), goodHandler(), jobtype.Job{}, CancelAtReport(3, jobtype.ErrLeaseLost))
	require.ErrorIs(t, stopped.Err, jobtype.ErrLeaseLost)
	assert.Len(t, stopped.Reports, 3)

	handler := goodHandler()
	handler.execute = func(_ context.Context, _ jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
		assert.ErrorContains(t, progress.Checkpoint(make([]byte, jobtype.MaxCheckpointBytes)), "the limit is 16384")
		assert.ErrorContains(t, progress.Checkpoint(func() {}), "cannot be encoded")
		return jobtype.Result{Output: string(make([]byte, jobtype.MaxResultBytes))}, nil
	}
	tooMuch := Execute(t.Context(), handler, jobtype.Job{})
	require.ErrorContains(t, tooMuch.Err, "the limit is 65536")
	assert.Nil(t, tooMuch.LastCheckpoint())
}

func TestSinkCountsLikeAGroup(t *testing.T) {
	t.Parallel()
	sink := NewSink(2)
	err := sink.Emit(t.Context(), jobtype.Proposal{DedupeKey: "a"}, jobtype.Proposal{Priority: "urgent"}, jobtype.Proposal{DedupeKey: "a"}, jobtype.Proposal{})
	var refused *jobtype.ProposalError
	require.ErrorAs(t, err, &refused)
	require.NotErrorIs(t, err, jobtype.ErrSinkFull)
	require.ErrorIs(t, sink.Emit(t.Context(), jobtype.Proposal{}, jobtype.Proposal{}), jobtype.ErrSinkFull)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, sink.Emit(ended, jobtype.Proposal{}), context.Canceled)

	got := sink.Detection()
	assert.Equal(t, []string{"a", ""}, got.Keys())
	assert.Equal(t, []int{4, 2}, got.Pages)
	assert.Equal(t, 1, got.Duplicates)
	assert.Equal(t, 2, got.Surplus)
	assert.Len(t, got.Invalid, 1)
}

func TestJobOfOverlaysParams(t *testing.T) {
	t.Parallel()
	in := jobtype.DetectInput{JobType: "x", Params: json.RawMessage(`{"a":1,"b":1}`), WorkerID: "node-a"}
	job, err := JobOf(in, jobtype.Proposal{DedupeKey: "k", Node: "node-b", Params: json.RawMessage(`{"b":2}`)}, nil)
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":1,"b":2}`, string(job.Params))
	assert.Equal(t, "node-b", job.WorkerID)
	assert.Equal(t, 1, job.Attempt)
	_, err = JobOf(in, jobtype.Proposal{Params: json.RawMessage(`3`)}, nil)
	require.ErrorContains(t, err, "must be a JSON object")
}

func TestBatchOf(t *testing.T) {
	t.Parallel()
	in := jobtype.DetectInput{JobType: "pack", Params: []byte(`{"dir":"/srv","n":1}`)}
	one := jobtype.Proposal{DedupeKey: "a", Summary: "first", Params: []byte(`{"n":2}`), Labels: map[string]string{"volume": "7"}}
	job, err := BatchOf(in, []jobtype.Proposal{one, {DedupeKey: "b"}}, nil)
	require.NoError(t, err)
	assert.Empty(t, job.DedupeKey)
	assert.JSONEq(t, `{"dir":"/srv","n":1}`, string(job.Params))
	require.Len(t, job.Items(), 2)
	assert.JSONEq(t, `{"dir":"/srv","n":2}`, string(job.Items()[0].Params))
	single, err := BatchOf(in, []jobtype.Proposal{one}, nil)
	require.NoError(t, err)
	assert.Equal(t, "a", single.DedupeKey)
	assert.Len(t, single.Batch, 1)
	_, err = BatchOf(in, nil, nil)
	require.Error(t, err)
	plain, err := JobOf(in, one, nil)
	require.NoError(t, err)
	require.Len(t, plain.Items(), 1, "a job without a batch is one item")
	assert.Equal(t, "a", plain.Items()[0].DedupeKey)
}

// optional is a handler whose blocks may all be left out.
type optional struct{}

func (optional) Descriptor() jobtype.Descriptor {
	block := json.RawMessage(`{"type": "object"}`)
	return jobtype.Descriptor{Name: "optional", Params: block, DetectSettings: block, ExecuteSettings: block}
}

func (optional) Detect(ctx context.Context, in jobtype.DetectInput, out jobtype.ProposalSink) error {
	if err := errors.Join(json.Unmarshal(in.Params, new(struct{})), json.Unmarshal(in.Settings, new(struct{}))); err != nil {
		return err
	}
	return out.Emit(ctx, jobtype.Proposal{DedupeKey: "a"})
}

func (optional) Execute(_ context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
	return jobtype.Result{}, errors.Join(json.Unmarshal(job.Params, new(struct{})), json.Unmarshal(job.Settings, new(struct{})))
}

// A handler gets an empty object for a block that is left out, as from a worker.
func TestMissingBlocksAreEmptyObjects(t *testing.T) {
	t.Parallel()
	Check(t, optional{}, Case{})
	require.NoError(t, Execute(t.Context(), optional{}, jobtype.Job{}).Err)
}
