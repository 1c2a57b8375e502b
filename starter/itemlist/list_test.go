package itemlist

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

func TestItemsWithoutAValueComeLast(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	items := []starter.Item{
		{ID: "a", State: "pending"},
		{ID: "b", State: "running", Worker: "n2", Attempt: 2, StartedAt: ago(5)},
		{ID: "c", State: "completed", Worker: "n1", Attempt: 1, StartedAt: ago(9), EndedAt: ago(8)},
		{ID: "d", DedupeKey: "0", State: "failed", Worker: "n3", Attempt: 3, StartedAt: ago(20), EndedAt: ago(10)},
	}
	for sort, wanted := range map[string]string{
		ByKey: "dabc", descending + ByKey: "cbad",
		ByState: "cdab", descending + ByState: "badc",
		ByWorker: "cbda", descending + ByWorker: "dbca",
		ByAttempt: "cbda", descending + ByAttempt: "dbca",
		ByTook: "cbda", descending + ByTook: "dbca",
		ByEnded: "dcab", descending + ByEnded: "cdab",
	} {
		sorted := slices.Clone(items)
		slices.SortStableFunc(sorted, order(sort, now))
		got := ""
		for _, item := range sorted {
			got += item.ID
		}
		assert.Equal(t, wanted, got, sort)
	}
}

func TestATextNamesAnItem(t *testing.T) {
	t.Parallel()
	group, dag := starter.RunRef{WorkflowID: "group/scrub-1"}, starter.RunRef{WorkflowID: "dag/steps/1"}
	for text, wanted := range map[string]string{"12": "job-00012", "job-00012": "job-00012", "job-12": "job-00012", "disk-12": "", "0": "", "-1": ""} {
		assert.Equal(t, wanted, idOf(group, text), text)
	}
	assert.Equal(t, "load.#2", idOf(dag, "load.#2"))
}

func TestItemsOfATime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	filter := Filter{Since: ago(10), Until: ago(5)}
	for name, row := range map[string]struct {
		item starter.Item
		ran  bool
	}{
		"not begun": {starter.Item{}, false}, "before": {starter.Item{StartedAt: ago(20), EndedAt: ago(11)}, false}, "until the beginning": {starter.Item{StartedAt: ago(20), EndedAt: ago(10)}, true},
		"around": {starter.Item{StartedAt: ago(20), EndedAt: ago(1)}, true}, "still runs": {starter.Item{StartedAt: ago(20)}, true}, "after": {starter.Item{StartedAt: ago(4)}, false},
	} {
		assert.Equal(t, row.ran, filter.ran(row.item), name)
	}
	assert.True(t, Filter{}.ran(starter.Item{}))
}

// listed is a server with an open run of jobs, some of which are claimed to exist only.
type listed struct {
	client.Client

	jobs    []contract.JobView
	claimed int
	queries []contract.JobsQueryInput
}

func (s *listed) DescribeWorkflowExecution(_ context.Context, id, _ string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: "r"}, Type: &commonpb.WorkflowType{Name: contract.JobGroupWorkflow}, Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
	}}, nil
}

func (s *listed) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	query := in.Args[0].(contract.JobsQueryInput) //nolint:errcheck,forcetypeassert // as the client sends it
	s.queries = append(s.queries, query)
	var answer contract.JobsQueryResult
	for _, job := range s.jobs {
		if (query.JobID == "" || query.JobID == job.JobID) && (query.DedupeKey == "" || query.DedupeKey == job.DedupeKey) && (len(query.States) == 0 || slices.Contains(query.States, job.State)) {
			if answer.Total++; len(answer.Jobs) < query.Limit {
				answer.Jobs = append(answer.Jobs, job)
			}
		}
	}
	answer.Total += s.claimed
	payloads, err := starter.DataConverter().ToPayloads(answer)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

// TestItemsAreChosenAndSorted: a page of a sorted list is cut from the whole list.
func TestItemsAreChosenAndSorted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
	server := &listed{jobs: []contract.JobView{
		{JobID: "job-00001", DedupeKey: "c", State: "running", StartedAt: now.Add(-time.Hour)},
		{JobID: "job-00002", DedupeKey: "a", State: "pending"},
		{JobID: "job-00003", DedupeKey: "1", State: "running", StartedAt: now.Add(-time.Minute)},
		{JobID: "job-00012", DedupeKey: "b", State: "pending"},
	}}
	ref := starter.RunRef{WorkflowID: "group/scrub-2026-11-24T02:00:00Z"}
	list := func(filter Filter) (ids []string, total int) {
		items, total, err := List(t.Context(), starter.New(server, "", nil).Runs(), ref, filter, now)
		require.NoError(t, err)
		for _, item := range items {
			ids = append(ids, item.ID)
		}
		return ids, total
	}
	page := func(offset, limit int) starter.ItemFilter { return starter.ItemFilter{Offset: offset, Limit: limit} }
	for name, c := range map[string]struct {
		filter Filter
		ids    []string
		total  int
	}{
		"as the run has them":      {Filter{ItemFilter: page(0, 2)}, []string{"job-00001", "job-00002"}, 4},
		"by key":                   {Filter{ItemFilter: page(0, 3), Sort: ByKey}, []string{"job-00003", "job-00002", "job-00012"}, 4},
		"the second page":          {Filter{ItemFilter: page(3, 3), Sort: ByKey}, []string{"job-00001"}, 4},
		"that ran":                 {Filter{ItemFilter: page(0, 9), Since: now.Add(-time.Minute)}, []string{"job-00001", "job-00003"}, 2},
		"that ran until then":      {Filter{ItemFilter: page(0, 9), Until: now.Add(-30 * time.Minute)}, []string{"job-00001"}, 1},
		"a number and a key":       {Filter{ItemFilter: page(0, 9), Find: "1"}, []string{"job-00003", "job-00001"}, 2},
		"a key":                    {Filter{ItemFilter: page(0, 9), Find: "a"}, []string{"job-00002"}, 1},
		"a number":                 {Filter{ItemFilter: page(0, 9), Find: "12"}, []string{"job-00012"}, 1},
		"nothing":                  {Filter{ItemFilter: page(0, 9), Find: "7"}, nil, 0},
		"a number, of other state": {Filter{ItemFilter: starter.ItemFilter{States: []string{"running"}, Limit: 9}, Find: "12"}, nil, 0},
	} {
		ids, total := list(c.filter)
		assert.Equal(t, c.ids, ids, name)
		assert.Equal(t, c.total, total, name)
	}
	server.jobs[2].JobID = "job-00013"
	server.jobs[0].DedupeKey = "job-00001"
	ids, _ := list(Filter{ItemFilter: page(0, 9), Find: "job-00001"})
	assert.Equal(t, []string{"job-00001"}, ids, "its key is its id: it is listed once")
}

// TestTheItemsOfALargeRunAreNotRead to sort them.
func TestTheItemsOfALargeRunAreNotRead(t *testing.T) {
	t.Parallel()
	server := &listed{claimed: MaxSorted + 1}
	ref := starter.RunRef{WorkflowID: "group/scrub-2026-11-24T02:00:00Z"}
	_, _, err := List(t.Context(), starter.New(server, "", nil).Runs(), ref, Filter{Sort: ByKey}, time.Time{})
	var tooMany *TooManyError
	require.ErrorAs(t, err, &tooMany)
	assert.Equal(t, MaxSorted+1, tooMany.Items)
	require.Len(t, server.queries, 1)
	assert.Equal(t, 1, server.queries[0].Limit)
	server.claimed = MaxSorted
	_, total, err := List(t.Context(), starter.New(server, "", nil).Runs(), ref, Filter{Sort: ByKey}, time.Time{})
	require.NoError(t, err)
	assert.Zero(t, total)
}
