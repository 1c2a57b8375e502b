package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"

	"github.com/roundsman/roundsman/activities/command"
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// The end of an attempt while its handler closes does not change the outcome of the work.
func TestASettledOutcomeStands(t *testing.T) {
	t.Parallel()
	ends := map[string]struct {
		edit   func(*contract.ExecuteInput)
		onBeat func(int) error
		after  func(*bench)
	}{
		"drain":      {after: func(b *bench) { b.activities.Drain() }},
		"deadline":   {edit: func(in *contract.ExecuteInput) { in.Timeout = jobtype.Duration(time.Minute) }},
		"cancel":     {onBeat: func(int) error { return jobtype.ErrCanceled }},
		"stop_after": {onBeat: func(int) error { return errAway }, edit: func(in *contract.ExecuteInput) { in.StopAfter = jobtype.Duration(time.Minute) }},
		"taken away": {onBeat: func(int) error { return jobtype.ErrLeaseLost }},
	}
	outcomes := map[contract.FailureKind]error{
		contract.FailureNone: nil, contract.FailureFailed: errors.New("exited with status 1"),
		contract.FailureDeferred: jobtype.Defer(time.Hour, "exited with status 75"),
	}
	for name, end := range ends {
		for kind, outcome := range outcomes {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					settled := make(chan struct{})
					b := executing(t, func(ctx context.Context, _ jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
						jobtype.Settle(ctx, progress, jobtype.Result{}, outcome)
						close(settled)
						<-ctx.Done()
						if outcome == nil {
							return jobtype.Result{Warning: "hook finally: busy"}, nil
						}
						return jobtype.Result{}, fmt.Errorf("%w (hook finally: busy)", outcome)
					})
					b.server.onBeat = end.onBeat
					in := input(`{}`)
					if end.edit != nil {
						end.edit(&in)
					}
					if end.after != nil {
						go func() { <-settled; end.after(b) }()
					}
					b.run(t, in)
					if name == "taken away" && outcome != nil {
						assert.Empty(t, b.server.outcomes(), "another attempt may already run")
						return
					}
					state, _ := b.only(t)
					if outcome != nil {
						state = b.failed(t)
					}
					assert.Equal(t, kind, state.Failure)
					assert.Contains(t, state.Message+state.Result.Warning, "hook finally: busy")
					if kind == contract.FailureDeferred {
						assert.Equal(t, jobtype.Duration(time.Hour), state.Delay)
					}
				})
			})
		}
	}
}

// A handler that still closes when the grace is over keeps its slot, and the work is not done again.
func TestASettledOutcomeIsReportedWhileTheHandlerStillCloses(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*bench, *contract.ExecuteInput){
		"deadline": func(_ *bench, in *contract.ExecuteInput) { in.Timeout = jobtype.Duration(time.Minute) },
		"drain":    func(b *bench, _ *contract.ExecuteInput) { time.AfterFunc(time.Minute, b.activities.Drain) },
		"cancel": func(b *bench, _ *contract.ExecuteInput) {
			b.server.onBeat = func(int) error { return jobtype.ErrCanceled }
		},
	}
	for name, end := range ends {
		for kind, outcome := range map[contract.FailureKind]error{
			contract.FailureNone: nil, contract.FailureFailed: errors.New("exited with status 1"),
			contract.FailureDeferred: jobtype.Defer(time.Hour, "exited with status 75"),
		} {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { testReportedWhileItCloses(t, kind, outcome, end) })
			})
		}
	}
}

func testReportedWhileItCloses(t *testing.T, kind contract.FailureKind, outcome error, end func(*bench, *contract.ExecuteInput)) {
	t.Helper()
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	defer free()
	b := executing(t, func(ctx context.Context, _ jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
		result := jobtype.Result{Output: "printed"}
		jobtype.Settle(ctx, progress, result, outcome)
		<-release
		return result, outcome
	})
	in := input(`{}`)
	end(b, &in)
	returned := b.begin(in)
	time.Sleep(5 * time.Minute)
	state, _ := b.only(t)
	if outcome != nil {
		state = b.failed(t)
	}
	assert.Equal(t, kind, state.Failure)
	assert.Equal(t, "printed", state.Result.Output)
	assert.Equal(t, 1, b.activities.Zombies())
	free()
	require.ErrorIs(t, <-returned, activity.ErrResultPending)
	assert.Len(t, b.server.outcomes(), 1)
}

// The worker ends before it could report. Its next process delivers the outcome, and the work is not done again.
func TestASettledOutcomeIsKeptAtTheEndOfTheWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		b := executing(t, func(ctx context.Context, _ jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
			jobtype.Settle(ctx, progress, jobtype.Result{}, nil)
			<-release
			return jobtype.Result{}, nil
		})
		b.server.onComplete = func(int) error { return errAway }
		returned := b.begin(input(`{}`))
		synctest.Wait()
		b.activities.Abandon()
		require.ErrorIs(t, <-returned, activity.ErrResultPending)
		assert.Equal(t, 1, b.activities.Undelivered())
	})
}

// docs/adr/0098: hooks.timeout bounds a closing hook. Under liveness activity its signs of life count on.
func TestProgressTimeoutDoesNotCountForAHandlerThatCloses(t *testing.T) {
	t.Parallel()
	for _, liveness := range []jobtype.Liveness{jobtype.LivenessProcess, jobtype.LivenessActivity} {
		t.Run(string(liveness), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := executing(t, func(ctx context.Context, _ jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
					jobtype.Settle(ctx, progress, jobtype.Result{}, nil)
					for range 60 {
						time.Sleep(time.Second)
						progress.Alive()
					}
					return jobtype.Result{}, ctx.Err()
				})
				in := input(`{}`)
				in.Liveness, in.StallTimeout = liveness, jobtype.Duration(2*time.Second)
				in.ProgressTimeout, in.Timeout = jobtype.Duration(10*time.Second), jobtype.Duration(time.Hour)
				b.run(t, in)
				_, failure := b.only(t)
				require.NoError(t, failure)
			})
		})
	}
}

// A failure after the end of the context may be the effect of that end.
func TestAnOutcomeIsSettledOnlyIfTheWorkHasEndedByItself(t *testing.T) {
	t.Parallel()
	b := executing(t, func(ctx context.Context, _ jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
		<-ctx.Done()
		err := errors.New("exited with status 143")
		jobtype.Settle(ctx, progress, jobtype.Result{}, err)
		return jobtype.Result{}, err
	}, func(o *Options) { o.CancelGrace = time.Minute })
	in := input(`{}`)
	in.Timeout = jobtype.Duration(20 * time.Millisecond)
	b.run(t, in)
	assert.Equal(t, contract.FailureTimeout, b.failed(t).Failure)
}

// The deadline passes while finally runs. The program is not run again while its hook runs.
func TestAProgramThatHasEndedStaysSoWhileItsHooksRun(t *testing.T) {
	t.Parallel()
	for script, kind := range map[string]contract.FailureKind{
		"exit 0": contract.FailureNone, "exit 1": contract.FailureFailed, "exit 75": contract.FailureDeferred,
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := executing(t, command.New(command.Options{}).Execute)
			in := input(`{}`)
			in.Job.Settings, _ = json.Marshal(map[string]any{
				"command": []string{"sh", "-c", script}, "dir": dir, "exit_codes": map[string]any{"defer": map[string]string{"75": "5m"}},
				"hooks": map[string]any{"finally": []string{"sh", "-c", "touch closing; while [ ! -e enough ]; do sleep 0.01; done"}, "timeout": "5m"},
			})
			returned := b.begin(in)
			require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "closing")); return err == nil }, time.Minute, time.Millisecond)
			b.activities.mu.Lock()
			for r := range b.activities.running {
				r.cancel(jobtype.ErrDeadline)
			}
			b.activities.mu.Unlock()
			require.Eventually(t, func() bool { return len(b.server.outcomes()) == 1 }, time.Minute, time.Millisecond)
			assert.Equal(t, 1, b.activities.Zombies())
			state, failure := b.only(t)
			if kind != contract.FailureNone {
				state = b.failed(t)
			} else {
				require.NoError(t, failure)
			}
			assert.Equal(t, kind, state.Failure)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "enough"), nil, 0o600))
			require.ErrorIs(t, <-returned, activity.ErrResultPending)
		})
	}
}
