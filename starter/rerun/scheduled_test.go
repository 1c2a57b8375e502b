package rerun

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// started is a server that has the start of one run, and no other run.
type started struct {
	client.Client

	input contract.JobGroupInput
}

func (started) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, serviceerror.NewNotFound("deleted after the retention")
}

func (s started) GetWorkflowHistory(context.Context, string, string, bool, enumspb.HistoryEventFilterType) client.HistoryEventIterator {
	return s
}

func (started) HasNext() bool { return true }

func (s started) Next() (*historypb.HistoryEvent, error) {
	input, err := starter.DataConverter().ToPayloads(s.input)
	return &historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{
		WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{Input: input},
	}}, err
}

// TestARetryOfARetryStandsForTheFirstRun, also if the server has deleted the runs between them.
func TestARetryOfARetryStandsForTheFirstRun(t *testing.T) {
	t.Parallel()
	tick, began := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	retry := func(id string) string { return contract.AdHocWorkflowID("scrub", contract.RetryPrefix+id) }
	for name, c := range map[string]struct {
		run, resumes string
		input        contract.JobGroupInput
		want         time.Time
	}{
		"a run of the Schedule":          {"group/scrub-2026-11-20T09:00:00Z", "", contract.JobGroupInput{}, tick},
		"its retry":                      {retry("a"), "group/scrub-2026-11-20T09:00:00Z", contract.JobGroupInput{Submission: &contract.Submission{}}, tick},
		"a retry of that":                {retry("b"), retry("a"), contract.JobGroupInput{Submission: &contract.Submission{ScheduledAt: tick}}, tick},
		"a submission":                   {contract.AdHocWorkflowID("scrub", "ticket-1"), "", contract.JobGroupInput{Submission: &contract.Submission{}}, began},
		"a run with its own params":      {contract.AdHocWorkflowID("scrub", "own"), "", contract.JobGroupInput{OwnParams: true}, began},
		"a retry by an earlier version":  {retry("c"), retry("a"), contract.JobGroupInput{Submission: &contract.Submission{}}, time.Time{}},
		"a retry of a submission's work": {retry("d"), contract.AdHocWorkflowID("scrub", "ticket-1"), contract.JobGroupInput{Submission: &contract.Submission{ScheduledAt: began}}, began},
	} {
		plan, known := Plan{}, jobtypes.JobType{}
		run := starter.Snapshot{Run: starter.Run{RunRef: starter.RunRef{WorkflowID: c.run}, JobType: "scrub", Resumes: c.resumes, Started: began}}
		require.NoError(t, Of(starter.New(started{input: c.input}, "", nil)).takeStart(t.Context(), &plan, run, &known), name)
		assert.Equal(t, c.want, plan.submission.ScheduledAt, name)
		assert.Equal(t, c.input.OwnParams, plan.submission.OwnParams, name)
	}
}
