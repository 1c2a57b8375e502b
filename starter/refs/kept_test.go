package refs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/temporal/rpc"
	"github.com/roundsman/roundsman/starter"
)

// kept is a server with runs. Visibility lacks those that are not listed; the Schedule of scrub has the newest of them.
type kept struct {
	client.Client

	runs   []keptRun
	lists  error
	latest string
}

type keptRun struct {
	id       string
	started  time.Time
	status   enumspb.WorkflowExecutionStatus
	outcome  contract.Outcome
	unlisted bool
}

const (
	open       = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	completed  = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	failed     = enumspb.WORKFLOW_EXECUTION_STATUS_FAILED
	terminated = enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
)

func (k keptRun) info() *workflowpb.WorkflowExecutionInfo {
	info := &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: k.id, RunId: "r"}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		StartTime: timestamppb.New(k.started), Status: k.status,
	}
	if strings.HasPrefix(k.id, "dag/") || strings.Count(k.id, "/") > 1 {
		info.Type.Name = contract.DAGWorkflow
	}
	if k.status != open {
		info.CloseTime = timestamppb.New(k.started.Add(time.Minute))
	}
	if k.outcome != "" {
		info.SearchAttributes = rpc.KeywordAttribute(contract.SearchAttributeOutcome, string(k.outcome))
	}
	return info
}

func (s *kept) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	answer := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, run := range s.runs {
		name := starter.NameOfRun(run.id)
		ofType := strings.Contains(in.GetQuery(), contract.SearchAttributeJobType+" = '"+name+"'") && strings.HasPrefix(run.id, "group/") && run.info().GetType().GetName() == contract.JobGroupWorkflow
		all := strings.HasPrefix(in.GetQuery(), "WorkflowType = '"+contract.DAGWorkflow+"'") && !strings.Contains(in.GetQuery(), "STARTS_WITH") && strings.HasPrefix(run.id, "dag/")
		if !run.unlisted && (all || ofType || strings.Contains(in.GetQuery(), "STARTS_WITH 'dag/"+name+"/'") && strings.HasPrefix(run.id, "dag/")) {
			answer.Executions = append(answer.Executions, run.info())
		}
	}
	return answer, s.lists
}

func (s *kept) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	for _, run := range s.runs {
		if run.id == id {
			return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: run.info()}, nil
		}
	}
	return nil, serviceerror.NewNotFound("no such workflow")
}

func (s *kept) WorkflowService() workflowservice.WorkflowServiceClient { return schedules{of: s} }

type schedules struct {
	workflowservice.WorkflowServiceClient

	of *kept
}

func (s schedules) DescribeSchedule(_ context.Context, in *workflowservice.DescribeScheduleRequest, _ ...grpc.CallOption) (*workflowservice.DescribeScheduleResponse, error) {
	if in.GetScheduleId() != contract.ScheduleID("scrub") {
		return nil, serviceerror.NewNotFound("no such Schedule")
	}
	answer := &workflowservice.DescribeScheduleResponse{Info: &schedulepb.ScheduleInfo{}}
	if s.of.latest != "" {
		answer.Info.RecentActions = []*schedulepb.ScheduleActionResult{{StartWorkflowResult: &commonpb.WorkflowExecution{WorkflowId: s.of.latest}}}
	}
	return answer, nil
}

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func at(hour int) time.Time { return time.Date(2026, 11, 20, hour, 0, 0, 0, time.UTC) }

func tick(hour int) string {
	return contract.GroupWorkflowID("scrub") + "-" + at(hour).Format(time.RFC3339)
}

func (s *kept) resolver() Resolver {
	r := Of(starter.New(s, "", nil))
	r.now = func() time.Time { return now }
	return r
}

// finds checks references: the id of a run, or the text of an error after "!".
func (s *kept) finds(t *testing.T, r Resolver, want map[string]string) {
	t.Helper()
	for text, id := range want {
		found, err := r.Run(t.Context(), text)
		if problem, wrong := strings.CutPrefix(id, "!"); wrong {
			assert.ErrorContains(t, err, problem, text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, id, found.WorkflowID, text)
	}
}

// TestRunsAreSelectedByTheirState: the newest of those with the state, and without a selector an open one first.
func TestRunsAreSelectedByTheirState(t *testing.T) {
	t.Parallel()
	server := &kept{runs: []keptRun{
		{id: tick(3), started: at(3), status: failed, outcome: contract.OutcomeTimeout},
		{id: tick(6), started: at(6), status: completed, outcome: contract.OutcomeSkipped},
		{id: tick(4), started: at(4), status: open},
		{id: tick(5), started: at(5), status: terminated},
		{id: tick(2), started: at(2), status: open},
	}}
	r := server.resolver()
	server.finds(t, r, map[string]string{"scrub": tick(4), "scrub@": tick(4), "scrub@open": tick(4), "scrub@last": tick(6), "scrub@bad": tick(5)})
	r.Strict = true
	server.finds(t, r, map[string]string{
		"scrub": "!is ambiguous, write one of:\n  " + tick(4) + "\n  " + tick(2), "scrub@open": "!is ambiguous", "scrub@last": tick(6), "scrub@bad": tick(5),
	})

	ended := &kept{runs: []keptRun{{id: tick(6), started: at(6), status: completed}, {id: tick(3), started: at(3), status: completed, outcome: contract.OutcomePartial}}}
	r = ended.resolver()
	r.Strict = true
	ended.finds(t, r, map[string]string{"scrub": tick(6), "scrub@last": tick(6), "scrub@bad": tick(3), "scrub@open": "!the newest run is scrub@1120T0600Z"})
	ended.runs = ended.runs[:1]
	ended.finds(t, r, map[string]string{"scrub@bad": "!no run that is kept failed; the newest run is scrub@1120T0600Z"})
}

// TestTheNewestRunOfAScheduleIsFound before visibility lists it.
func TestTheNewestRunOfAScheduleIsFound(t *testing.T) {
	t.Parallel()
	server := &kept{latest: tick(9), runs: []keptRun{{id: tick(9), started: at(9), status: open, unlisted: true}, {id: tick(6), started: at(6), status: completed}}}
	server.finds(t, server.resolver(), map[string]string{"scrub": tick(9), "scrub@last": tick(6)})
	server.runs[0].unlisted = false
	r := server.resolver()
	r.Strict = true
	server.finds(t, r, map[string]string{"scrub": tick(9)})
	server.latest = tick(8) // It is gone.
	server.finds(t, r, map[string]string{"scrub": tick(9)})

	server.lists = errors.New("no visibility")
	server.finds(t, r, map[string]string{"scrub": "!no visibility", "dag/nightly": "!no visibility", "scrub@1120T0930Z": "!no visibility", "scrub@night": "!no visibility"})
}

// TestATimeIsThatOfTheTickOrOfTheStart: a submission has no tick.
func TestATimeIsThatOfTheTickOrOfTheStart(t *testing.T) {
	t.Parallel()
	adHoc, other := contract.AdHocWorkflowID("scrub", "ticket-1"), contract.AdHocWorkflowID("scrub", "ticket-2")
	server := &kept{runs: []keptRun{
		{id: tick(3), started: at(3).Add(90 * time.Second), status: completed},
		{id: adHoc, started: at(5).Add(7*time.Second + time.Millisecond), status: completed},
		{id: other, started: at(5).Add(30 * time.Minute), status: completed},
	}}
	server.finds(t, server.resolver(), map[string]string{
		"scrub@1120T0300Z": tick(3), "scrub@1120T0301Z": tick(3), "scrub@1120T0500Z": adHoc, "scrub@2026-11-20T05:00:07Z": adHoc, "scrub@2026-11-20T05:00:08Z": "!does not exist",
		"scrub@1120T0530Z": other, "scrub@1120T0531Z": "!does not exist",
	})
	server.runs[2].started = at(5).Add(30 * time.Second)
	server.finds(t, server.resolver(), map[string]string{"scrub@1120T0500Z": "!is ambiguous"})
}

// TestARunIsCalledByTheStartOfItsID. Whole ids come first.
func TestARunIsCalledByTheStartOfItsID(t *testing.T) {
	t.Parallel()
	one, two, dag := contract.AdHocWorkflowID("scrub", "ticket-1"), contract.AdHocWorkflowID("scrub", "ticket-11"), contract.DAGWorkflowID("scrub", "december")
	server := &kept{runs: []keptRun{{id: one, started: at(3), status: completed}, {id: two, started: at(4), status: completed}, {id: dag, started: at(5), status: completed}}}
	r := server.resolver()
	server.finds(t, r, map[string]string{
		"scrub@ticket-1": one, "scrub@ticket-11": two, "scrub@ticket": "!is ambiguous, write one of:\n  " + two + "\n  " + one,
		"scrub@december": dag, "scrub@dec": dag, "scrub@x": "!run scrub@x does not exist", "scrub@2026": "!does not exist",
	})
	both := contract.DAGWorkflowID("scrub", "ticket-1")
	server.runs = append(server.runs, keptRun{id: both, started: at(6), status: completed})
	server.finds(t, r, map[string]string{"scrub@ticket-1": "!is ambiguous, write one of:\n  " + one + "\n  " + both})
}

func TestAnAmbiguousReferenceNamesTheFirstRuns(t *testing.T) {
	t.Parallel()
	found := make([]starter.RunRef, shown+1)
	for k := range found {
		found[k].WorkflowID = tick(k)
	}
	_, err := one(ref.Ref{Text: "scrub@"}, found)
	assert.Equal(t, shown, strings.Count(err.Error(), "\n  group/scrub"))
}

// TestAPathIsARunBeforeItIsAnItem: the run of a DAG with the dag/ left out, a sub-DAG, or the DAG of a job.
func TestAPathIsARunBeforeItIsAnItem(t *testing.T) {
	t.Parallel()
	dag := contract.DAGWorkflowID("nightly", "december")
	server := &kept{runs: []keptRun{
		{id: dag, started: at(3), status: open},
		{id: contract.SubDAGWorkflowID(dag, "load"), started: at(3), status: open},
		{id: tick(3), started: at(3), status: open},
		{id: contract.SubDAGWorkflowID(tick(3), "job-00007"), started: at(3), status: open},
	}}
	server.finds(t, server.resolver(), map[string]string{
		"nightly/december": dag, "nightly/december/load": dag + "/load", "nightly@/load": dag + "/load", "nightly/load": dag + "/load", dag + "/load": dag + "/load",
		"scrub/7": tick(3) + "/job-00007", "scrub@/7": tick(3) + "/job-00007", tick(3) + "/7": tick(3) + "/job-00007",
		"nightly/nobody": "!does not exist", "nightly@/nobody": "!does not exist", "none/december": "!run dag/none/december does not exist",
		"scrub:key": "!is a dedupe key, not a run", "worker/n1": "!is a worker, not a run", "": "!the reference is empty",
		"none": "!job type none does not exist", "dag/none": "!run of DAG none does not exist",
	})
	r := server.resolver()
	for text, want := range map[string]starter.ItemRef{
		"nightly/december/load":  {Run: starter.RunRef{WorkflowID: dag}, ID: "load"},
		"nightly@/load/step":     {Run: starter.RunRef{WorkflowID: dag + "/load"}, ID: "step"},
		"nightly/step":           {Run: starter.RunRef{WorkflowID: dag}, ID: "step"},
		"scrub/7":                {Run: starter.RunRef{WorkflowID: tick(3)}, ID: "job-00007"},
		"scrub/7/step":           {Run: starter.RunRef{WorkflowID: tick(3) + "/job-00007"}, ID: "step"},
		"nightly/december/vol/1": {Run: starter.RunRef{WorkflowID: dag}, ID: "vol/1"},
	} {
		found, err := r.Item(t.Context(), text)
		require.NoError(t, err, text)
		assert.Equal(t, want, found, text)
	}
	for text, want := range map[string]string{"": "the reference is empty", "scrub": "scrub is no job or task", "none/7": "does not exist"} {
		_, err := r.Item(t.Context(), text)
		require.ErrorContains(t, err, want, text)
	}
}

// TestKindsOfABareName: a fault of one kind matters only if no other kind has the name.
func TestKindsOfABareName(t *testing.T) {
	t.Parallel()
	server := &kept{runs: []keptRun{{id: contract.DAGWorkflowID("scrub", "x"), started: at(3), status: completed}}}
	kinds, err := server.resolver().Kinds(t.Context(), "scrub", []ref.Kind{ref.DAG, ref.JobType, ref.Pool})
	require.NoError(t, err)
	assert.Equal(t, []ref.Kind{ref.DAG, ref.JobType}, kinds)
	kinds, err = server.resolver().Kinds(t.Context(), "none", []ref.Kind{ref.DAG, ref.JobType, ref.Pool})
	require.NoError(t, err)
	assert.Empty(t, kinds)
	server.lists = errors.New("no visibility")
	kinds, err = server.resolver().Kinds(t.Context(), "scrub", []ref.Kind{ref.DAG, ref.JobType})
	require.NoError(t, err)
	assert.Equal(t, []ref.Kind{ref.JobType}, kinds)
	_, err = server.resolver().Kinds(t.Context(), "none", []ref.Kind{ref.DAG, ref.JobType})
	require.ErrorContains(t, err, "no visibility")
}

func TestAnUnknownNameHasNearOnes(t *testing.T) {
	t.Parallel()
	server := &kept{}
	for _, name := range []string{"nightly", "nightly2", "nightlx", "nightlz", "weekly"} {
		server.runs = append(server.runs, keptRun{id: contract.DAGWorkflowID(name, "x"), started: at(3), status: completed})
	}
	text := func(name string, wanted ...ref.Kind) string {
		err := server.resolver().Unknown(t.Context(), name, wanted)
		require.ErrorIs(t, err, starter.ErrNotFound)
		return err.Error()
	}
	assert.Equal(t, "x is no DAG (see `roundsman jobtypes`)", text("x", ref.DAG))
	near := text("nightly", ref.DAG)
	assert.Equal(t, nearest, strings.Count(near, "nightl")-1, near)
	assert.NotContains(t, near, "weekly")
	assert.Equal(t, "job type, worker or DAG", either([]string{"job type", "worker", "DAG"}))
	assert.Equal(t, "job type or DAG", either([]string{"job type", "DAG"}))
	assert.Equal(t, "DAG", either([]string{"DAG"}))
	assert.Empty(t, either(nil))
}
