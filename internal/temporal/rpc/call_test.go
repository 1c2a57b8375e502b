package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

// answerOf is the error of the SDK's client for an answer with the code.
func answerOf(code codes.Code) error {
	return serviceerror.FromStatus(status.New(code, "no"))
}

// Only an unavailable server gets the call again. A code that a later server invents counts as final.
func TestOnlyAnUnavailableServerIsAskedAgain(t *testing.T) {
	t.Parallel()
	repeated := map[codes.Code]bool{codes.Unavailable: true, codes.ResourceExhausted: true, codes.Aborted: true, codes.DeadlineExceeded: true}
	for code := codes.Canceled; code <= codes.Unauthenticated+1; code++ {
		for _, wrapped := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				calls, refused := 0, answerOf(code)
				if wrapped {
					refused = fmt.Errorf("list the runs: %w", refused)
				}
				err := rpc.Retry(t.Context(), func(context.Context) error {
					if calls++; calls < 3 {
						return refused
					}
					return nil
				})
				if repeated[code] {
					require.NoError(t, err, code)
					assert.Equal(t, 3, calls, code)
				} else {
					require.Equal(t, refused, err, "the error is returned as it is")
					assert.Equal(t, 1, calls, code)
				}
			})
		}
	}
}

// failedTask is the answer to a query while tasks of the workflow fail, as those of a Schedule do on a busy server.
func failedTask() error {
	return serviceerror.FromStatus(serviceerror.ToStatus(serviceerror.NewWorkflowNotReady("Unable to query workflow due to Workflow Task in failed state.")))
}

// The code of this error is a refusal's, and the call is repeated.
func TestACallToAWorkflowWhoseTasksFailIsRepeated(t *testing.T) {
	t.Parallel()
	require.Equal(t, codes.FailedPrecondition, rpc.Code(failedTask()))
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		err := rpc.Retry(t.Context(), func(context.Context) error {
			if time.Since(begun) < 15*time.Second {
				return fmt.Errorf("describe Schedule jobtype/scrub: %w", failedTask())
			}
			return nil
		})
		require.NoError(t, err)
		err = rpc.Retry(t.Context(), func(context.Context) error { return failedTask() })
		assert.True(t, rpc.NotReady(err), "it ends with the patience of other calls")
	})
	assert.False(t, rpc.NotReady(answerOf(codes.FailedPrecondition)))
}

// The pause doubles up to two seconds. The last call begins after twenty seconds, and its error is the result.
func TestPausesOfARepeatedCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		begun := time.Now()
		err := rpc.Retry(t.Context(), func(context.Context) error {
			at = append(at, time.Since(begun))
			return fmt.Errorf("call %d: %w", len(at), answerOf(codes.Unavailable))
		})
		const ms = time.Millisecond
		assert.Equal(t, []time.Duration{0, 100 * ms, 300 * ms, 700 * ms, 1500 * ms, 3100 * ms, 5100 * ms, 7100 * ms, 9100 * ms}, at[:9])
		assert.Equal(t, 21100*ms, at[len(at)-1])
		require.ErrorContains(t, err, fmt.Sprintf("call %d: ", len(at)))
		assert.Equal(t, codes.Unavailable, rpc.Code(err))
	})
}

// A silent server costs ten seconds a call. The caller's context stays as it is.
func TestASilentServerIsAskedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, calls := time.Now(), 0
		err := rpc.Retry(t.Context(), func(ctx context.Context) error {
			calls++
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, t.Context().Err())
		assert.Equal(t, 2, calls)
		assert.Equal(t, 20100*time.Millisecond, time.Since(begun))
	})
}

// The error has the cause of the caller's end and the server's last answer. A call that succeeded meanwhile has none.
func TestTheCallerEndsARepeatedCall(t *testing.T) {
	t.Parallel()
	stopped := errors.New("the control plane stops")
	for name, row := range map[string]struct {
		answer error
		// during ends the caller during the call; otherwise it ends during the pause.
		during bool
		want   []error
	}{
		"during a call":         {answerOf(codes.Unavailable), true, []error{stopped, &serviceerror.Unavailable{}}},
		"during a final answer": {answerOf(codes.NotFound), true, []error{stopped, &serviceerror.NotFound{}}},
		"during the pause":      {answerOf(codes.Unavailable), false, []error{stopped}},
		"after a success":       {nil, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				calls := 0
				err := rpc.Retry(ctx, func(call context.Context) error {
					calls++
					if row.during {
						cancel(stopped)
						assert.ErrorIs(t, context.Cause(call), stopped, "the call ends too")
					} else {
						time.AfterFunc(time.Millisecond, func() { cancel(stopped) })
					}
					return row.answer
				})
				assert.Equal(t, 1, calls)
				if row.want == nil {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, stopped)
				if len(row.want) > 1 {
					require.ErrorIs(t, err, row.answer)
				}
			})
		})
	}
}

func TestTheCodeOfAnError(t *testing.T) {
	t.Parallel()
	for want, err := range map[codes.Code]error{
		codes.OK:               nil,
		codes.Unknown:          errors.New("broken"),
		codes.Canceled:         fmt.Errorf("wait: %w", context.Canceled),
		codes.DeadlineExceeded: fmt.Errorf("wait: %w", context.DeadlineExceeded),
		codes.NotFound:         fmt.Errorf("describe: %w", serviceerror.NewNotFound("gone")),
		codes.PermissionDenied: status.Error(codes.PermissionDenied, "no"),
	} {
		assert.Equal(t, want, rpc.Code(err), "%v", err)
	}
}

// Either attribute may be the missing one. The remedy leaves the error recognizable.
func TestAMissingSearchAttributeIsExplained(t *testing.T) {
	t.Parallel()
	require.NoError(t, rpc.Advised(nil))
	other := serviceerror.NewInvalidArgument("Namespace default has no mapping defined for search attribute Other")
	assert.Same(t, other, rpc.Advised(other))
	for _, name := range []string{contract.SearchAttributeJobType, contract.SearchAttributeOutcome} {
		refused := serviceerror.NewInvalidArgument("Namespace default has no mapping defined for search attribute " + name)
		err := rpc.Advised(refused)
		require.ErrorIs(t, err, refused)
		require.ErrorContains(t, err, "roundsman doctor")
	}
}

func TestAMissingNamespaceIsExplained(t *testing.T) {
	t.Parallel()
	missing := serviceerror.NewNamespaceNotFound("press")
	text := rpc.Advise(fmt.Errorf("start the run: %w", missing))
	assert.Contains(t, text, "start the run: ")
	assert.Contains(t, text, "temporal operator namespace create --namespace press --retention 72h")
	assert.Equal(t, "gone", rpc.Advise(serviceerror.NewNotFound("gone")))
}

// A caller distinguishes a refused argument from a failure, and the fault within it.
func TestARefusedArgumentIsRecognized(t *testing.T) {
	t.Parallel()
	fault := errors.New("it is empty")
	err := fmt.Errorf("start: %w", rpc.Invalidf("parameter %q: %w", "path", fault))
	var invalid *rpc.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.ErrorIs(t, err, fault)
	assert.Equal(t, `parameter "path": it is empty`, invalid.Error())
}
