package api_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/starter"
)

// visibility lists runs as a server does: open ones first, then those that ended last.
type visibility struct {
	client.Client

	runs []*workflowpb.WorkflowExecutionInfo
	// requests counts the lists.
	requests int
	// emptyFirst makes the first page without open runs empty, as a server may that looks at some shards at a time.
	emptyFirst bool
}

var untilTerm = regexp.MustCompile(`StartTime <= '([^']+)'`)

func (v *visibility) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	if v.requests++; v.requests > 1000 {
		return nil, errors.New("the list does not end")
	}
	if v.emptyFirst && strings.Contains(in.GetQuery(), "CloseTime IS NOT NULL") && in.GetNextPageToken() == nil {
		return &workflowservice.ListWorkflowExecutionsResponse{NextPageToken: []byte("0")}, nil
	}
	until := time.Now().Add(time.Hour)
	if term := untilTerm.FindStringSubmatch(in.GetQuery()); term != nil {
		until, _ = time.Parse(time.RFC3339Nano, term[1])
	}
	var found []*workflowpb.WorkflowExecutionInfo
	for _, run := range v.runs {
		open := run.GetCloseTime() == nil
		if !run.GetStartTime().AsTime().After(until) && !(open && strings.Contains(in.GetQuery(), "CloseTime IS NOT NULL")) && (open || !strings.Contains(in.GetQuery(), contract.QueryOpen)) {
			found = append(found, run)
		}
	}
	closed := func(run *workflowpb.WorkflowExecutionInfo) time.Time {
		if run.GetCloseTime() == nil {
			return time.Unix(1<<40, 0)
		}
		return run.GetCloseTime().AsTime()
	}
	slices.SortStableFunc(found, func(a, b *workflowpb.WorkflowExecutionInfo) int {
		return cmp.Or(closed(b).Compare(closed(a)), b.GetStartTime().AsTime().Compare(a.GetStartTime().AsTime()))
	})
	at, _ := strconv.Atoi(string(in.GetNextPageToken()))
	end := min(at+int(in.GetPageSize()), len(found))
	page := &workflowservice.ListWorkflowExecutionsResponse{Executions: found[at:end]}
	if end < len(found) {
		page.NextPageToken = []byte(strconv.Itoa(end))
	}
	return page, nil
}

func (v *visibility) DescribeWorkflowExecution(_ context.Context, id, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if run == firstLink {
		return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{StartTime: timestamppb.New(time.Now().Add(-4 * time.Hour))}}, nil
	}
	at := slices.IndexFunc(v.runs, func(run *workflowpb.WorkflowExecutionInfo) bool { return run.GetExecution().GetWorkflowId() == id })
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: v.runs[at]}, nil
}

func (*visibility) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(contract.DAGStatus{})
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

// firstLink is the first workflow run of a run that has continued as new.
const firstLink = "first"

func (v *visibility) add(name string, started, closed time.Time) {
	run := &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: contract.DAGWorkflowID("nightly", name), RunId: name}, Type: &commonpb.WorkflowType{Name: contract.DAGWorkflow},
		StartTime: timestamppb.New(started), Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}
	if !closed.IsZero() {
		run.CloseTime, run.Status = timestamppb.New(closed), enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	}
	v.runs = append(v.runs, run)
}

// walk returns the ids of all runs of a list, page after page.
func (v *visibility) walk(t *testing.T, path string) (ids []string) {
	t.Helper()
	handler := api.New(api.Options{Auth: callers(), Client: starter.New(v, "", nil), Secret: []byte("of these pages")}).Handler()
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		require.LessOrEqual(t, pages, len(v.runs))
		found := ask(t, handler, "admin", http.MethodGet, api.Prefix+path+"&cursor="+url.QueryEscape(cursor), "")
		require.Equal(t, http.StatusOK, found.Code, found.Body.String())
		var page struct {
			Runs []starter.Run
			Next string
		}
		require.NoError(t, json.Unmarshal(found.Body.Bytes(), &page))
		for _, run := range page.Runs {
			ids = append(ids, run.RunID)
		}
		cursor = page.Next
	}
	return ids
}

// TestPagesOfRunsHaveEachRunOnce, the newest first: also short runs behind old open ones, those of one instant, and those
// that long ones outlived.
func TestPagesOfRunsHaveEachRunOnce(t *testing.T) {
	t.Parallel()
	v, now := &visibility{}, time.Now().UTC().Truncate(time.Second)
	for i := range 20 {
		v.add(fmt.Sprint("open-", i), now.Add(-200*time.Hour-time.Duration(i)*time.Minute), time.Time{})
	}
	for i := range 50 {
		at := now.Add(-time.Duration(i/4) * time.Hour) // Four at once.
		v.add(fmt.Sprint("short-", i), at, at.Add(time.Second))
	}
	for i := range 20 {
		v.add(fmt.Sprint("long-", i), now.Add(-100*time.Hour-time.Duration(i)*time.Minute), now.Add(-time.Duration(i)*time.Minute))
	}
	for _, query := range []string{"limit=5", "limit=3", "limit=200", "limit=5&dag=nightly"} {
		var starts []time.Time
		seen := v.walk(t, "/runs?"+query)
		for _, id := range seen {
			at := slices.IndexFunc(v.runs, func(run *workflowpb.WorkflowExecutionInfo) bool { return run.GetExecution().GetRunId() == id })
			starts = append(starts, v.runs[at].GetStartTime().AsTime())
		}
		assert.True(t, slices.IsSortedFunc(starts, func(a, b time.Time) int { return b.Compare(a) }), "%s: %v", query, seen)
		assert.Len(t, seen, len(v.runs), query)
		slices.Sort(seen)
		assert.Len(t, slices.Compact(seen), len(v.runs), query)
	}
	assert.Len(t, v.walk(t, "/runs?running=true&limit=7"), 20)
}

// TestAPageOfRunsIsCheapBehindManyOpenOnes: it does not read them all.
func TestAPageOfRunsIsCheapBehindManyOpenOnes(t *testing.T) {
	t.Parallel()
	v, now := &visibility{}, time.Now().UTC()
	for i := range 5000 {
		v.add(fmt.Sprint("open-", i), now.Add(-time.Duration(i)*time.Minute), time.Time{})
		v.add(fmt.Sprint("short-", i), now.Add(-time.Duration(i)*time.Minute), now.Add(time.Second-time.Duration(i)*time.Minute))
	}
	for _, query := range []string{"", "&running=true", "&until=" + url.QueryEscape(now.Add(-time.Hour).Format(time.RFC3339))} {
		v.requests = 0
		handler := api.New(api.Options{Auth: callers(), Client: starter.New(v, "", nil)}).Handler()
		require.Equal(t, http.StatusOK, ask(t, handler, "admin", http.MethodGet, api.Prefix+"/runs?limit=20"+query, "").Code)
		assert.LessOrEqual(t, v.requests, 2, query)
	}
}

// TestAnEmptyPageOfVisibilityEndsNoList, and does not begin it again.
func TestAnEmptyPageOfVisibilityEndsNoList(t *testing.T) {
	t.Parallel()
	v, now := &visibility{emptyFirst: true}, time.Now().UTC()
	for i := range 30 {
		v.add(fmt.Sprint("open-", i), now.Add(-time.Duration(i)*time.Hour), time.Time{})
	}
	v.add("short", now, now)
	handler := api.New(api.Options{Auth: callers(), Client: starter.New(v, "", nil)}).Handler()
	found := ask(t, handler, "admin", http.MethodGet, api.Prefix+"/runs?limit=2", "")
	require.Equal(t, http.StatusOK, found.Code, found.Body.String())
	assert.Contains(t, found.Body.String(), `"short"`)
	assert.Equal(t, 3, v.requests)
}

// twins is an open group in which the key of job 7 is the number of job 5.
type twins struct{ visibility }

func (*twins) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	asked, is := in.Args[0].(contract.JobsQueryInput)
	if !is {
		return nil, fmt.Errorf("%T is no query of jobs", in.Args[0])
	}
	var result contract.JobsQueryResult
	for _, job := range []contract.JobView{{JobID: contract.JobID(5)}, {JobID: contract.JobID(7), DedupeKey: "5"}} {
		number, _ := contract.JobNumber(job.JobID)
		if number > asked.After && (asked.JobID == job.JobID || asked.DedupeKey != "" && asked.DedupeKey == job.DedupeKey) {
			result.Jobs = append(result.Jobs, job)
		}
	}
	result.Total = len(result.Jobs)
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(result)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

// TestPagesOfFoundJobsHaveEachOnce: those of a key come before the one of a number.
func TestPagesOfFoundJobsHaveEachOnce(t *testing.T) {
	t.Parallel()
	const run = "scrub-1"
	group := &twins{visibility{runs: []*workflowpb.WorkflowExecutionInfo{{
		Execution: &commonpb.WorkflowExecution{WorkflowId: contract.GroupWorkflowID(run), RunId: run}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}}}}
	handler := api.New(api.Options{Auth: callers(), Client: starter.New(group, "", nil), Secret: []byte("of these pages")}).Handler()
	var seen []string
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		require.Less(t, pages, 3)
		found := ask(t, handler, "admin", http.MethodGet, api.Prefix+"/runs/"+run+"/items?find=5&limit=1&cursor="+url.QueryEscape(cursor), "")
		require.Equal(t, http.StatusOK, found.Code, found.Body.String())
		var page struct {
			Items []starter.Item
			Next  string
		}
		require.NoError(t, json.Unmarshal(found.Body.Bytes(), &page))
		for _, item := range page.Items {
			seen = append(seen, item.ID)
		}
		cursor = page.Next
	}
	assert.Equal(t, []string{contract.JobID(7), contract.JobID(5)}, seen)
}

// holders are open groups with jobs of one key.
type holders struct {
	visibility

	jobs map[string]int
}

func (h *holders) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	asked, is := in.Args[0].(contract.JobsQueryInput)
	if !is {
		return nil, fmt.Errorf("%T is no query of jobs", in.Args[0])
	}
	result := contract.JobsQueryResult{Total: h.jobs[in.WorkflowID]}
	for i := max(asked.After, asked.Offset) + 1; i <= h.jobs[in.WorkflowID] && len(result.Jobs) < asked.Limit; i++ {
		result.Jobs = append(result.Jobs, contract.JobView{JobID: contract.JobID(i), DedupeKey: asked.DedupeKey})
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(result)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

// TestPagesOfASearchLeaveNoItemOut: the limit of a page may be in the middle of the searched runs.
func TestPagesOfASearchLeaveNoItemOut(t *testing.T) {
	t.Parallel()
	h, now := &holders{jobs: map[string]int{}}, time.Now().UTC().Truncate(time.Second)
	const runs, all = 9, 17
	for i := range runs {
		id := contract.GroupWorkflowID(fmt.Sprint("scrub-", i))
		h.jobs[id] = 1 + i%4/3*4 // Five in every fourth run.
		h.runs = append(h.runs, &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: id}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow},
			StartTime: timestamppb.New(now.Add(-time.Duration(i/3) * time.Hour)), Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
		})
	}
	handler := api.New(api.Options{Auth: callers(), Client: starter.New(h, "", nil), Secret: []byte("of these pages")}).Handler()
	for limit := 1; limit <= all+1; limit++ {
		h.requests = 0
		var seen []string
		searched := 0
		for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
			require.LessOrEqual(t, pages, all, "limit %d", limit)
			found := ask(t, handler, "admin", http.MethodGet, fmt.Sprintf("%s/items?key=k&limit=%d&cursor=%s", api.Prefix, limit, url.QueryEscape(cursor)), "")
			require.Equal(t, http.StatusOK, found.Code, found.Body.String())
			var page struct {
				Items    []starter.Item
				Searched int
				Next     string
			}
			require.NoError(t, json.Unmarshal(found.Body.Bytes(), &page))
			assert.LessOrEqual(t, len(page.Items), limit)
			for _, item := range page.Items {
				seen = append(seen, item.Run.WorkflowID+item.ID)
			}
			searched, cursor = searched+page.Searched, page.Next
		}
		slices.Sort(seen)
		assert.Len(t, slices.Compact(slices.Clone(seen)), all, "limit %d: %v", limit, seen)
		assert.Len(t, seen, all, "limit %d: %v", limit, seen)
		assert.Equal(t, runs, searched, "limit %d", limit)
	}
}

// TestCountsMoveNoCursor: a run that has continued as new begins in its last part for a list, and in its first for a reader.
func TestCountsMoveNoCursor(t *testing.T) {
	t.Parallel()
	v, now := &visibility{}, time.Now().UTC().Truncate(time.Second)
	for i := range 6 {
		v.add(fmt.Sprint("run-", i), now.Add(-time.Duration(i)*time.Hour), time.Time{})
	}
	v.runs[1].FirstRunId = firstLink // It began after four hours.
	assert.Equal(t, []string{"run-0", "run-1", "run-2", "run-3", "run-4", "run-5"}, v.walk(t, "/runs?limit=2&counts=true"))
}
