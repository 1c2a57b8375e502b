package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// job is the input of the second attempt of a job.
func job(change func(*contract.ExecuteInput)) contract.ExecuteInput {
	in := contract.ExecuteInput{
		Handler: "command", Timeout: jobtype.Duration(time.Hour), ProgressTimeout: jobtype.Duration(time.Minute), StopAfter: jobtype.Duration(9 * time.Second),
		Job: jobtype.Job{ID: "job-00007", GroupID: "group/nightly", JobType: "nightly", Attempt: 2, Fence: 5, Params: json.RawMessage(`{"path":"/a"}`), Checkpoint: json.RawMessage(`3`)},
	}
	if change != nil {
		change(&in)
	}
	return in
}

// polled polls once with the tasks at the server.
func polled(t *testing.T, f *far, w Worker, in PollInput, inputs ...any) *Job {
	t.Helper()
	for _, input := range inputs {
		f.service.tasks = append(f.service.tasks, task("t1", input, 30*time.Minute))
	}
	got, err := w.PollJob(t.Context(), in)
	require.NoError(t, err)
	return got
}

// A job is complete. Its lease is valid for the next process of the worker, and for no other worker.
func TestAPolledJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		got := polled(t, f, w, PollInput{Wait: time.Minute}, job(nil))
		require.NotNil(t, got)
		want := job(nil).Job
		deadline := time.Now().Add(30 * time.Minute).UTC()
		want.WorkerID, want.Deadline, want.Run.ID = "press", deadline, "group/nightly"
		assert.Equal(t, want, got.Job)
		assert.Equal(t, []any{"command", jobtype.Duration(6 * time.Second), jobtype.Duration(2 * time.Second), jobtype.Duration(time.Hour), jobtype.Duration(time.Minute), jobtype.Duration(9 * time.Second), ""},
			[]any{got.Handler, got.HeartbeatTimeout, got.HeartbeatInterval, got.Timeout, got.ProgressTimeout, got.StopAfter, got.Replaces})
		require.Len(t, f.service.polls, 1)
		assert.Equal(t, []string{"press", "press@vm:7", contract.WorkerQueue("press", "i1")},
			[]string{f.service.polls[0].GetNamespace(), f.service.polls[0].GetIdentity(), f.service.polls[0].GetTaskQueue().GetName()})

		next := Worker{near(t, &far{}), identity{ID: "press", Instance: "i2"}}
		l, err := next.Lease(got.Lease)
		require.NoError(t, err)
		assert.False(t, l.Detection())
		assert.Equal(t, leased{
			Worker: "press", Instance: "i1", Token: []byte("t1"), Workflow: "group/nightly", Job: "job-00007", Attempt: 2, Fence: 5,
			Started: time.Now().UnixMilli(), Deadline: deadline.UnixMilli(),
		}, l.leased)
		_, err = Worker{w.g, identity{ID: "mill", Instance: "i1"}}.Lease(got.Lease)
		_ = requireCode(t, CodeNotYours, err)
		_, err = w.Lease(got.Lease + "A")
		_ = requireCode(t, CodeBadToken, err)
	})
}

// The server ends an attempt at its own limit, so an earlier limit of the job type holds, and a later one does not.
func TestTheDeadlineOfAJob(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ own, server, want time.Duration }{
		{0, 0, 0}, {time.Hour, 0, time.Hour}, {0, time.Hour, time.Hour}, {time.Hour, time.Minute, time.Minute}, {time.Minute, time.Hour, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, w := registered(t)
			in := contract.ExecuteInput{Timeout: jobtype.Duration(row.own)}
			l := w.lease(task("t1", in, row.server), in)
			if row.want == 0 {
				assert.True(t, l.deadline().IsZero(), "%+v", row)
				assert.False(t, l.overdue())
				return
			}
			assert.Equal(t, time.Now().Add(row.want).UTC(), l.deadline(), "%+v", row)
			assert.Equal(t, "group/outer", l.Workflow, "an old run names no group")
			time.Sleep(row.want - time.Millisecond)
			assert.False(t, l.overdue())
			time.Sleep(time.Millisecond)
			assert.True(t, l.overdue())
		})
	}
}

// A task that this worker cannot take goes back at once, and the poll continues.
func TestTasksThatAreReturned(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		input any
		in    PollInput
		want  contract.FailureKind
	}{
		"not readable":            {"text", PollInput{}, contract.FailurePermanent},
		"no free slot":            {job(nil), PollInput{Full: true}, contract.FailureAtCapacity},
		"adoption of none":        {job(func(in *contract.ExecuteInput) { in.Adopt = true }), PollInput{}, contract.FailureNotRunning},
		"without its common part": {job(func(in *contract.ExecuteInput) { in.Common, in.Job.Params = "c0ffee", nil }), PollInput{}, contract.FailureAtCapacity},
		"of a lost page":          {job(func(in *contract.ExecuteInput) { in.Ref = &contract.ProposalRef{Page: "p"} }), PollInput{}, contract.FailurePermanent},
		"params of another type":  {job(func(in *contract.ExecuteInput) { in.ProposalParams = json.RawMessage(`[1]`) }), PollInput{}, contract.FailurePermanent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, w := registered(t)
				f.faults.common = serviceerror.NewQueryFailed("unknown")
				row.in.Wait = 10 * time.Second
				begun := time.Now()
				assert.Nil(t, polled(t, f, w, row.in, row.input))
				require.Len(t, f.ends, 1)
				state := f.ends[0].state(t)
				assert.Equal(t, []any{"t1", row.want, "press", "i1"}, []any{f.ends[0].token, state.Failure, state.Worker, state.Instance})
				assert.Zero(t, state.DurationMS, "it did not run")
				assert.Len(t, f.service.polls, 2)
				assert.LessOrEqual(t, 10*time.Second, time.Since(begun))
			})
		})
	}
}

// An operator who drains a worker during its poll gets the task back, and a drain that has ended keeps nothing.
func TestAWorkerThatIsHeldDuringItsPoll(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		before, after contract.WorkerSettings
		given         bool
	}{
		"held":           {contract.WorkerSettings{Known: true, Held: true}, contract.WorkerSettings{Known: true, Held: true}, false},
		"no longer held": {contract.WorkerSettings{Known: true, Held: true}, contract.WorkerSettings{Known: true}, true},
		"removed":        {contract.WorkerSettings{Known: true, Held: true}, contract.WorkerSettings{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, w := registered(t)
				f.known[press.incarnation()] = row.before
				f.service.polled = func() { f.known[press.incarnation()] = row.after }
				got := polled(t, f, w, PollInput{}, job(nil))
				assert.Equal(t, row.given, got != nil)
				if !row.given {
					require.Len(t, f.ends, 1)
					assert.Equal(t, contract.FailureDraining, f.ends[0].state(t).Failure)
				}
			})
		})
	}
}

// A client that hung up must not keep the task: its run waits for a heartbeat otherwise.
func TestAClientThatHangsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		gone := errors.New("hung up")
		ctx, cancel := context.WithCancelCause(t.Context())
		f.service.tasks = append(f.service.tasks, task("t1", job(nil), 0))
		f.service.polled = func() { cancel(gone) }
		got, err := w.PollJob(ctx, PollInput{Wait: time.Minute})
		require.ErrorIs(t, err, gone)
		assert.Nil(t, got)
		require.Len(t, f.ends, 1)
		assert.Equal(t, contract.FailureDraining, f.ends[0].state(t).Failure)

		waits, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { end(gone) })
		_, err = w.PollJob(waits, PollInput{Wait: time.Minute})
		require.ErrorIs(t, err, gone)
		assert.Len(t, f.ends, 1)
	})
}

// The server's answer to an empty poll comes before the client's time is over, and no poll is shorter than it can be.
func TestTheTimeOfAPoll(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]time.Duration{
		-time.Hour: 2500 * time.Millisecond, 0: 2500 * time.Millisecond, time.Second: 2500 * time.Millisecond, 10 * time.Second: 11 * time.Second, time.Hour: 61 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			f, w := registered(t)
			assert.Nil(t, polled(t, f, w, PollInput{Wait: wait}))
			assert.Equal(t, []time.Duration{want}, f.service.limits, wait)
		})
	}
}

func TestPollsWithoutATask(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fault error
		want  Code
	}{
		"an unavailable server":  {serviceerror.NewUnavailable("no"), CodeUnavailable},
		"a missing right":        {serviceerror.NewPermissionDenied("no", ""), CodeUnavailable},
		"the end of a long poll": {serviceerror.NewDeadlineExceeded("no task"), ""},
		"the end of its context": {context.DeadlineExceeded, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, w := registered(t)
			f.service.fault = row.fault
			got, err := w.PollJob(t.Context(), PollInput{})
			_ = requireCode(t, row.want, err, name)
			assert.Nil(t, got)
			found, err := w.PollDetection(t.Context(), 0)
			_ = requireCode(t, row.want, err, name)
			assert.Nil(t, found)
		})
	}
}

// The server takes no poll of a worker that must register again; without an answer of the registry it does.
func TestPollsOfAnUnknownWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		delete(f.known, press.incarnation())
		_, err := w.PollJob(t.Context(), PollInput{})
		_ = requireCode(t, CodeUnknownWorker, err)
		_, err = w.PollDetection(t.Context(), 0)
		_ = requireCode(t, CodeUnknownWorker, err)
		assert.Empty(t, f.service.polls)
		f.faults.registry = errors.New("silent")
		assert.NotNil(t, polled(t, f, w, PollInput{}, job(nil)))
	})
}

// The common part of a run's jobs is queried once, and the next job finds it.
func TestAJobWithoutItsCommonPart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		bare := job(func(in *contract.ExecuteInput) { in.Common, in.Job.Params = "c0ffee", nil })
		for range 2 {
			got := polled(t, f, w, PollInput{}, bare)
			require.NotNil(t, got)
			assert.JSONEq(t, `{"of":"c0ffee"}`, string(got.Params))
		}
		assert.Equal(t, 1, f.commons)
	})
}

// A run that lost contact gives a running job another lease. Its time continues, and only its own attempt is adopted.
func TestAnAdoptedJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, w := registered(t)
		had := polled(t, f, w, PollInput{}, job(nil))
		begun := time.Now()
		time.Sleep(time.Minute)
		adopt := job(func(in *contract.ExecuteInput) { in.Adopt = true })
		f.service.tasks = append(f.service.tasks, task("t2", adopt, time.Hour))
		got, err := w.PollJob(t.Context(), PollInput{Full: true, Running: []string{"garbage", had.Lease}})
		require.NoError(t, err)
		require.NotNil(t, got, "a full worker adopts, since it needs no slot")
		assert.Equal(t, had.Lease, got.Replaces)
		assert.Equal(t, []any{"job-00007", "group/nightly", 2, int64(5), "press"}, []any{got.ID, got.GroupID, got.Attempt, got.Fence, got.WorkerID})
		l, err := w.Lease(got.Lease)
		require.NoError(t, err)
		assert.Equal(t, []any{"t2", begun.UnixMilli()}, []any{string(l.leased.Token), l.leased.Started})
		assert.Empty(t, f.ends)

		for name, change := range map[string]func(*contract.ExecuteInput){
			"another run":     func(in *contract.ExecuteInput) { in.Job.GroupID = "group/daily" },
			"another job":     func(in *contract.ExecuteInput) { in.Job.ID = "job-00008" },
			"a later attempt": func(in *contract.ExecuteInput) { in.Job.Attempt = 3 },
			"a reset run":     func(in *contract.ExecuteInput) { in.Job.Fence = 6 },
		} {
			f.ends = nil
			other := adopt
			change(&other)
			assert.Nil(t, polled(t, f, w, PollInput{Running: []string{had.Lease}}, other), name)
			require.Len(t, f.ends, 1, name)
			assert.Equal(t, contract.FailureNotRunning, f.ends[0].state(t).Failure, name)
		}
		stranger := Worker{w.g, identity{ID: "mill", Instance: "i9"}}
		f.known[stranger.who.incarnation()] = contract.WorkerSettings{Known: true}
		assert.Nil(t, polled(t, f, stranger, PollInput{Running: []string{had.Lease}}, adopt), "the lease of another worker")
	})
}

func TestTheIntervalOfHeartbeats(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]time.Duration{-1: 5 * time.Second, 0: 5 * time.Second, 3 * time.Second: time.Second, 15 * time.Second: 5 * time.Second, time.Hour: 5 * time.Second} {
		assert.Equal(t, jobtype.Duration(want), beatEvery(timeout), timeout)
	}
}
