package jobtypes

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// busyServer does not answer the next calls about a Schedule.
type busyServer struct {
	oneSchedule

	mu   sync.Mutex
	made map[string]*workflowservice.CreateScheduleRequest
	// late counts the unanswered calls, and asked all calls.
	late, asked map[string]int
	// lost: an unanswered write has an effect.
	lost bool
	// failing names the read whose Schedule has failed tasks, until then.
	failing string
	until   time.Time
}

func newBusyServer() (*busyServer, Client) {
	server := &busyServer{made: map[string]*workflowservice.CreateScheduleRequest{}, late: map[string]int{}, asked: map[string]int{}}
	return server, Of(starter.New(server, "", nil))
}

func (s *busyServer) WorkflowService() workflowservice.WorkflowServiceClient {
	return busyCalls{server: s}
}

type busyCalls struct {
	workflowservice.WorkflowServiceClient

	server *busyServer
}

// answer waits for the end of an unanswered call.
func (s *busyServer) answer(ctx context.Context, call, id string) error {
	s.mu.Lock()
	name := call + " " + id
	s.asked[name]++
	late := s.late[name] > 0
	if late {
		s.late[name]--
	}
	failing := name == s.failing && time.Now().Before(s.until)
	s.mu.Unlock()
	if failing {
		return serviceerror.NewWorkflowNotReady("Unable to query workflow due to Workflow Task in failed state.")
	}
	if late {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (s busyCalls) DescribeSchedule(ctx context.Context, in *workflowservice.DescribeScheduleRequest, _ ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	if err := s.server.answer(ctx, "read", in.GetScheduleId()); err != nil {
		return nil, err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	made := s.server.made[in.GetScheduleId()]
	if made == nil {
		return nil, serviceerror.NewNotFound("no such Schedule")
	}
	return &workflowservice.DescribeScheduleResponse{Schedule: made.GetSchedule(), Memo: made.GetMemo(), ConflictToken: []byte("1")}, nil
}

func (s busyCalls) CreateSchedule(ctx context.Context, in *workflowservice.CreateScheduleRequest, _ ...grpc.CallOption) (*workflowservice.CreateScheduleResponse, error) {
	err := s.server.answer(ctx, "create", in.GetScheduleId())
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if before := s.server.made[in.GetScheduleId()]; before != nil && before.GetRequestId() != in.GetRequestId() {
		return nil, serviceerror.NewAlreadyExists("another one")
	}
	if err == nil || s.server.lost {
		s.server.made[in.GetScheduleId()] = in
	}
	return &workflowservice.CreateScheduleResponse{}, err
}

func (busyCalls) ListSchedules(context.Context, *workflowservice.ListSchedulesRequest, ...grpc.CallOption) (*workflowservice.ListSchedulesResponse, error) {
	return &workflowservice.ListSchedulesResponse{}, nil
}

func named(name string) contract.JobTypeSpec {
	return contract.JobTypeSpec{Name: name, Handler: "scrub", Schedule: contract.ScheduleSpec{Every: jobtype.Duration(time.Hour)}}
}

// A server without time for one of two job types: plan and apply wait, and need no second apply.
func TestABusyServerFailsNothing(t *testing.T) {
	t.Parallel()
	b := contract.ScheduleID("b")
	for _, unanswered := range []struct {
		call string
		lost bool
	}{{"read", false}, {"create", false}, {"create", true}} {
		synctest.Test(t, func(t *testing.T) {
			server, c := newBusyServer()
			server.lost = unanswered.lost
			server.late["read "+b] = 4 // Two calls of 10 s are one failure.
			plan, err := c.Plan(t.Context(), []contract.JobTypeSpec{named("a"), named("b")}, nil)
			require.NoError(t, err)
			server.late[unanswered.call+" "+b] = 4
			result, err := c.Apply(t.Context(), plan)
			require.NoError(t, err, unanswered)
			assert.Len(t, result.Applied, 2, unanswered)
			assert.Len(t, server.made, 2)
		})
	}
}

// Tasks of one Schedule time out on a busy server: plan, apply and other readers of the Schedule wait until one succeeds.
func TestAScheduleWhoseTasksFailIsReadLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, c := newBusyServer()
		server.failing = "read " + contract.ScheduleID("b")
		fails := func(lasts time.Duration) { server.until = time.Now().Add(lasts) }
		fails(45 * time.Second)
		plan, err := c.Plan(t.Context(), []contract.JobTypeSpec{named("a"), named("b")}, nil)
		require.NoError(t, err)
		fails(45 * time.Second)
		result, err := c.Apply(t.Context(), plan)
		require.NoError(t, err)
		assert.Len(t, result.Applied, 2)
		fails(15 * time.Second)
		_, err = c.Get(t.Context(), "b")
		require.NoError(t, err)
		fails(time.Hour)
		_, err = c.Plan(t.Context(), []contract.JobTypeSpec{named("a"), named("b")}, nil)
		require.ErrorContains(t, err, "Workflow Task in failed state", "a minute is the limit")
	})
}

// A server that answers nothing for a minute is away.
func TestAnAbsentServerFailsTheApply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, c := newBusyServer()
		plan, err := c.Plan(t.Context(), []contract.JobTypeSpec{named("a"), named("b")}, nil)
		require.NoError(t, err)
		for _, name := range []string{"a", "b"} {
			id := "read " + contract.ScheduleID(name)
			server.late[id], server.asked[id] = 1000, 0
		}
		result, err := c.Apply(t.Context(), plan)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Len(t, result.Failed, 2)
		assert.Equal(t, 6, server.asked["read "+contract.ScheduleID("a")], "two in each 20 s of a minute")
	})
}

// One Schedule that the server never answers ends, although others are answered.
func TestRepetitionsAreBounded(t *testing.T) {
	t.Parallel()
	p, calls := newPatience(), 0
	call := func() error {
		calls++
		p.note()
		return serviceerror.NewDeadlineExceeded("busy")
	}
	require.Error(t, p.repeat(t.Context(), call))
	assert.Equal(t, 1+busyRepeats, calls)
	calls = 0
	require.Error(t, (*patience)(nil).repeat(t.Context(), func() error { calls++; return serviceerror.NewDeadlineExceeded("busy") }))
	assert.Equal(t, 1, calls, "only a plan and an apply wait for a busy server")
}
