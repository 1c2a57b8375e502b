package jobtypes_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
	"github.com/roundsman/roundsman/testsuite"
)

// meddled dials a server of its own and intercepts the requests.
func meddled(t *testing.T, meddle func(ctx context.Context, request any, call func() error) error) (*starter.Client, *testsuite.Server) {
	t.Helper()
	server := testsuite.StartServer(t)
	between := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		return meddle(ctx, request, func() error { return invoke(ctx, method, request, reply, conn, options...) })
	}
	temporal := server.Client(t, func(options *client.Options) {
		options.DataConverter = starter.DataConverter()
		options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(between))
	})
	return starter.New(temporal, testsuite.DefaultNamespace, nil), server
}

func TestPartialFailureTellsWhatWasDone(t *testing.T) {
	t.Parallel()
	var refuse, hiccups atomic.Int32
	refuse.Store(1)
	c, _ := meddled(t, func(_ context.Context, request any, call func() error) error {
		create, ok := request.(*workflowservice.CreateScheduleRequest)
		switch {
		case ok && create.GetScheduleId() == contract.ScheduleID("a") && hiccups.Add(1) <= 2:
			return status.Error(codes.Unavailable, "hiccup")
		case ok && create.GetScheduleId() == contract.ScheduleID("b") && refuse.Load() == 1:
			return status.Error(codes.PermissionDenied, "not you")
		}
		return call()
	})
	plan := planOf(t, c, nil, applied("a"), applied("b"), applied("c"))
	var told []string
	result, err := jobtypes.Of(c).ApplyTelling(t.Context(), plan, func(change jobtypes.Change, err error) {
		told = append(told, fmt.Sprintf("%s %t", change.JobType, err == nil))
	})
	assert.Equal(t, []string{"a true", "b false", "c true"}, told, "in order, though a takes longest")
	require.ErrorContains(t, err, "2 changes applied, 1 failed, 0 not attempted")
	assert.ErrorContains(t, err, "create b: create Schedule jobtype/b: not you")
	assert.Equal(t, map[string]jobtypes.ChangeAction{"a": jobtypes.ActionCreate, "c": jobtypes.ActionCreate}, actions(result.Applied))
	assert.Equal(t, "b", result.Failed[0].JobType)

	refuse.Store(0)
	result, err = jobtypes.Of(c).Apply(t.Context(), plan)
	require.NoError(t, err)
	assert.Equal(t, map[string]jobtypes.ChangeAction{"b": jobtypes.ActionCreate}, actions(result.Applied))
	assert.Equal(t, 2, result.Unchanged)
}

// A person pauses the job type between read and write. The write must not undo the pause.
func TestAPauseBetweenLookAndWriteIsKept(t *testing.T) {
	t.Parallel()
	var updates atomic.Int32
	var operator atomic.Pointer[starter.Client]
	c, server := meddled(t, func(ctx context.Context, request any, call func() error) error {
		if _, ok := request.(*workflowservice.UpdateScheduleRequest); ok && updates.Add(1) == 1 {
			if err := jobtypes.Of(operator.Load()).Pause(ctx, "a", "wait for me"); err != nil {
				return err
			}
		}
		return call()
	})
	operator.Store(dialAt(t, server.Address()))
	apply(t, c, nil, applied("a"))
	result := apply(t, c, nil, applied("a", retries(2)))
	assert.Equal(t, map[string]jobtypes.ChangeAction{"a": jobtypes.ActionUpdate}, actions(result.Applied))
	assert.Equal(t, int32(2), updates.Load(), "the first write was dropped, the second saw the pause")
	read, err := jobtypes.Of(c).Get(t.Context(), "a")
	require.NoError(t, err)
	assert.Equal(t, 2, read.Spec.Policy.RetryLimit)
	assert.True(t, read.Paused)
	assert.Equal(t, "wait for me", read.PauseNote)
}

// The Schedule is deleted, created or replaced between read and write.
func TestScheduleVanishesBetweenLookAndWrite(t *testing.T) {
	t.Parallel()
	var updates atomic.Int32
	var other atomic.Pointer[starter.Client]
	c, server := meddled(t, func(ctx context.Context, request any, call func() error) error {
		if _, ok := request.(*workflowservice.UpdateScheduleRequest); ok && updates.Add(1) == 1 {
			handle := other.Load().Temporal().ScheduleClient().GetHandle(ctx, contract.ScheduleID("a"))
			if err := handle.Delete(ctx); err != nil {
				return err
			}
		}
		return call()
	})
	other.Store(dialAt(t, server.Address()))
	apply(t, c, nil, applied("a"))
	apply(t, c, nil, applied("a", retries(2)))
	assert.True(t, planOf(t, c, nil, applied("a", retries(2))).Empty())
}

func TestApplyWithoutServerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var late atomic.Int32
	c, server := meddled(t, func(ctx context.Context, _ any, call func() error) error {
		if ctx.Err() != nil {
			late.Add(1)
		}
		return call()
	})
	plan := planOf(t, c, nil, applied("a"), applied("b"))
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	result, err := jobtypes.Of(c).Apply(ctx, plan)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Empty(t, result.Applied)
	assert.Len(t, result.Failed, 2)
	assert.LessOrEqual(t, late.Load(), int32(2), "one call at most for each job type after the end of the context")
	_, err = jobtypes.Of(c).Plan(ctx, nil, nil)
	require.Error(t, err)
}
