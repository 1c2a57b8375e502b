package gateway

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// held is the lease of a job that runs for a minute.
func held(t *testing.T) (*far, Lease) {
	t.Helper()
	f, w := registered(t)
	l := leased{Worker: "press", Instance: "i0", Token: []byte("t1"), Workflow: "group/nightly", Job: "job-00007", Attempt: 2, Fence: 5, Started: time.Now().UnixMilli()}
	time.Sleep(time.Minute)
	return f, Lease{worker: w, leased: l}
}

func TestAnswersToAHeartbeat(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		fault   error
		overdue bool
		cancel  Cancel
		code    Code
	}{
		"go on":                       {nil, false, "", ""},
		"paused":                      {activity.ErrActivityPaused, false, "", ""},
		"canceled":                    {temporal.NewCanceledError(), false, CancelRequested, ""},
		"canceled and overdue":        {temporal.NewCanceledError(), true, CancelRequested, ""},
		"reset":                       {activity.ErrActivityReset, false, CancelReturn, ""},
		"overdue":                     {nil, true, CancelTimeout, ""},
		"taken away":                  {serviceerror.NewNotFound("no such activity"), true, "", CodeLeaseLost},
		"refused":                     {serviceerror.NewInvalidArgument("too large"), false, "", CodeInvalid},
		"no server":                   {serviceerror.NewUnavailable("no"), false, "", CodeUnavailable},
		"overdue and no server":       {serviceerror.NewUnavailable("no"), true, "", CodeUnavailable},
		"an answer of a later server": {errors.New("invented"), false, "", CodeUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, l := held(t)
			f.faults.beat = row.fault
			if row.overdue {
				l.leased.Deadline = time.Now().UnixMilli()
			}
			percent := 40.0
			cancel, err := l.Heartbeat(t.Context(), Progress{Percent: &percent, Stage: "copy", Message: "a", Checkpoint: []byte(`{"at":7}`)})
			refused := requireCode(t, row.code, err, name)
			assert.Equal(t, row.cancel, cancel, name)
			require.Len(t, f.beats, 1, name)
			beat := f.beats[0]
			assert.Equal(t, []any{40.0, "copy", "a", `{"at":7}`, "press"}, []any{beat.Percent, beat.Stage, beat.Message, string(beat.Checkpoint), beat.Worker})
			if row.code == CodeLeaseLost {
				assert.False(t, refused.Delivered)
			}
		})
	}
}

// A report without a percentage is unknown, not the beginning. A checkpoint that is too large is not sent.
func TestReportsOfProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, l := held(t)
		_, err := l.Heartbeat(t.Context(), Progress{})
		require.NoError(t, err)
		assert.Negative(t, f.beats[0].Percent)
		assert.Empty(t, f.beats[0].Checkpoint)
		_, err = l.Heartbeat(t.Context(), Progress{Checkpoint: make([]byte, jobtype.MaxCheckpointBytes)})
		require.NoError(t, err)
		_, err = l.Heartbeat(t.Context(), Progress{Checkpoint: make([]byte, jobtype.MaxCheckpointBytes+1)})
		_ = requireCode(t, CodeInvalid, err)
		assert.Len(t, f.beats, 2)
	})
}

// The activity at the server ends the attempt. If it is gone, the run gets a message, and the client LEASE_LOST.
func TestASuccessIsDelivered(t *testing.T) {
	t.Parallel()
	gone := serviceerror.NewNotFound("no such activity")
	for name, row := range map[string]struct {
		end, signal error
		want        Code
		signals     int
	}{
		"taken":                    {nil, nil, "", 0},
		"late":                     {gone, nil, CodeLeaseLost, 1},
		"the run is gone":          {gone, serviceerror.NewNotFound("no such workflow"), CodeLeaseLost, 1},
		"late and not deliverable": {gone, serviceerror.NewUnavailable("no"), CodeUnavailable, 1},
		"no server":                {serviceerror.NewUnavailable("no"), nil, CodeUnavailable, 0},
		"the gateway stops":        {context.Canceled, nil, CodeUnavailable, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, l := held(t)
			f.faults.end, f.faults.signal = row.end, row.signal
			err := l.Complete(t.Context(), jobtype.Result{Output: "done"})
			refused := requireCode(t, row.want, err, name)
			require.Len(t, f.ends, 1, name)
			state := f.ends[0].state(t)
			assert.Equal(t, []any{"t1", contract.FailureNone, "done", "press", "i0", int64(60_000)},
				[]any{f.ends[0].token, state.Failure, state.Result.Output, state.Worker, state.Instance, state.DurationMS}, name)
			assert.True(t, state.StartedAt.IsZero(), "it would claim to know the worker's other slots")
			require.Len(t, f.signals, row.signals, name)
			if row.signals > 0 {
				assert.Equal(t, contract.JobOutcomeInput{JobID: "job-00007", Attempt: 2, Fence: 5, Outcome: state}, f.signals[0])
			}
			assert.Equal(t, row.want == CodeLeaseLost, refused != nil && refused.Delivered, name)
		})
	}
}

// A result that is too large can be sent again in a smaller form. One that only the server refuses ends the job.
func TestResultsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, l := held(t)
		large := jobtype.Result{Data: map[string]any{"x": strings.Repeat("x", jobtype.MaxResultBytes)}}
		_ = requireCode(t, CodeInvalid, l.Complete(t.Context(), large))
		assert.Empty(t, f.ends)
		require.NoError(t, l.Complete(t.Context(), jobtype.Result{Output: strings.Repeat("x", 10*jobtype.MaxOutputBytes)}), "of an output the end is kept")
		assert.LessOrEqual(t, len(f.ends[0].state(t).Result.Output), jobtype.MaxOutputBytes)

		f.ends, f.faults.end = nil, serviceerror.NewInvalidArgument("blob too large")
		require.NoError(t, l.Complete(t.Context(), jobtype.Result{Output: "done"}))
		require.Len(t, f.ends, 2)
		assert.Equal(t, contract.FailurePermanent, f.ends[1].state(t).Failure)
	})
}

func TestKindsOfFailures(t *testing.T) {
	t.Parallel()
	hour := jobtype.Duration(time.Hour)
	for name, row := range map[string]struct {
		end     func(Lease, context.Context, Failure) error
		in      Failure
		overdue bool
		want    contract.FailureKind
	}{
		"failed":                      {Lease.Fail, Failure{}, false, contract.FailureFailed},
		"overdue":                     {Lease.Fail, Failure{}, true, contract.FailureTimeout},
		"permanent":                   {Lease.Fail, Failure{Permanent: true}, true, contract.FailurePermanent},
		"cannot start":                {Lease.Fail, Failure{NotStarted: CannotStart, Permanent: true}, true, contract.FailureCannotStart},
		"not installed":               {Lease.Fail, Failure{NotStarted: NotInstalled}, false, contract.FailureNotInstalled},
		"a reason of a later worker":  {Lease.Fail, Failure{NotStarted: "invented"}, false, contract.FailureFailed},
		"deferred":                    {Lease.Fail, Failure{Defer: hour}, true, contract.FailureDeferred},
		"deferred by a guard":         {Lease.Fail, Failure{Defer: hour, Guard: true}, false, contract.FailureGuard},
		"the shortest deferral":       {Lease.Fail, Failure{Defer: jobtype.MinDeferral}, false, contract.FailureDeferred},
		"the longest deferral":        {Lease.Fail, Failure{Defer: jobtype.MaxDeferral}, false, contract.FailureDeferred},
		"canceled":                    {Lease.Canceled, Failure{}, true, contract.FailureCanceled},
		"returned by a stopping node": {Lease.Return, Failure{}, true, contract.FailureDraining},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, l := held(t)
			if row.overdue {
				l.leased.Deadline = time.Now().UnixMilli()
			}
			row.in.Output, row.in.Checkpoint = "printed", []byte(`7`)
			require.NoError(t, row.end(l, t.Context(), row.in), name)
			row.in.Message = "no space"
			require.NoError(t, row.end(l, t.Context(), row.in), name)
			require.Len(t, f.ends, 2, name)
			silent, state := f.ends[0].state(t), f.ends[1].state(t)
			assert.Equal(t, string(row.want), silent.Message, "a failure without a text has that of its kind")
			assert.Equal(t, []any{row.want, "no space", "printed", "7", row.in.Defer}, []any{state.Failure, state.Message, state.Result.Output, string(state.Checkpoint), state.Delay}, name)
		})
	}
}

// A detection ends with its cursor, and its failure has no outcome of a job.
func TestTheEndOfADetection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, l := held(t)
		l.leased.Detection = true
		_ = requireCode(t, CodeInvalid, l.Complete(t.Context(), jobtype.Result{}))
		assert.Empty(t, f.ends)
		require.NoError(t, l.Fail(t.Context(), Failure{Message: "no cluster", Permanent: true}))
		require.Len(t, f.ends, 1)
		failed, ok := errors.AsType[*temporal.ApplicationError](f.ends[0].failure)
		require.True(t, ok)
		assert.Equal(t, []string{"permanent", "no cluster"}, []string{failed.Type(), failed.Message()})
		assert.False(t, failed.HasDetails())

		f.faults.end = serviceerror.NewNotFound("no such activity")
		refused := requireCode(t, CodeLeaseLost, l.Return(t.Context(), Failure{}))
		assert.False(t, refused.Delivered, "no run hears of a late detection")
		assert.Empty(t, f.signals)
	})
}
