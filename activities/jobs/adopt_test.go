package jobs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// absent fails the first beats as if the server were away, and then rejects the first token.
func absent(server *fakeServer, beats int) func(n int) error {
	return func(n int) error {
		switch {
		case n <= beats:
			return errAway
		case server.beaten[n-1] == "":
			return jobtype.ErrLeaseLost
		}
		return nil
	}
}

func TestOrphanContinuesUntilItIsAdopted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		server.onBeat = absent(server, 10)
		b := stalling(server, func(err error) { t.Errorf("unexpected end: %v", err) })
		b.stall, b.grace = 0, time.Minute
		defer b.start(t.Context())()

		time.Sleep(40 * time.Second)
		synctest.Wait()
		assert.Equal(t, 11, server.beatCount(), "an orphan does not beat")
		orphaned, _ := b.hold.describe()
		assert.True(t, orphaned)

		assert.Nil(t, b.hold.adopt(lease{token: []byte("second"), timeout: 3 * time.Second, since: time.Now()}))
		time.Sleep(5*time.Second + time.Millisecond)
		synctest.Wait()
		assert.Equal(t, 17, server.beatCount(), "one beat at once and one a second")
		assert.Equal(t, "second", server.beaten[16])
		orphaned, _ = b.hold.describe()
		assert.False(t, orphaned)
	})
}

func TestOrphanEndsAfterItsGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		server.onBeat = absent(server, 10)
		ctx, cancel := context.WithCancelCause(t.Context())
		b := stalling(server, cancel)
		b.stall, b.grace = 0, time.Minute
		defer b.start(t.Context())()
		time.Sleep(70 * time.Second)
		synctest.Wait()
		require.NoError(t, ctx.Err())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.ErrorIs(t, context.Cause(ctx), jobtype.ErrLeaseLost)
	})
}

// An activity that ended while its worker beat in time has not timed out: its run closed or
// abandoned it, and adopts nothing.
func TestNoOrphanWhereTheServerWasThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{onBeat: func(n int) error {
			if n > 5 {
				return jobtype.ErrLeaseLost
			}
			return nil
		}}
		ctx, cancel := context.WithCancelCause(t.Context())
		b := stalling(server, cancel)
		b.stall, b.grace = 0, time.Minute
		defer b.start(t.Context())()
		time.Sleep(6*time.Second + time.Millisecond)
		synctest.Wait()
		assert.ErrorIs(t, context.Cause(ctx), jobtype.ErrLeaseLost)
	})
}

// A beat that finds the activity gone may be in transit during the adoption.
func TestABeatAndAnAdoptionCross(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		b := stalling(server, func(err error) { t.Errorf("unexpected end: %v", err) })
		b.stall = 0 // and no grace
		server.onBeat = func(int) error {
			if server.beaten[len(server.beaten)-1] == "second" {
				return nil
			}
			assert.Nil(t, b.hold.adopt(lease{token: []byte("second"), timeout: 3 * time.Second, since: time.Now()}))
			return jobtype.ErrLeaseLost
		}
		defer b.start(t.Context())()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Greater(t, server.beatCount(), 8)
	})
}

func (b *bench) adopted(in contract.ExecuteInput) error {
	return <-b.begin(contract.ExecuteInput{Handler: in.Handler, Adopt: true, Job: jobtype.Job{
		ID: in.Job.ID, GroupID: in.Job.GroupID, Attempt: in.Job.Attempt, Fence: in.Job.Fence,
	}})
}

func query(in contract.ExecuteInput) contract.AttemptQueryInput {
	return contract.AttemptQueryInput{GroupID: in.Job.GroupID, JobID: in.Job.ID, Attempt: in.Job.Attempt, Fence: in.Job.Fence}
}

func TestAnAdoptedAttemptReportsThroughTheNewActivity(t *testing.T) {
	t.Parallel()
	release, started := make(chan struct{}), make(chan struct{})
	b := executing(t, func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
		close(started)
		<-release
		return jobtype.Result{Summary: "done"}, nil
	})
	in := input(`{}`)
	in.Job.Fence = 7
	ended := b.begin(in)
	<-started
	r := b.activities.find(keyOf(in.Job.GroupID, in.Job))
	require.NotNil(t, r)
	first, _ := r.hold.current()
	r.hold.adopt(lease{token: []byte("gone")}) // Not the token that every test environment uses.
	state, running, _ := b.activities.Attempt(query(in))
	assert.Equal(t, contract.AttemptRunning, state)
	assert.Equal(t, in.Job.ID, running.JobID)
	require.ErrorIs(t, b.adopted(in), activity.ErrResultPending)
	close(release)
	require.ErrorIs(t, <-ended, activity.ErrResultPending)
	outcome, failure := b.only(t)
	require.NoError(t, failure)
	assert.Equal(t, "done", outcome.Result.Summary)
	assert.Equal(t, []string{string(first.token)}, b.server.answered, "through the activity that came last, and no other")
}

func TestAnAdoptionCrossesTheOutcome(t *testing.T) {
	t.Parallel()
	b := executing(t, quick)
	b.server.onComplete = func(n int) error {
		if n == 1 {
			return jobtype.ErrLeaseLost
		}
		return nil
	}
	in := input(`{}`)
	b.run(t, in)
	require.Len(t, b.server.signals, 1)
	state, _, outcome := b.activities.Attempt(query(in))
	assert.Equal(t, contract.AttemptEnded, state)
	assert.Equal(t, "ok", outcome.Result.Summary)
	require.ErrorIs(t, b.adopted(in), activity.ErrResultPending)
	reported, failure := b.only(t)
	require.NoError(t, failure)
	assert.Equal(t, "ok", reported.Result.Summary)
}

func TestWhatDoesNotRunIsNotAdopted(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, b *bench, in contract.ExecuteInput) {
		t.Helper()
		var application *temporal.ApplicationError
		require.ErrorAs(t, b.adopted(in), &application)
		assert.Equal(t, string(contract.FailureNotRunning), application.Type())
		assert.True(t, application.NonRetryable())
		var state contract.ExecuteState
		require.NoError(t, application.Details(&state))
		assert.Equal(t, []string{"node-a", "i1", "not_running"}, []string{state.Worker, state.Instance, string(state.Failure)})
		assert.Empty(t, b.server.signals, "it is no outcome of the attempt")
	}
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		b := executing(t, quick)
		refused(t, b, input(`{}`))
		state, _, _ := b.activities.Attempt(query(input(`{}`)))
		assert.Equal(t, contract.AttemptUnknown, state)
	})
	t.Run("other fence or attempt, and one that lost its job", func(t *testing.T) {
		t.Parallel()
		release, started := make(chan struct{}), make(chan struct{})
		b := executing(t, func(context.Context, jobtype.Job, jobtype.Progress) (jobtype.Result, error) {
			close(started)
			<-release
			return jobtype.Result{}, errors.New("over")
		})
		in := input(`{}`)
		ended := b.begin(in)
		<-started
		other := in
		other.Job.Fence = 9
		refused(t, b, other)
		other = in
		other.Job.Attempt = 2
		refused(t, b, other)
		b.activities.Fence()
		r := b.activities.find(keyOf(in.Job.GroupID, in.Job))
		for r != nil && r.ctx.Err() == nil {
			<-r.ctx.Done()
		}
		refused(t, b, in)
		close(release)
		require.ErrorIs(t, <-ended, activity.ErrResultPending)
	})
}
