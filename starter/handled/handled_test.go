package handled_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/handled"
)

// applied is a server with these job types.
type applied struct {
	client.Client

	specs []contract.JobTypeSpec
}

func (a applied) WorkflowService() workflowservice.WorkflowServiceClient { return calls{of: a} }

type calls struct {
	workflowservice.WorkflowServiceClient

	of applied
}

func (c calls) DescribeSchedule(_ context.Context, in *workflowservice.DescribeScheduleRequest, _ ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	at := slices.IndexFunc(c.of.specs, func(s contract.JobTypeSpec) bool { return contract.ScheduleID(s.Name) == in.GetScheduleId() })
	if at < 0 {
		return nil, serviceerror.NewNotFound("no such Schedule")
	}
	owner, err := starter.DataConverter().ToPayload("roundsman")
	if err != nil {
		return nil, err
	}
	input, err := starter.DataConverter().ToPayloads(contract.JobGroupInput{Spec: c.of.specs[at]})
	return &workflowservice.DescribeScheduleResponse{
		Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{"managed_by": owner}},
		Schedule: &schedulepb.Schedule{Action: &schedulepb.ScheduleAction{Action: &schedulepb.ScheduleAction_StartWorkflow{
			StartWorkflow: &workflowpb.NewWorkflowExecutionInfo{Input: input},
		}}},
	}, err
}

func plain(name, handler string) contract.JobTypeSpec {
	return contract.JobTypeSpec{Name: name, Handler: handler}
}

// graph is a job type whose DAG has a task of each of these job types.
func graph(name string, jobTypes ...string) contract.JobTypeSpec {
	text := "version: 1\nname: " + name + "\ntasks:\n"
	for _, each := range jobTypes {
		text += "  - {id: t-" + each + ", job_type: " + each + "}\n"
	}
	return contract.JobTypeSpec{Name: name, DAG: &contract.DAGSource{Name: name, File: name + ".yaml", Text: text}}
}

// TestHandlersOfAJobTypeBeforeAndAfterAPlan: who replaces or deletes a job type needs the handlers that it has now, whatever
// the plan has in its place, and also if a job type that its DAG names is gone.
func TestHandlersOfAJobTypeBeforeAndAfterAPlan(t *testing.T) {
	t.Parallel()
	command := contract.CommandHandler
	for name, c := range map[string]struct {
		now, planned  []contract.JobTypeSpec
		before, after []string
	}{
		"another handler":            {[]contract.JobTypeSpec{plain("a", "scrub")}, []contract.JobTypeSpec{plain("a", command)}, []string{"scrub"}, []string{command}},
		"new":                        {nil, []contract.JobTypeSpec{plain("a", "scrub")}, []string{"scrub"}, []string{"scrub"}},
		"a DAG":                      {[]contract.JobTypeSpec{graph("a", "b"), plain("b", "scrub")}, []contract.JobTypeSpec{plain("a", command)}, []string{command, "scrub"}, []string{command}},
		"a DAG with a lost job type": {[]contract.JobTypeSpec{graph("a", "b", "gone"), plain("b", "scrub")}, []contract.JobTypeSpec{plain("a", command)}, []string{command, "scrub"}, []string{command}},
		"the job type of a task": {
			[]contract.JobTypeSpec{graph("a", "b"), plain("b", "scrub")}, []contract.JobTypeSpec{graph("a", "b"), plain("b", command)}, []string{command, "scrub"}, []string{command},
		},
		"a new job type of a task": {[]contract.JobTypeSpec{graph("a", "b")}, []contract.JobTypeSpec{graph("a", "b"), plain("b", "scrub")}, []string{command, "scrub"}, []string{command, "scrub"}},
		"a circle":                 {[]contract.JobTypeSpec{graph("a", "b"), graph("b", "a", "c"), plain("c", "scrub")}, []contract.JobTypeSpec{plain("a", command)}, []string{command, "scrub"}, []string{command}},
	} {
		client := starter.New(applied{specs: c.now}, "", nil)
		before, err := handled.OfAppliedOr(t.Context(), client, "a", c.planned)
		require.NoError(t, err, name)
		assert.Equal(t, c.before, before, name)
		after, err := handled.OfSpec(t.Context(), client, c.planned[0], c.planned)
		require.NoError(t, err, name)
		assert.Equal(t, c.after, after, name)
	}
	_, err := handled.OfAppliedOr(t.Context(), starter.New(applied{}, "", nil), "a", nil)
	require.ErrorIs(t, err, starter.ErrNotFound)
	_, err = handled.OfJobType(t.Context(), starter.New(applied{specs: []contract.JobTypeSpec{graph("a", "gone")}}, "", nil), "a")
	require.ErrorIs(t, err, starter.ErrNotFound, "what a run would execute is not known")
}

// started is applied, with a run of a DAG and a run of the job type a.
type started struct {
	applied

	graph contract.JobTypeSpec
}

func (s started) GetWorkflowHistory(_ context.Context, id, _ string, _ bool, _ enumspb.HistoryEventFilterType) client.HistoryEventIterator {
	input, err := starter.DataConverter().ToPayloads(contract.DAGInput{SourceName: s.graph.DAG.File, Source: s.graph.DAG.Text}, []byte(nil))
	if id == "group/a-1" {
		input, err = starter.DataConverter().ToPayloads(contract.JobGroupInput{Spec: s.graph})
	}
	return &first{err: err, event: &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{Input: input},
	}}}
}

// first is a history of one event.
type first struct {
	event *historypb.HistoryEvent
	err   error
}

func (f *first) HasNext() bool { return true }

func (f *first) Next() (*historypb.HistoryEvent, error) { return f.event, f.err }

// TestARunOutlivesAJobTypeOfItsTasks: a caller with handlers of its own may still operate the run.
func TestARunOutlivesAJobTypeOfItsTasks(t *testing.T) {
	t.Parallel()
	server := started{applied{specs: []contract.JobTypeSpec{plain("b", "scrub")}}, graph("a", "gone", "b")}
	client := starter.New(server, "", nil)
	found, err := handled.OfRun(t.Context(), client, starter.RunRef{WorkflowID: "dag/a/1"})
	require.NoError(t, err)
	assert.Equal(t, []string{contract.CommandHandler, "scrub"}, found)
	found, err = handled.OfGroup(t.Context(), client, starter.RunRef{WorkflowID: "group/a-1"})
	require.NoError(t, err)
	assert.Equal(t, []string{contract.CommandHandler, "scrub"}, found)
}
