package starter

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
)

// A lost worker gets another attempt and does not take it.
func TestTheTimesAreOfTheLastAttemptThatWasTaken(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	history := ItemHistory{Attempts: []Attempt{{StartedAt: at(1), EndedAt: at(2)}, {StartedAt: at(3), EndedAt: at(8)}, {EndedAt: at(9)}}}
	failed := Item{State: dag.Failed.String()}.with(history)
	assert.Equal(t, []time.Time{at(3), at(9)}, []time.Time{failed.StartedAt, failed.EndedAt})
	known := Item{State: dag.Running.String(), StartedAt: at(5)}.with(history)
	assert.Equal(t, []time.Time{at(5), {}}, []time.Time{known.StartedAt, known.EndedAt})
	never := Item{State: dag.Failed.String()}.with(ItemHistory{Attempts: []Attempt{{EndedAt: at(9)}}})
	assert.True(t, never.StartedAt.IsZero())
}

// The page of an item and the row of its attempt have the same times.
func TestTheTimesOfAnItemAreThoseOfItsAttempt(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	times := func(state string, attempts ...Attempt) []time.Time {
		item := Item{State: state, StartedAt: at(1), EndedAt: at(20)}.with(ItemHistory{Attempts: attempts})
		return []time.Time{item.StartedAt, item.EndedAt}
	}
	first, second := Attempt{StartedAt: at(2), EndedAt: at(3), EndedAs: "failed"}, Attempt{StartedAt: at(5), EndedAt: at(9), EndedAs: "permanent"}
	assert.Equal(t, []time.Time{at(5), at(9)}, times(contract.JobFailed, first, second))
	assert.Equal(t, []time.Time{at(2), at(20)}, times(contract.JobCanceled, first), "it was canceled before its second attempt")
	assert.Equal(t, []time.Time{at(5), at(9)}, times(contract.JobCanceled, first, Attempt{StartedAt: at(5), EndedAt: at(9), EndedAs: "canceled"}))
	assert.Equal(t, []time.Time{at(1), at(20)}, times(contract.JobFailed), "its history is not known")
	assert.Equal(t, at(5), times(contract.JobRunning, first, Attempt{StartedAt: at(5)})[0])
	running := Item{State: contract.JobRunning, StartedAt: at(5)}.with(ItemHistory{Attempts: []Attempt{first, {SentAt: at(4)}}})
	assert.Equal(t, at(5), running.StartedAt, "the history has the start of an open attempt only after its end")
}

// listing is a server that lists one workflow run, and keeps the query.
type listing struct {
	client.Client

	query string
}

func (l *listing) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	l.query = in.GetQuery()
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{{Execution: &commonpb.WorkflowExecution{RunId: "found"}}}}, nil
}

// TestTheRunOfAnItemBearsWithClocks: an item may have ended right after a continue-as-new, by a clock that is behind.
func TestTheRunOfAnItemBearsWithClocks(t *testing.T) {
	t.Parallel()
	server := &listing{}
	ended := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	at := Runs{&Client{temporal: server}}.linkOf(t.Context(), RunRef{WorkflowID: "group/it's"}, []Item{
		{State: contract.JobCompleted, EndedAt: ended.Add(-time.Hour)}, {State: contract.JobFailed, EndedAt: ended},
	})
	assert.Equal(t, RunRef{WorkflowID: "group/it's", RunID: "found"}, at)
	assert.Equal(t, "WorkflowId = 'group/it''s' AND StartTime <= '2026-01-02T03:04:10.000000006Z'", server.query)
}
