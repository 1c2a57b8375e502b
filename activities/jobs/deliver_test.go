package jobs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func quick(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
	return jobtype.Result{Summary: "ok"}, nil
}

func withOutbox(t *testing.T, dir string) func(*Options) {
	t.Helper()
	outbox, err := OpenOutbox(dir, nil)
	require.NoError(t, err)
	return func(o *Options) { o.Outbox = outbox }
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"+outboxSuffix))
	require.NoError(t, err)
	return found
}

func TestDeliveryRepeatsUntilTheServerIsBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := executing(t, quick, withOutbox(t, dir))
	b.server.onComplete = func(n int) error {
		if n == 2 {
			assert.Len(t, files(t, dir), 1, "kept on disk after the first failure")
		}
		if n < 4 {
			return errAway
		}
		return nil
	}
	b.run(t, input(`{}`))
	state, failure := b.only(t)
	require.NoError(t, failure)
	assert.Equal(t, "ok", state.Result.Summary)
	assert.Empty(t, files(t, dir), "removed once delivered")
}

func TestDeliveryTellsTheGroupWhatTheServerGaveUp(t *testing.T) {
	t.Parallel()
	b := executing(t, quick)
	b.server.onComplete = func(n int) error {
		if n == 1 {
			return errAway
		}
		return jobtype.ErrLeaseLost
	}
	b.server.onSignal = func(n int) error {
		if n == 1 {
			return errAway
		}
		return nil
	}
	b.run(t, input(`{}`))
	assert.Empty(t, b.server.outcomes())
	require.Len(t, b.server.signals, 1)
	assert.Equal(t, "job-00001", b.server.signals[0].JobID)
	assert.Equal(t, 1, b.server.signals[0].Attempt)
	assert.Equal(t, "ok", b.server.signals[0].Outcome.Result.Summary)
	assert.Equal(t, 2, b.server.completes, "a lost activity is not asked for again")
}

func TestDeliveryEndsWhenNobodyIsLeft(t *testing.T) {
	t.Parallel()
	b := executing(t, quick)
	b.server.onComplete = func(int) error { return jobtype.ErrLeaseLost }
	b.server.onSignal = func(int) error { return jobtype.ErrLeaseLost }
	b.run(t, input(`{}`))
	assert.Empty(t, b.server.signals)
}

func TestDeliveryOfARefusedResultBecomesAFailure(t *testing.T) {
	t.Parallel()
	b := executing(t, quick)
	b.server.onComplete = func(n int) error {
		if n == 1 {
			return &RejectedError{Err: errors.New("payload too large")}
		}
		return nil
	}
	b.run(t, input(`{}`))
	state := b.failed(t)
	assert.Equal(t, contract.FailurePermanent, state.Failure)
	assert.Contains(t, state.Message, "payload too large")
}

func TestOutboxSurvivesTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := executing(t, quick, withOutbox(t, dir))
	first.server.onComplete = func(int) error { return errAway }
	var returned sync.WaitGroup
	returned.Go(func() { first.run(t, input(`{}`)) })
	require.Eventually(t, func() bool { return len(files(t, dir)) == 1 }, time.Minute, time.Millisecond)
	first.activities.Abandon()
	returned.Wait()

	second := executing(t, quick, withOutbox(t, dir))
	done, err := second.activities.DeliverOutbox()
	require.NoError(t, err)
	<-done
	state, failure := second.only(t)
	require.NoError(t, failure)
	assert.Equal(t, "ok", state.Result.Summary)
	assert.Empty(t, files(t, dir))
}

func TestOutboxLeavesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad"+outboxSuffix)
	require.NoError(t, os.WriteFile(bad, []byte("{"), 0o600))
	b := executing(t, quick, withOutbox(t, dir))
	done, err := b.activities.DeliverOutbox()
	require.NoError(t, err)
	<-done
	assert.Empty(t, b.server.outcomes())
	assert.Equal(t, []string{bad}, files(t, dir))
}

// A server that hangs does not answer within the request timeout.
func TestOutcomeIsKeptWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := executing(t, quick, withOutbox(t, dir))
	b.server.onComplete = func(int) error {
		assert.Eventually(t, func() bool { return len(files(t, dir)) == 1 }, time.Minute, time.Millisecond, "not only when the request has timed out")
		assert.Equal(t, 1, b.activities.Undelivered())
		return nil
	}
	b.run(t, input(`{}`))
	state, failure := b.only(t)
	require.NoError(t, failure)
	assert.Equal(t, "ok", state.Result.Summary)
	assert.Empty(t, files(t, dir))
	assert.Zero(t, b.activities.Undelivered())
}

// An outcome that the disk refuses still counts as undelivered.
func TestOutcomeThatCannotBeKeptIsCounted(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]func(*Options){"no data directory": nil, "a file is in its place": {withOutbox(t, filepath.Join(t.TempDir(), "outbox"))}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := executing(t, quick, options...)
			if outbox := b.activities.options.Outbox; outbox != nil {
				require.NoError(t, os.Remove(outbox.dir))
				require.NoError(t, os.WriteFile(outbox.dir, nil, 0o600))
			}
			b.server.onComplete = func(n int) error {
				if n < 3 {
					return errAway
				}
				assert.Equal(t, 1, b.activities.Undelivered())
				return nil
			}
			b.run(t, input(`{}`))
			assert.Zero(t, b.activities.Undelivered())
		})
	}
}

// A deleted data directory is created again.
func TestOutboxIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "workers", "a.outbox")
	b := executing(t, quick, withOutbox(t, dir))
	require.NoError(t, os.RemoveAll(filepath.Dir(dir)))
	b.server.onComplete = func(n int) error {
		if n == 1 {
			return errAway
		}
		assert.Len(t, files(t, dir), 1)
		return nil
	}
	b.run(t, input(`{}`))
	assert.Empty(t, files(t, dir))
}
