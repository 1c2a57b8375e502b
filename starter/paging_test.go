package starter

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
)

// auditLog is a server with an audit log, which returns at most most entries in one page.
type auditLog struct {
	client.Client

	entries []contract.AuditEntry
	most    int
}

func (a auditLog) QueryWorkflowWithOptions(_ context.Context, in *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	filter := in.Args[0].(contract.AuditFilter) //nolint:errcheck,forcetypeassert // as Read sends it
	page := contract.AuditPage{Kept: len(a.entries)}
	for _, entry := range slices.Backward(a.entries) {
		if filter.Before > 0 && entry.Seq >= filter.Before {
			continue
		}
		if len(page.Entries) == a.most || filter.Limit > 0 && len(page.Entries) == filter.Limit {
			page.More = true
			break
		}
		page.Entries = append(page.Entries, entry)
	}
	slices.Reverse(page.Entries)
	payloads, err := DataConverter().ToPayloads(page)
	return &client.QueryWorkflowWithOptionsResponse{QueryResult: client.NewValue(payloads)}, err
}

// TestTheNewestEntriesAreRead over all pages, and sorted by their times.
func TestTheNewestEntriesAreRead(t *testing.T) {
	t.Parallel()
	for n := range 8 {
		var entries []contract.AuditEntry
		for i := range n {
			entries = append(entries, contract.AuditEntry{Seq: int64(10 + i), At: time.Unix(int64(100*(i%3)+i), 0).UTC()})
		}
		for most := 1; most < 5; most++ {
			for limit := range 9 {
				name := fmt.Sprint(n, " entries, pages of ", most, ", limit ", limit)
				found, err := New(auditLog{entries: entries, most: most}, "", nil).Audit().Read(t.Context(), contract.AuditFilter{Limit: limit})
				require.NoError(t, err, name)
				wanted := slices.Clone(entries)
				if limit > 0 {
					wanted = wanted[max(0, n-limit):]
				}
				require.Len(t, found.Entries, len(wanted), name)
				require.ElementsMatch(t, wanted, found.Entries, name)
				assert.True(t, slices.IsSortedFunc(found.Entries, func(a, b contract.AuditEntry) int { return a.At.Compare(b.At) }), name)
				assert.Equal(t, []any{n, limit > 0 && n > limit}, []any{found.Kept, found.More}, name)
				if n > 0 {
					assert.Equal(t, []int64{wanted[0].Seq, wanted[len(wanted)-1].Seq}, []int64{found.First, found.Last}, name)
				}
			}
		}
	}
}

// TestPagesOfTasksMakeOneList, which ends with a run whose matches become fewer meanwhile.
func TestPagesOfTasksMakeOneList(t *testing.T) {
	t.Parallel()
	for total := range 8 {
		for offset := range 9 {
			for limit := 1; limit < 10; limit++ {
				for most := 1; most < 5; most++ {
					name := fmt.Sprint(total, " tasks, offset ", offset, ", limit ", limit, ", pages of ", most)
					left := total
					ask := func(offset, limit int) (page []Item, _ int, _ error) {
						require.Positive(t, limit, name)
						for i := offset; i < min(offset+limit, left); i++ {
							page = append(page, Item{ID: fmt.Sprint(i)})
						}
						return page, left, nil
					}
					filter := ItemFilter{Offset: offset, Limit: limit}
					found, count, err := pages(Snapshot{}, filter, most, ask)
					require.NoError(t, err)
					require.Equal(t, total, count, name)
					require.Len(t, found, max(0, min(total-offset, limit)), name)
					for i, item := range found {
						require.Equal(t, fmt.Sprint(offset+i), item.ID, name)
					}
					shrinking := func(offset, limit int) ([]Item, int, error) {
						page, count, err := ask(offset, limit)
						left = 0
						return page, count, err
					}
					found, _, err = pages(Snapshot{}, filter, most, shrinking)
					require.NoError(t, err)
					require.Len(t, found, max(0, min(total-offset, limit, most)), name)
				}
			}
		}
	}
}

// TestATaskIsReadyWhenItsLastNeedHasEnded. Without the end of a need the time is unknown.
func TestATaskIsReadyWhenItsLastNeedHasEnded(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	tasks := []Item{
		{ID: "reused", EndedAt: at(1)}, {ID: "early", EndedAt: at(20)}, {ID: "late", EndedAt: at(30)}, {ID: "open", StartedAt: at(12)},
	}
	places := map[string]int{"reused": 0, "early": 1, "late": 2, "open": 3}
	for name, c := range map[string]struct {
		needs []string
		want  time.Time
	}{
		"no need":                        {nil, at(10)},
		"of two":                         {[]string{"early", "late"}, at(30)},
		"in any order":                   {[]string{"late", "early"}, at(30)},
		"a need from an earlier run":     {[]string{"reused"}, at(10)},
		"a need that has not ended":      {[]string{"late", "open"}, time.Time{}},
		"a need that is not in the list": {[]string{"late", "other"}, time.Time{}},
	} {
		assert.Equal(t, c.want, readyAt(Item{Needs: c.needs}, at(10), tasks, places), name)
	}
}

// TestTheHistoryOfATaskFillsItsGaps. It replaces nothing.
func TestTheHistoryOfATaskFillsItsGaps(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	approved := ItemHistory{Requests: []ItemRequest{{Action: contract.UpdateRerunTask, At: at(1)}, {Action: contract.UpdateApprove, By: "ann", At: at(5)}, {Action: contract.UpdateRetryTasks, At: at(6)}}}
	task := Item{State: dag.Completed.String()}.with(approved)
	require.NotNil(t, task.Decision)
	assert.Equal(t, []any{"ann", at(5)}, []any{task.Decision.By, task.EndedAt}, "the approval is its end")
	assert.True(t, Item{State: dag.Running.String()}.with(approved).EndedAt.IsZero(), "it was decided, and has not ended")
	assert.Nil(t, Item{}.with(ItemHistory{Requests: approved.Requests[:1]}).Decision)
}

// unanswering is a server with open runs and without a control plane. It counts the queries.
type unanswering struct {
	recordingClient

	asked atomic.Int32
}

func (u *unanswering) QueryWorkflowWithOptions(context.Context, *client.QueryWorkflowWithOptionsRequest) (*client.QueryWorkflowWithOptionsResponse, error) {
	u.asked.Add(1)
	return nil, serviceerror.NewDeadlineExceeded("nobody polls")
}

func (*unanswering) DescribeTaskQueue(ctx context.Context, queue string, kind enumspb.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return silentClient{}.DescribeTaskQueue(ctx, queue, kind)
}

// TestALongListAsksAnAbsentControlPlaneOnce, or as often as queries are sent at the same time.
func TestALongListAsksAnAbsentControlPlaneOnce(t *testing.T) {
	t.Parallel()
	runs := make([]Run, 20*countParallel)
	for i := range runs {
		runs[i] = Run{RunRef: RunRef{WorkflowID: fmt.Sprint("group/scrub-", i)}, Status: StatusRunning}
	}
	server := &unanswering{}
	New(server, "", nil).Runs().AddCounts(t.Context(), runs)
	assert.LessOrEqual(t, int(server.asked.Load()), countParallel)
	assert.Positive(t, server.asked.Load())
}
