package starter

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/jobtype"
)

// TestAJobIsRenderedWithWhatItsRunHasInCommon: settings travel with the attempt, or with
// the run alone.
func TestAJobIsRenderedWithWhatItsRunHasInCommon(t *testing.T) {
	t.Parallel()
	payloads := func(value any) *commonpb.Payloads {
		encoded, err := DataConverter().ToPayloads(value)
		require.NoError(t, err)
		return encoded
	}
	client := New(nil, "", nil)
	client.render = func(in contract.ExecuteInput) ([]string, json.RawMessage) {
		return []string{string(in.Job.Settings), in.Job.GroupID, in.Job.WorkerID, string(in.ProposalParams)}, in.Job.Params
	}
	spec := contract.JobTypeSpec{Params: json.RawMessage(`{"dir":"/var"}`), Execute: json.RawMessage(`{"command":["x"]}`)}
	for _, job := range []jobtype.Job{
		{ID: "job-00001"},
		{ID: "job-00001", Settings: spec.Execute, Params: spec.Params},
	} {
		h := newHistoryReader(client, "group/x", []Item{{ID: "job-00001"}})
		h.read(&historypb.HistoryEvent{
			EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
			Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				Input: payloads(contract.JobGroupInput{Spec: spec}),
			}},
		})
		h.read(&historypb.HistoryEvent{
			EventId: 7, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
			Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityId: contract.AttemptID("job-00001", 1), ActivityType: &commonpb.ActivityType{Name: contract.ExecuteActivity},
				TaskQueue: &taskqueuepb.TaskQueue{Name: contract.WorkerQueue("node-a", "i")},
				Input:     payloads(contract.ExecuteInput{Handler: "h", Job: job, ProposalParams: json.RawMessage(`{"item":"sda"}`)}),
			}},
		})
		assert.Equal(t, []string{`{"command":["x"]}`, "group/x", "node-a", `{"item":"sda"}`}, h.found["job-00001"].Command)
		assert.JSONEq(t, `{"dir":"/var"}`, string(h.found["job-00001"].Params))
	}
}

// TestARunningAttemptHasItsStartAndWorker: the history of an open run has no start of an
// activity, the server's list of those in flight has.
func TestARunningAttemptHasItsStartAndWorker(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	item := Item{Worker: "node-a", Active: &ActiveItem{Started: true, StartedAt: at}}
	history := ItemHistory{Attempts: []Attempt{{Number: 1, EndedAt: at, EndedAs: "not_taken"}, {Number: 2}}}
	history.inFlight(item)
	assert.Equal(t, []Attempt{{Number: 1, EndedAt: at, EndedAs: "not_taken"}, {Number: 2, Worker: "node-a", StartedAt: at}}, history.Attempts)

	for what, waits := range map[string]Item{
		"not in flight": {Worker: "node-a"}, "not taken yet": {Worker: "node-a", Active: &ActiveItem{}},
	} {
		history = ItemHistory{Attempts: []Attempt{{Number: 1}}}
		history.inFlight(waits)
		assert.Equal(t, []Attempt{{Number: 1}}, history.Attempts, what)
	}
}

// TestTheTimesAreOfTheLastAttemptThatWasTaken: a lost worker is asked once more, and does not
// take what it is sent.
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
