package jobtypes

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter"
)

// oneSchedule is a server with one Schedule and an audit log.
type oneSchedule struct {
	client.Client

	schedule *schedulepb.Schedule
	memo     *commonpb.Memo
	writes   int64
	// after is called after each accepted write.
	after    func()
	refuse   bool
	recorded []contract.AuditEntry
}

func scheduled(t *testing.T, spec contract.JobTypeSpec) (*oneSchedule, Client) {
	t.Helper()
	server := &oneSchedule{after: func() {}}
	c := Of(starter.New(server, "", nil))
	server.put(t, c, spec)
	memo, err := c.schedules().memo(spec)
	require.NoError(t, err)
	server.memo = memo
	return server, c
}

// put is a write by somebody else.
func (s *oneSchedule) put(t *testing.T, c Client, spec contract.JobTypeSpec) {
	t.Helper()
	schedule, err := c.schedules().build(completed(spec))
	require.NoError(t, err)
	s.schedule, s.writes = schedule, s.writes+1
}

// oneScheduleCalls are the server's calls that the SDK does not wrap.
type oneScheduleCalls struct {
	workflowservice.WorkflowServiceClient

	server *oneSchedule
}

func (s *oneSchedule) WorkflowService() workflowservice.WorkflowServiceClient {
	return oneScheduleCalls{server: s}
}

func (s oneScheduleCalls) DescribeSchedule(context.Context, *workflowservice.DescribeScheduleRequest, ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	return &workflowservice.DescribeScheduleResponse{
		Schedule: proto.CloneOf(s.server.schedule), Memo: s.server.memo, ConflictToken: binary.BigEndian.AppendUint64(nil, uint64(s.server.writes)),
		Info: &schedulepb.ScheduleInfo{CreateTime: timestamppb.New(time.Unix(1, 0)), UpdateTime: timestamppb.New(time.Unix(s.server.writes, 0))},
	}, nil
}

func (s oneScheduleCalls) UpdateSchedule(_ context.Context, in *workflowservice.UpdateScheduleRequest, _ ...grpc.CallOption) (*workflowservice.UpdateScheduleResponse, error) {
	if s.server.refuse {
		return nil, serviceerror.NewFailedPrecondition("stale")
	}
	s.server.schedule, s.server.writes = in.GetSchedule(), s.server.writes+1
	s.server.after()
	return &workflowservice.UpdateScheduleResponse{}, nil
}

func (s *oneSchedule) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, serviceerror.NewNotFound("no audit log yet")
}

func (s *oneSchedule) SignalWithStartWorkflow(_ context.Context, _, _ string, arg any, _ client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	if record, is := arg.(contract.AuditRecord); is {
		s.recorded = append(s.recorded, record.Entries...)
	}
	return nil, nil //nolint:nilnil // The recorder does not use it.
}

func scrub(path string) contract.JobTypeSpec {
	return contract.JobTypeSpec{
		Name: "scrub", Handler: "scrub", Schedule: contract.ScheduleSpec{Every: jobtype.Duration(time.Hour)},
		Execute: json.RawMessage(`{"env":{"PIN":"1234"}}`), Params: json.RawMessage(`{"path":"` + path + `"}`),
	}
}

// Another change follows between the write and its read. The caller gets an error, and the log has the first change.
func TestAnEditThatAnotherFollowsAtOnceIsRecorded(t *testing.T) {
	t.Parallel()
	server, c := scheduled(t, scrub("/a"))
	server.after = func() { server.put(t, c, scrub("/other")) }
	changed := errors.New("the settings have changed")
	first := ""
	edit := func(now Settings) (contract.JobTypeSpec, error) {
		if first == "" {
			first = now.Version
		}
		if now.Version != first {
			return now.Spec, changed
		}
		return scrub("/b"), nil
	}
	_, err := c.Edit(t.Context(), "scrub", edit)
	require.ErrorIs(t, err, changed)
	require.Len(t, server.recorded, 1)
	assert.Equal(t, [2]string{`params.path: "/a"`, `params.path: "/b"`}, [2]string{server.recorded[0].Before, server.recorded[0].After})
	assert.Contains(t, server.recorded[0].Detail, unseen)

	// A refused write was never in force.
	server, c = scheduled(t, scrub("/a"))
	server.refuse, first = true, ""
	_, err = c.Edit(t.Context(), "scrub", func(now Settings) (contract.JobTypeSpec, error) {
		server.writes++
		return edit(now)
	})
	require.ErrorIs(t, err, changed)
	assert.Empty(t, server.recorded)
}

func TestAnEditIsRecordedOnce(t *testing.T) {
	t.Parallel()
	server, c := scheduled(t, scrub("/a"))
	fields, err := c.Edit(t.Context(), "scrub", func(Settings) (contract.JobTypeSpec, error) { return scrub("/b"), nil })
	require.NoError(t, err)
	assert.Len(t, fields, 1)
	require.Len(t, server.recorded, 1)
	assert.Empty(t, server.recorded[0].Detail)
}

func TestTheVersionOfSettingsTellsNoSecret(t *testing.T) {
	t.Parallel()
	server, c := scheduled(t, scrub("/a"))
	version := func() string {
		now, err := c.Settings(t.Context(), "scrub")
		require.NoError(t, err)
		return now.Version
	}
	before := version()
	assert.Equal(t, before, version())
	other := scrub("/a")
	other.Execute, other.Hash = json.RawMessage(`{"env":{"PIN":"9999"}}`), "v1-other"
	server.put(t, c, other)
	assert.NotEqual(t, before, version(), "each write gives another version")
	server.writes--
	assert.Equal(t, before, version(), "the secret and the hash over it are no part of it")
	server.put(t, c, scrub("/b"))
	server.writes--
	assert.NotEqual(t, before, version())
}
