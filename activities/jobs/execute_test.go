package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestExecuteGivesTheHandlerItsJobAndReportsTheResult(t *testing.T) {
	t.Parallel()
	var seen jobtype.Job
	b := executing(t, func(ctx context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
		seen = job
		deadline, limited := ctx.Deadline()
		assert.True(t, limited)
		assert.Equal(t, job.Deadline, deadline)
		return jobtype.Result{Summary: "done", Data: map[string]any{"n": 1}}, nil
	})
	in := input(`{"a":1,"b":{"x":1}}`)
	in.ProposalParams, in.Timeout = json.RawMessage(`{"b":{"y":2}}`), jobtype.Duration(time.Minute)
	in.Job.Checkpoint = json.RawMessage(`{"at":7}`)
	in.Job.GroupID = ""
	before := time.Now()
	b.run(t, in)
	after := time.Now()

	state, failure := b.only(t)
	require.NoError(t, failure)
	assert.Empty(t, state.Failure)
	assert.Equal(t, "default-test-workflow-id", seen.GroupID, "that of the activity")
	assert.Equal(t, "done", state.Result.Summary)
	assert.Equal(t, "node-a", state.Worker)
	assert.Equal(t, "i1", state.Instance)
	assert.Empty(t, state.Checkpoint, "a finished job needs no checkpoint")
	assert.JSONEq(t, `{"a":1,"b":{"y":2}}`, string(seen.Params))
	assert.JSONEq(t, `{"at":7}`, string(seen.Checkpoint))
	assert.Equal(t, "node-a", seen.WorkerID)
	assert.WithinRange(t, seen.Deadline, before.Add(time.Minute), after.Add(time.Minute))
}

func TestExecuteClassifiesFailures(t *testing.T) {
	t.Parallel()
	boom := errors.New("disk on fire")
	cases := map[string]struct {
		execute executor
		kind    contract.FailureKind
		message string
	}{
		"error": {func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			return jobtype.Result{Output: strings.Repeat("x", 5000) + "end"}, boom
		}, contract.FailureFailed, "disk on fire"},
		"permanent": {func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			return jobtype.Result{}, fmt.Errorf("volume 7: %w", jobtype.Permanent(boom))
		}, contract.FailurePermanent, "volume 7: disk on fire"},
		"panic": {func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			panic("out of paper")
		}, contract.FailureFailed, "the handler panicked: out of paper"},
		"exit of the goroutine": {func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			runtime.Goexit()
			return jobtype.Result{}, nil
		}, contract.FailureFailed, "it must return, not call runtime.Goexit"},
		"long message": {func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			return jobtype.Result{}, errors.New(strings.Repeat("é", 4000))
		}, contract.FailureFailed, "ééé"},
		"result too large": {func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			return jobtype.Result{Data: map[string]any{"x": strings.Repeat("y", 70_000)}}, nil
		}, contract.FailurePermanent, "the limit is 65536"},
		"another process is full": {func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			return jobtype.Result{}, fmt.Errorf("%w: 4 of 4", jobtype.ErrAtCapacity)
		}, contract.FailureAtCapacity, "no room for the job: 4 of 4"},
		"not now": {func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			return jobtype.Result{}, fmt.Errorf("volume 7: %w", jobtype.Defer(time.Minute, "it is locked"))
		}, contract.FailureDeferred, "volume 7: it is locked"},
		"not yet": {func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			return jobtype.Result{}, jobtype.DeferGuard(time.Minute, "the standby lags")
		}, contract.FailureGuard, "the standby lags"},
		"another process is gone": {func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			return jobtype.Result{}, fmt.Errorf("%w: EOF", jobtype.ErrExecutorLost)
		}, contract.FailureWorkerLost, "EOF"},
		"result not JSON": {func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			return jobtype.Result{Data: map[string]any{"x": math.NaN()}}, nil
		}, contract.FailurePermanent, "cannot be encoded as JSON"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := executing(t, c.execute)
			in := input(`{}`)
			in.Job.Checkpoint = json.RawMessage(`1`)
			b.run(t, in)
			state := b.failed(t)
			assert.Equal(t, c.kind, state.Failure)
			assert.Contains(t, state.Message, c.message)
			assert.Equal(t, c.kind == contract.FailureDeferred || c.kind == contract.FailureGuard, state.Delay == jobtype.Duration(time.Minute))
			assert.LessOrEqual(t, len(state.Message), maxFailureMessage)
			assert.LessOrEqual(t, len(state.Result.Output), maxFailureOutput)
			if state.Result.Output != "" {
				assert.True(t, strings.HasSuffix(state.Result.Output, "end"), "the tail of the output is kept")
			}
		})
	}
}

// A handler decodes its blocks without a check, also where the configuration leaves them out.
func TestMissingBlocksAreEmptyObjects(t *testing.T) {
	t.Parallel()
	var job jobtype.Job
	b := executing(t, func(_ context.Context, got jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
		job = got
		return jobtype.Result{}, nil
	})
	b.run(t, input(""))
	assert.Equal(t, []string{"{}", "{}"}, []string{string(job.Params), string(job.Settings)})
	var in jobtype.DetectInput
	detecting := emitting(t, func(_ context.Context, got jobtype.DetectInput, _ jobtype.ProposalSink) error {
		in = got
		return nil
	})
	_, failure := detecting.detect(t, contract.DetectActivityInput{Attempt: 1})
	require.NoError(t, failure)
	assert.Equal(t, []string{"{}", "{}"}, []string{string(in.Params), string(in.Settings)})
	command := input("")
	command.Job.Argv = []string{"true"}
	b.run(t, command)
	assert.Empty(t, job.Params, "a command of a DAG without params has an empty input")
	batching := b.activities.descriptors["fake"]
	batching.Batches = true
	b.activities.descriptors["fake"] = batching
	batch := input("")
	batch.Job.Batch = []jobtype.BatchItem{{DedupeKey: "a"}, {DedupeKey: "b"}}
	b.run(t, batch)
	require.Len(t, job.Items(), 2)
	for _, item := range job.Items() {
		assert.JSONEq(t, `{}`, string(item.Params))
	}
}

// The cause of a failure is the end of a program's output, which is never cut.
func TestFailuresKeepTheCause(t *testing.T) {
	t.Parallel()
	r := &attempt{err: errors.New("pg_dump exited with status 1: " + strings.Repeat("pg_dump: dumping a table\n", 100) + "pg_dump: error: no space left on device")}
	r.activities = &Activities{}
	r.progress = newProgress("node-a", nil, time.Now())
	state, _ := r.conclude(jobtype.Result{}, true)
	assert.LessOrEqual(t, len(state.Message), maxFailureMessage)
	assert.True(t, strings.HasPrefix(state.Message, "pg_dump exited with status 1: …\npg_dump: dumping a table\n"), state.Message)
	assert.True(t, strings.HasSuffix(state.Message, "\npg_dump: error: no space left on device"), state.Message)
}

func TestExecuteRefusesWhatItCannotRun(t *testing.T) {
	t.Parallel()
	never := func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
		t.Error("the handler must not run")
		return jobtype.Result{}, nil
	}
	t.Run("unknown handler", func(t *testing.T) {
		t.Parallel()
		b := executing(t, never)
		in := input(`{}`)
		in.Handler = "other"
		b.run(t, in)
		assert.Equal(t, contract.FailureUnsupported, b.failed(t).Failure)
	})
	t.Run("detect only", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, &fakeHandler{execute: never, descriptor: jobtype.Descriptor{DetectOnly: true}})
		b.run(t, input(`{}`))
		assert.Equal(t, contract.FailureUnsupported, b.failed(t).Failure)
	})
	t.Run("params no object", func(t *testing.T) {
		t.Parallel()
		b := executing(t, never)
		in := input(`{}`)
		in.ProposalParams = json.RawMessage(`[1]`)
		b.run(t, in)
		assert.Equal(t, contract.FailurePermanent, b.failed(t).Failure)
		assert.Contains(t, b.failed(t).Message, "the proposal's params must be a JSON object")
	})
	t.Run("draining", func(t *testing.T) {
		t.Parallel()
		b := executing(t, never)
		b.activities.Drain()
		in := input(`{}`)
		in.Job.Checkpoint = json.RawMessage(`{"at":9}`)
		b.run(t, in)
		assert.Equal(t, contract.FailureDraining, b.failed(t).Failure)
		assert.JSONEq(t, `{"at":9}`, string(b.failed(t).Checkpoint), "the checkpoint must not be lost on the way")
		assert.Zero(t, b.failed(t).DurationMS, "it did not run, so a held job still waits for this worker")
	})
}

func obedient(started chan<- struct{}) executor {
	return func(ctx context.Context, _ jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
		if err := progress.Checkpoint(map[string]int{"at": 42}); err != nil {
			return jobtype.Result{}, err
		}
		close(started)
		<-ctx.Done()
		return jobtype.Result{}, fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
}

func TestExecuteEndsByCause(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		edit    func(*contract.ExecuteInput)
		onBeat  func(int) error
		after   func(*bench)
		kind    contract.FailureKind
		message string
	}{
		"canceled by the server": {
			onBeat: func(int) error { return jobtype.ErrCanceled },
			edit:   func(in *contract.ExecuteInput) { in.Interactive = true },
			kind:   contract.FailureCanceled, message: "the job was canceled",
		},
		"over its timeout": {
			edit: func(in *contract.ExecuteInput) { in.Timeout = jobtype.Duration(30 * time.Millisecond) },
			kind: contract.FailureTimeout, message: "over the execution timeout of 30ms",
		},
		"stale": {
			edit: func(in *contract.ExecuteInput) { in.ProgressTimeout = jobtype.Duration(30 * time.Millisecond) },
			kind: contract.FailureStale, message: "no change of progress for 30ms",
		},
		"no sign of life": {
			edit: func(in *contract.ExecuteInput) {
				in.Liveness, in.StallTimeout = jobtype.LivenessActivity, jobtype.Duration(30*time.Millisecond)
			},
			kind: contract.FailureStale, message: "no report, output, CPU or I/O for 30ms (stall_timeout)",
		},
		"cut off": {
			onBeat: func(int) error { return errAway },
			edit:   func(in *contract.ExecuteInput) { in.StopAfter = jobtype.Duration(100 * time.Millisecond) },
			kind:   contract.FailureDraining, message: "no heartbeat has reached the server for stop_after",
		},
		"draining": {
			after: func(b *bench) { b.activities.Drain() },
			kind:  contract.FailureDraining, message: "the worker is draining",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started := make(chan struct{})
			// The handler keeps its checkpoint even if it is late.
			b := executing(t, obedient(started), func(o *Options) { o.CancelGrace = time.Minute })
			b.server.onBeat = c.onBeat
			in := input(`{}`)
			if c.edit != nil {
				c.edit(&in)
			}
			if c.after != nil {
				go func() { <-started; c.after(b) }()
			}
			b.run(t, in)
			state := b.failed(t)
			assert.Equal(t, c.kind, state.Failure)
			assert.Contains(t, state.Message, c.message)
			if c.kind == contract.FailureStale {
				assert.NotContains(t, state.Message, "execution timeout", "which is not over")
			}
			assert.JSONEq(t, `{"at":42}`, string(state.Checkpoint))
		})
	}
}

// TestALateEndDoesNotRaceWithTheReport needs the race detector: the handler ends while its attempt is given up.
func TestALateEndDoesNotRaceWithTheReport(t *testing.T) {
	t.Parallel()
	b := executing(t, nil)
	r := &attempt{activities: b.activities, ended: make(chan struct{}), progress: newProgress("node-a", nil, time.Now()), ctx: t.Context()}
	r.start(func(context.Context) error { return nil })
	state, tells := r.conclude(jobtype.Result{}, false)
	assert.Contains(t, state.Message, "ignores that it was canceled")
	assert.True(t, tells)
	<-r.ended
}

// TestAnAttemptThatOnlyWaitedDidNotRun: for any cause of its end, the run must not count its work as partly done.
func TestAnAttemptThatOnlyWaitedDidNotRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause error
		kind  contract.FailureKind
		tells bool
	}{
		"canceled": {jobtype.ErrCanceled, contract.FailureAtCapacity, true},
		"draining": {jobtype.ErrDraining, contract.FailureAtCapacity, true},
		"deadline": {jobtype.ErrDeadline, contract.FailureAtCapacity, true},
		"taken":    {jobtype.ErrLeaseLost, "", false},
	} {
		r := &attempt{err: fmt.Errorf("%w: sh of attempt 1 still runs here: %w", jobtype.ErrAtCapacity, c.cause), cause: c.cause}
		r.activities = &Activities{}
		r.progress = newProgress("node-a", nil, time.Now())
		state, tells := r.conclude(jobtype.Result{}, true)
		assert.Equal(t, c.kind, state.Failure, name)
		assert.Equal(t, c.tells, tells, name)
	}
}

// TestAJobWithoutItsSettingsDidNotBegin: a held job still waits for its worker.
func TestAJobWithoutItsSettingsDidNotBegin(t *testing.T) {
	t.Parallel()
	for cause, kind := range map[error]contract.FailureKind{
		jobtype.ErrCanceled: contract.FailureAtCapacity, jobtype.ErrDraining: contract.FailureAtCapacity, jobtype.ErrDeadline: contract.FailureTimeout,
	} {
		r := &attempt{activities: &Activities{commons: NewCommons(&pagedRuns{})}, progress: newProgress("node-a", nil, time.Now())}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		_, r.err = r.completed(ctx, contract.ExecuteInput{Common: "c"})
		r.cause = cause
		state, _ := r.conclude(jobtype.Result{}, true)
		assert.Equal(t, kind, state.Failure, state.Message)
	}
}

func TestExecuteReportsFinishedWorkEvenIfCanceled(t *testing.T) {
	t.Parallel()
	b := executing(t, func(ctx context.Context, _ jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
		<-ctx.Done()
		return jobtype.Result{Summary: "finished anyway"}, nil
	})
	in := input(`{}`)
	in.Timeout = jobtype.Duration(20 * time.Millisecond)
	b.run(t, in)
	state, failure := b.only(t)
	require.NoError(t, failure)
	assert.Equal(t, "finished anyway", state.Result.Summary)
}

func TestExecuteSaysNothingAboutALostJob(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	b := executing(t, obedient(started))
	b.server.onBeat = func(int) error { return jobtype.ErrLeaseLost }
	b.run(t, input(`{}`))
	assert.Empty(t, b.server.outcomes())
	assert.Empty(t, b.server.signals)
}

func TestExecuteZombieKeepsItsSlotAndTimeoutIsAnswered(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	b := executing(t, func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
		<-release
		return jobtype.Result{}, nil
	})
	in := input(`{}`)
	in.Timeout = jobtype.Duration(20 * time.Millisecond)
	var returned sync.WaitGroup
	returned.Go(func() { b.run(t, in) })
	require.Eventually(t, func() bool { return len(b.server.outcomes()) == 1 }, time.Minute, time.Millisecond)
	state := b.failed(t)
	assert.Equal(t, contract.FailureTimeout, state.Failure)
	assert.Contains(t, state.Message, "still runs on worker node-a")
	assert.Equal(t, 1, b.activities.Zombies())
	assert.Len(t, b.activities.Running(), 1, "the slot is taken while the handler runs")
	close(release)
	returned.Wait()
	assert.Zero(t, b.activities.Zombies())
	assert.Len(t, b.server.outcomes(), 1, "a zombie's own result comes too late")
}

func TestExecuteCanceledIsAnsweredOnlyWhenTheHandlerHasEnded(t *testing.T) {
	t.Parallel()
	release, begun := make(chan struct{}), make(chan struct{})
	b := executing(t, func(ctx context.Context, _ jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
		close(begun)
		<-release
		return jobtype.Result{}, context.Cause(ctx)
	})
	var returned sync.WaitGroup
	returned.Go(func() { b.run(t, input(`{}`)) })
	<-begun // What has not begun is not started.
	b.activities.Drain()
	require.Eventually(t, func() bool { return b.activities.Zombies() == 1 }, time.Minute, time.Millisecond)
	assert.Empty(t, b.server.outcomes(), "draining promises that nothing runs any more")
	close(release)
	returned.Wait()
	assert.Equal(t, contract.FailureDraining, b.failed(t).Failure)
}

func TestExecutePrefersTheCheckpointOfItsOwnHeartbeat(t *testing.T) {
	t.Parallel()
	var seen json.RawMessage
	b := executing(t, func(_ context.Context, job jobtype.Job, _ jobtype.Progress) (jobtype.Result, error) {
		seen = job.Checkpoint
		return jobtype.Result{}, nil
	})
	in := input(`{}`)
	in.Job.Checkpoint = json.RawMessage(`"old"`)
	b.run(t, in, func(env *sdktest.TestActivityEnvironment) {
		env.SetHeartbeatDetails(contract.Heartbeat{Checkpoint: json.RawMessage(`"new"`)})
	})
	assert.JSONEq(t, `"new"`, string(seen))
}

// Under liveness activity every sign of life counts, and the process beats.
func TestSignsOfLifeKeepAJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // On a busy machine a sign of life can come late.
		b := executing(t, func(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
			assert.Equal(t, jobtype.LivenessActivity, job.Liveness)
			assert.Equal(t, jobtype.Duration(500*time.Millisecond), job.StallTimeout)
			for range 50 {
				select {
				case <-time.After(20 * time.Millisecond):
					progress.Alive()
				case <-ctx.Done():
					return jobtype.Result{}, context.Cause(ctx)
				}
			}
			return jobtype.Result{Summary: "done"}, nil
		})
		in := input(`{}`)
		in.Liveness, in.StallTimeout = jobtype.LivenessActivity, jobtype.Duration(500*time.Millisecond)
		b.run(t, in)
		state, failure := b.only(t)
		require.NoError(t, failure)
		assert.Equal(t, "done", state.Result.Summary)
	})
}
