package starter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
)

// storedRun is a run in visibility. ended is 0 for an open run.
type storedRun struct {
	id             string
	started, ended int
}

// rank is the place of a run in the order of the server: open runs by start, then the others by end, the latest first.
func (s storedRun) rank() string {
	if s.ended == 0 {
		return fmt.Sprintf("0/%05d/%s", 10_000-s.started, s.id)
	}
	return fmt.Sprintf("1/%05d/%s", 10_000-s.ended, s.id)
}

// visibility is a server that lists runs in pages, while runs end.
type visibility struct {
	client.Client

	runs []storedRun
	ends []int
}

func (v *visibility) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	listed := slices.Clone(v.runs)
	slices.SortFunc(listed, func(a, b storedRun) int { return cmp.Compare(a.rank(), b.rank()) })
	answer := &workflowservice.ListWorkflowExecutionsResponse{}
	for _, run := range listed {
		if run.rank() <= string(in.GetNextPageToken()) || run.ended == 0 && strings.Contains(in.GetQuery(), "CloseTime IS NOT NULL") ||
			run.ended > 0 && strings.Contains(in.GetQuery(), contract.QueryOpen) {
			continue
		}
		if len(answer.GetExecutions()) == int(in.GetPageSize()) {
			break
		}
		answer.NextPageToken = []byte(run.rank())
		info := &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{WorkflowId: run.id, RunId: run.id}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
			Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, StartTime: timestamppb.New(time.Unix(int64(run.started), 0)),
		}
		if run.ended > 0 {
			info.Status, info.CloseTime = enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, timestamppb.New(time.Unix(int64(run.ended), 0))
		}
		answer.Executions = append(answer.Executions, info)
	}
	if len(answer.GetExecutions()) < int(in.GetPageSize()) {
		answer.NextPageToken = nil
	}
	if len(v.ends) > 0 {
		if ends := &v.runs[v.ends[0]%len(v.runs)]; ends.ended == 0 {
			ends.ended = 9999
		}
		v.ends = v.ends[1:]
	}
	return answer, nil
}

// TestAListHasTheNewestRuns, each once. The server lists them in any order, and runs end between its pages.
func TestAListHasTheNewestRuns(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		server := &visibility{ends: rapid.SliceOfN(rapid.IntRange(0, 99), 0, 4).Draw(t, "ends")}
		filter := RunFilter{Limit: rapid.IntRange(1, 4).Draw(t, "limit"), DryRuns: rapid.Bool().Draw(t, "dry runs"), Running: rapid.Bool().Draw(t, "running")}
		var wanted []int
		for i := range rapid.IntRange(0, 60).Draw(t, "runs") {
			run := storedRun{id: fmt.Sprintf("group/scrub-adhoc-%d", i), started: rapid.IntRange(1, 40).Draw(t, "started")}
			if rapid.Bool().Draw(t, "dry") {
				run.id = contract.DryRunWorkflowID("scrub", fmt.Sprint(i))
			}
			if rapid.IntRange(0, 2).Draw(t, "open") > 0 {
				run.ended = run.started + rapid.IntRange(0, 40).Draw(t, "took")
			}
			server.runs = append(server.runs, run)
			if (filter.DryRuns || !strings.HasPrefix(run.id, contract.DryRunWorkflowID("scrub", ""))) && !(filter.Running && run.ended > 0) {
				wanted = append(wanted, run.started)
			}
		}
		if filter.Running || len(server.runs) == 0 {
			server.ends = nil // The list of open runs may or may not have those that end meanwhile.
		}
		slices.SortFunc(wanted, func(a, b int) int { return cmp.Compare(b, a) })
		found, err := New(server, "", nil).Runs().List(ctx, filter)
		require.NoError(t, err)
		var starts []int
		ids := map[string]bool{}
		for _, run := range found {
			starts, ids[run.WorkflowID] = append(starts, int(run.Started.Unix())), true
		}
		assert.Equal(t, wanted[:min(len(wanted), filter.Limit)], starts)
		assert.Len(t, ids, len(found))
	})
}

// paths is a server with some runs. The others do not exist, or cannot be looked at.
type paths struct {
	client.Client

	known []string
	fault error
}

func (p paths) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if !slices.Contains(p.known, id) {
		return nil, p.fault
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id}, Type: &commonpb.WorkflowType{Name: contract.DAGWorkflow},
	}}, nil
}

// TestAPathLeadsToItsRun: a slash separates sub-DAGs, or belongs to the key of a task of a fan-out.
func TestAPathLeadsToItsRun(t *testing.T) {
	t.Parallel()
	missing := serviceerror.NewNotFound("it does not exist")
	runs := New(paths{known: []string{"dag/d/1/sub", "dag/d/1/sub/inner", "dag/d/1/each./dev/sda"}, fault: missing}, "", nil).Runs()
	for path, want := range map[string]ItemRef{
		"load":                {RunRef{WorkflowID: "dag/d/1"}, "load"},
		"sub":                 {RunRef{WorkflowID: "dag/d/1"}, "sub"},
		"sub/":                {RunRef{WorkflowID: "dag/d/1/sub"}, ""},
		"sub/load":            {RunRef{WorkflowID: "dag/d/1/sub"}, "load"},
		"sub/inner/load":      {RunRef{WorkflowID: "dag/d/1/sub/inner"}, "load"},
		"sub/load./dev/sda":   {RunRef{WorkflowID: "dag/d/1/sub"}, "load./dev/sda"},
		"each./dev/sda":       {RunRef{WorkflowID: "dag/d/1"}, "each./dev/sda"},
		"each./dev/sda/check": {RunRef{WorkflowID: "dag/d/1/each./dev/sda"}, "check"},
		"each./dev/sdb/check": {RunRef{WorkflowID: "dag/d/1"}, "each./dev/sdb/check"},
	} {
		found, err := runs.Locate(t.Context(), ItemRef{Run: RunRef{WorkflowID: "dag/d/1"}, ID: path})
		require.NoError(t, err, path)
		assert.Equal(t, want, found, path)
	}
	away := New(paths{fault: serviceerror.NewUnavailable("away")}, "", nil).Runs()
	_, err := away.Locate(t.Context(), ItemRef{Run: RunRef{WorkflowID: "dag/d/1"}, ID: "sub/load"})
	require.ErrorContains(t, err, "away", "it may be another task")
}

// vanishing is a server that is away at the first look at a run, and has deleted the run at the second one.
type vanishing struct {
	client.Client
	client.WorkflowRun

	looks int
}

func (v *vanishing) GetWorkflow(context.Context, string, string) client.WorkflowRun { return v }

func (*vanishing) Get(context.Context, any) error { return errors.New("away") }

func (v *vanishing) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if v.looks++; v.looks == 1 {
		return nil, serviceerror.NewUnavailable("away")
	}
	return nil, serviceerror.NewNotFound("deleted")
}

// TestAWatchBeginsWhileTheServerIsAway: the run is shown without an answer, and is open as far as is known.
func TestAWatchBeginsWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]Run{
		"group/scrub-2026-11-20T09:00:00Z": {Kind: KindGroup, JobType: "scrub"},
		"dag/nightly/december":             {Kind: KindDAG, DAG: "nightly"},
	} {
		var shown []Snapshot
		var last error
		for snapshot, err := range New(&vanishing{}, "", nil).Runs().Watch(t.Context(), RunRef{WorkflowID: id}, time.Hour) {
			shown, last = append(shown, snapshot), err
		}
		require.Len(t, shown, 2, id)
		require.ErrorIs(t, last, ErrNotFound, id)
		assert.Contains(t, shown[0].Unanswered, "away", id)
		assert.Equal(t, []any{id, want.Kind, want.JobType, want.DAG, true}, []any{shown[0].WorkflowID, shown[0].Kind, shown[0].JobType, shown[0].DAG, shown[0].Open()})
		assert.Equal(t, "running", shown[0].Standing.State, id)
	}
}
