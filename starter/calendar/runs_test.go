package calendar_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/calendar"
)

// past is a server with one job type that has run. Visibility lists a run if it began since the time in the query.
type past struct {
	server

	due     []time.Time
	runs    []pastRun
	created time.Time
	changes []contract.AuditEntry
	// deleted is a job type whose Schedule is described some more times.
	deleted   string
	describes atomic.Int32
}

type pastRun struct{ due, began, ended time.Time }

func (r pastRun) id() string {
	return contract.GroupWorkflowID("scrub") + "-" + r.due.UTC().Format(time.RFC3339)
}

func (r pastRun) info() *workflowpb.WorkflowExecutionInfo {
	info := &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: r.id(), RunId: r.began.String()}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, StartTime: timestamppb.New(r.began),
		SearchAttributes: rpc.KeywordAttribute(contract.SearchAttributeJobType, "scrub"),
	}
	if !r.ended.IsZero() {
		info.Status, info.CloseTime = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, timestamppb.New(r.ended)
	}
	return info
}

func (s *past) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	_, since, _ := strings.Cut(in.GetQuery(), "StartTime >= '")
	since, _, _ = strings.Cut(since, "'")
	from, err := time.Parse(time.RFC3339, since)
	answer := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, run := range s.runs {
		if !run.began.Before(from) {
			answer.Executions = append(answer.Executions, run.info())
		}
	}
	return answer, err
}

func (s *past) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	for _, run := range s.runs {
		if run.id() == id {
			return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: run.info()}, nil
		}
	}
	return nil, serviceerror.NewNotFound("no such workflow")
}

func (s *past) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	if in.WorkflowID != contract.AuditWorkflowID || s.changes == nil {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	payloads, err := starter.DataConverter().ToPayloads(contract.AuditPage{Entries: s.changes})
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: answer{payloads}}, err
}

type answer struct{ payloads *commonpb.Payloads }

func (a answer) HasValue() bool { return true }

func (a answer) Get(into any) error { return starter.DataConverter().FromPayloads(a.payloads, into) }

var _ converter.EncodedValue = answer{}

func (s *past) WorkflowService() workflowservice.WorkflowServiceClient {
	return pastCalls{service{of: &s.server}, s}
}

type pastCalls struct {
	service

	past *past
}

func (c pastCalls) memo() (*commonpb.Memo, error) {
	owner, err := starter.DataConverter().ToPayload("roundsman")
	return &commonpb.Memo{Fields: map[string]*commonpb.Payload{"managed_by": owner}}, err
}

func (c pastCalls) DescribeNamespace(context.Context, *workflowservice.DescribeNamespaceRequest, ...grpc.CallOption) (*workflowservice.DescribeNamespaceResponse, error) {
	return &workflowservice.DescribeNamespaceResponse{Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(30 * 24 * time.Hour)}}, nil
}

func (c pastCalls) ListSchedules(context.Context, *workflowservice.ListSchedulesRequest, ...grpc.CallOption) (*workflowservice.ListSchedulesResponse, error) {
	memo, err := c.memo()
	answer := &workflowservice.ListSchedulesResponse{}
	for _, name := range slices.DeleteFunc([]string{"scrub", c.past.deleted}, func(name string) bool { return name == "" }) {
		answer.Schedules = append(answer.Schedules, &schedulepb.ScheduleListEntry{
			ScheduleId: contract.ScheduleID(name), Memo: memo, Info: &schedulepb.ScheduleListInfo{WorkflowType: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow}},
		})
	}
	return answer, err
}

func (c pastCalls) DescribeSchedule(_ context.Context, in *workflowservice.DescribeScheduleRequest, _ ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	if in.GetScheduleId() != contract.ScheduleID("scrub") && c.past.describes.Add(-1) < 0 {
		return nil, serviceerror.NewNotFound("no such Schedule")
	}
	memo, err := c.memo()
	if err != nil {
		return nil, err
	}
	input, err := starter.DataConverter().ToPayloads(contract.JobGroupInput{Spec: contract.JobTypeSpec{Name: "scrub"}})
	info := &schedulepb.ScheduleInfo{CreateTime: timestamppb.New(c.past.created), UpdateTime: timestamppb.New(c.past.created)}
	for _, run := range c.past.runs { // The Schedule has the oldest first.
		info.RecentActions = append([]*schedulepb.ScheduleActionResult{{
			ScheduleTime: timestamppb.New(run.due), ActualTime: timestamppb.New(run.began),
			StartWorkflowResult: run.info().GetExecution(),
		}}, info.GetRecentActions()...)
	}
	return &workflowservice.DescribeScheduleResponse{Memo: memo, Info: info, Schedule: &schedulepb.Schedule{
		Spec:   &schedulepb.ScheduleSpec{Interval: []*schedulepb.IntervalSpec{{Interval: durationpb.New(24 * time.Hour)}}},
		Action: &schedulepb.ScheduleAction{Action: &schedulepb.ScheduleAction_StartWorkflow{StartWorkflow: &workflowpb.NewWorkflowExecutionInfo{Input: input}}},
	}}, err
}

func (c pastCalls) ListScheduleMatchingTimes(_ context.Context, in *workflowservice.ListScheduleMatchingTimesRequest, _ ...grpc.CallOption) (*workflowservice.ListScheduleMatchingTimesResponse, error) {
	if in.GetScheduleId() != contract.ScheduleID("scrub") {
		return nil, serviceerror.NewNotFound("no such Schedule")
	}
	answer := &workflowservice.ListScheduleMatchingTimesResponse{}
	for _, at := range c.past.due {
		if at.After(in.GetStartTime().AsTime()) && !at.After(in.GetEndTime().AsTime()) {
			answer.StartTime = append(answer.StartTime, timestamppb.New(at))
		}
	}
	return answer, nil
}

// days is a job type that ran on each of the last days for one minute, except on those left out.
func days(now time.Time, number int, leftOut ...int) *past {
	s := &past{created: now.AddDate(0, 0, -100)}
	for ago := range number {
		due := now.AddDate(0, 0, -ago-1)
		s.due = append([]time.Time{due}, s.due...)
		missed := false
		for _, out := range leftOut {
			missed = missed || ago == out
		}
		if !missed {
			s.runs = append(s.runs, pastRun{due, due.Add(time.Second), due.Add(time.Minute)})
		}
	}
	return s
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

type told struct {
	at    time.Time
	state contract.TickState
	code  contract.Code
	run   string
}

func ledger(t *testing.T, s *past, names ...string) (list []told) {
	t.Helper()
	found, err := calendar.LedgerOf(t.Context(), starter.New(s, "", nil), noon, noon.AddDate(0, 0, -7), names...)
	require.NoError(t, err)
	for _, tick := range found.Ticks {
		list = append(list, told{tick.At, tick.State, tick.Code, tick.Run})
	}
	return list
}

// TestAnOldRunIsNotInTheWay: the Schedule names its last runs without their ends, also runs that began before the listed ones.
func TestAnOldRunIsNotInTheWay(t *testing.T) {
	t.Parallel()
	s := days(noon, 10, 3)
	ticks := ledger(t, s, "scrub")
	require.Len(t, ticks, 7)
	for i, tick := range ticks {
		assert.Equal(t, noon.AddDate(0, 0, -i-1), tick.at)
		if i == 3 {
			assert.Equal(t, told{noon.AddDate(0, 0, -4), contract.TickMissed, contract.CodeServerAway, ""}, tick)
			continue
		}
		assert.Equal(t, contract.TickRan, tick.state, tick.at)
	}
}

// TestALongRunIsInTheWay also if it began long before the ledger.
func TestALongRunIsInTheWay(t *testing.T) {
	t.Parallel()
	for name, ended := range map[string]time.Time{"open": {}, "ended": noon.AddDate(0, 0, -1).Add(time.Hour)} {
		s := days(noon, 20, 0, 1, 2, 3, 4, 5, 6, 7, 8)
		long := &s.runs[0]
		long.ended = ended
		for _, tick := range ledger(t, s, "scrub") {
			assert.Equal(t, told{tick.at, contract.TickSkipped, contract.CodeOverlap, long.id()}, tick, name)
		}
	}
}

// TestARunThatIsStartedAgainKeepsItsTime: a backfill gives it the id of the first run, which belongs to the instant.
func TestARunThatIsStartedAgainKeepsItsTime(t *testing.T) {
	t.Parallel()
	s := days(noon, 7)
	first := s.runs[4]
	again := first
	again.began, again.ended = noon.Add(-time.Hour), noon.Add(-time.Minute)
	s.runs = append([]pastRun{again}, s.runs...)
	found, err := calendar.LedgerOf(t.Context(), starter.New(s, "", nil), noon, noon.AddDate(0, 0, -7), "scrub")
	require.NoError(t, err)
	require.Len(t, found.Ticks, 7)
	for i, tick := range found.Ticks {
		due := noon.AddDate(0, 0, -i-1)
		assert.Equal(t, []time.Time{due, due.Add(time.Second), due.Add(time.Minute)}, []time.Time{tick.At, tick.Started, tick.Ended})
	}
}

// TestALedgerHasNoEarlierTicks: of an earlier schedule it has the runs, from the same time on.
func TestALedgerHasNoEarlierTicks(t *testing.T) {
	t.Parallel()
	s := days(noon, 10)
	s.changes = []contract.AuditEntry{{Seq: 1, At: noon.Add(-time.Hour), Action: "apply.update", JobType: "scrub", After: "schedule: every 24h"}}
	s.created = noon.Add(-2 * time.Hour)
	ticks := ledger(t, s, "scrub")
	require.NotEmpty(t, ticks)
	assert.Equal(t, noon.AddDate(0, 0, -7), ticks[len(ticks)-1].at)
	assert.Len(t, ticks, 7)
}

// TestABackfilledRunStandsForItsInstant alone: without the entry of the backfill, a server that was away would have caught up
// with the later instants.
func TestABackfilledRunStandsForItsInstant(t *testing.T) {
	t.Parallel()
	backfill := func(at time.Time, from, to int) contract.AuditEntry {
		return contract.AuditEntry{
			Seq: 1, At: at, Action: "jobtype.backfill", JobType: "scrub",
			Detail: noon.AddDate(0, 0, -from).Format(time.RFC3339) + " to " + noon.AddDate(0, 0, -to).Format(time.RFC3339),
		}
	}
	other := backfill(noon.Add(-time.Hour), 4, 4)
	other.JobType = "vacuum"
	for name, c := range map[string]struct {
		entry contract.AuditEntry
		code  contract.Code
	}{
		"backfilled":               {backfill(noon.Add(-time.Hour), 4, 4), contract.CodeServerAway},
		"within a longer backfill": {backfill(noon.Add(-time.Hour), 7, 4), contract.CodeServerAway},
		"recorded after its start": {backfill(noon.Add(-time.Hour+2*time.Second), 4, 4), contract.CodeServerAway},
		"another instant":          {backfill(noon.Add(-time.Hour), 3, 2), contract.CodeCaughtUp},
		"a backfill after it":      {backfill(noon.Add(-time.Minute), 4, 4), contract.CodeCaughtUp},
		"another job type":         {other, contract.CodeCaughtUp},
	} {
		s := days(noon, 7, 0, 1, 2, 3)
		late := pastRun{noon.AddDate(0, 0, -4), noon.Add(-time.Hour), noon.Add(-50 * time.Minute)}
		s.runs = append([]pastRun{late}, s.runs...)
		s.changes = []contract.AuditEntry{c.entry}
		ticks := ledger(t, s, "scrub")
		require.Len(t, ticks, 7, name)
		for _, tick := range ticks[:3] {
			assert.Equal(t, c.code, tick.code, name)
		}
		assert.Equal(t, contract.TickRan, ticks[3].state, name)
	}
}

// TestADeletedJobTypeHidesNoOther: it is deleted after the list of job types was read.
func TestADeletedJobTypeHidesNoOther(t *testing.T) {
	t.Parallel()
	s := days(noon, 10)
	s.deleted = "gone"
	s.describes.Store(1) // For the list.
	assert.Len(t, ledger(t, s), 7)
	s.describes.Store(2) // Its Schedule is described, and gone when its times are read.
	assert.Len(t, ledger(t, s), 7)
	_, err := calendar.LedgerOf(t.Context(), starter.New(s, "", nil), noon, noon.AddDate(0, 0, -7), "gone")
	require.ErrorIs(t, err, starter.ErrNotFound)
}
