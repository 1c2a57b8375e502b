package attempts

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/temporal/codec"
	"github.com/roundsman/roundsman/internal/temporal/pages"
	"github.com/roundsman/roundsman/jobtype"
)

// payloadsOf encodes a value as clients do.
func payloadsOf(t *testing.T) func(value any) *commonpb.Payloads {
	t.Helper()
	return func(value any) *commonpb.Payloads {
		encoded, err := codec.DataConverter().ToPayloads(value)
		require.NoError(t, err)
		return encoded
	}
}

// TestAJobIsRenderedWithWhatItsRunHasInCommon: settings travel with the attempt, or with
// the run alone.
func TestAJobIsRenderedWithWhatItsRunHasInCommon(t *testing.T) {
	t.Parallel()
	payloads := payloadsOf(t)
	render := func(in contract.ExecuteInput) Rendered {
		return Rendered{Command: []string{string(in.Job.Settings), in.Job.GroupID, in.Job.WorkerID, string(in.ProposalParams)}, Params: in.Job.Params}
	}
	spec := contract.JobTypeSpec{Params: json.RawMessage(`{"dir":"/var"}`), Execute: json.RawMessage(`{"command":["x"]}`)}
	for _, job := range []jobtype.Job{
		{ID: "job-00001"},
		{ID: "job-00001", Settings: spec.Execute, Params: spec.Params},
	} {
		h := NewReader("group/x", []Item{{ID: "job-00001"}}, render, slog.Default())
		h.Read(&historypb.HistoryEvent{
			EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
			Attributes: &historypb.HistoryEvent_WorkflowExecutionStartedEventAttributes{WorkflowExecutionStartedEventAttributes: &historypb.WorkflowExecutionStartedEventAttributes{
				Input: payloads(contract.JobGroupInput{Spec: spec}),
			}},
		})
		h.Read(&historypb.HistoryEvent{
			EventId: 7, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
			Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityId: contract.AttemptID("job-00001", 1), ActivityType: &commonpb.ActivityType{Name: contract.ExecuteActivity},
				TaskQueue: &taskqueuepb.TaskQueue{Name: contract.WorkerQueue("node-a", "i")},
				Input:     payloads(contract.ExecuteInput{Handler: "h", Job: job, ProposalParams: json.RawMessage(`{"item":"sda"}`)}),
			}},
		})
		assert.Equal(t, []string{`{"command":["x"]}`, "group/x", "node-a", `{"item":"sda"}`}, h.Found["job-00001"].Command)
		assert.JSONEq(t, `{"dir":"/var"}`, string(h.Found["job-00001"].Params))
	}
}

// TestAJobOfAPageIsRendered with the proposal from its page; a lost page leaves the attempt without.
func TestAJobOfAPageIsRendered(t *testing.T) {
	t.Parallel()
	payloads := payloadsOf(t)
	render := func(in contract.ExecuteInput) Rendered {
		return Rendered{Command: []string{in.Job.Summary, string(in.ProposalParams)}}
	}
	for _, lost := range []bool{false, true} {
		h := NewReader("group/x", []Item{{ID: "job-00001"}}, render, slog.Default())
		h.Proposal = func(ref contract.ProposalRef) (jobtype.Proposal, error) {
			assert.Equal(t, contract.ProposalRef{Page: "p", Position: 3}, ref)
			if lost {
				return jobtype.Proposal{}, pages.ErrLost
			}
			return jobtype.Proposal{Summary: "it", Params: json.RawMessage(`{"item":"sda"}`)}, nil
		}
		h.Read(&historypb.HistoryEvent{
			EventId: 7, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
			Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityId: contract.AttemptID("job-00001", 1), ActivityType: &commonpb.ActivityType{Name: contract.ExecuteActivity},
				TaskQueue: &taskqueuepb.TaskQueue{Name: contract.WorkerQueue("node-a", "i")},
				Input:     payloads(contract.ExecuteInput{Handler: "h", Job: jobtype.Job{ID: "job-00001"}, Ref: &contract.ProposalRef{Page: "p", Position: 3}}),
			}},
		})
		want := []string{"it", `{"item":"sda"}`}
		if lost {
			want = nil
		}
		assert.Equal(t, want, h.Found["job-00001"].Command)
		assert.Len(t, h.Found["job-00001"].Attempts, 1)
	}
}

// The history of an open run lacks the start of an activity; the server's list of attempts in
// flight has it.
func TestARunningAttemptHasItsStartAndWorker(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	history := ItemHistory{Attempts: []Attempt{{Number: 1, EndedAt: at, EndedAs: "not_taken"}, {Number: 2}}}
	history.InFlight("node-a", at)
	assert.Equal(t, []Attempt{{Number: 1, EndedAt: at, EndedAs: "not_taken"}, {Number: 2, Worker: "node-a", StartedAt: at}}, history.Attempts)
}

// story is a history, an event a second.
type story struct {
	t      *testing.T
	reader *Reader
	events int64
}

func newStory(t *testing.T) *story {
	t.Helper()
	return &story{t: t, reader: NewReader("group/x", []Item{{ID: "job-00001"}}, nil, slog.Default())}
}

func at(second int64) time.Time { return time.Unix(second, 0).UTC() }

func (s *story) add(event *historypb.HistoryEvent) int64 {
	s.events++
	event.EventId, event.EventTime = s.events, timestamppb.New(at(s.events))
	s.reader.Read(event)
	return s.events
}

func (s *story) send(activity, worker string) int64 {
	return s.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
		Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
			ActivityId: activity, ActivityType: &commonpb.ActivityType{Name: contract.ExecuteActivity},
			TaskQueue: &taskqueuepb.TaskQueue{Name: contract.WorkerQueue(worker, "i")},
		}},
	})
}

func (s *story) start(scheduled int64) {
	s.add(&historypb.HistoryEvent{
		EventType:  enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED,
		Attributes: &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: scheduled}},
	})
}

func (s *story) timeOut(scheduled int64, kind enumspb.TimeoutType) {
	s.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT,
		Attributes: &historypb.HistoryEvent_ActivityTaskTimedOutEventAttributes{ActivityTaskTimedOutEventAttributes: &historypb.ActivityTaskTimedOutEventAttributes{
			ScheduledEventId: scheduled,
			Failure:          &failurepb.Failure{FailureInfo: &failurepb.Failure_TimeoutFailureInfo{TimeoutFailureInfo: &failurepb.TimeoutFailureInfo{TimeoutType: kind}}},
		}},
	})
}

func (s *story) complete(scheduled int64, state contract.ExecuteState) {
	s.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
		Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{
			ScheduledEventId: scheduled, Result: payloadsOf(s.t)(state),
		}},
	})
}

func (s *story) fail(scheduled int64, state contract.ExecuteState) {
	s.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED,
		Attributes: &historypb.HistoryEvent_ActivityTaskFailedEventAttributes{ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{
			ScheduledEventId: scheduled,
			Failure:          &failurepb.Failure{FailureInfo: &failurepb.Failure_ApplicationFailureInfo{ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Details: payloadsOf(s.t)(state)}}},
		}},
	})
}

func (s *story) deliver(attempt int, state contract.ExecuteState) {
	s.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes{WorkflowExecutionSignaledEventAttributes: &historypb.WorkflowExecutionSignaledEventAttributes{
			SignalName: contract.SignalJobOutcome, Input: payloadsOf(s.t)(contract.JobOutcomeInput{JobID: "job-00001", Attempt: attempt, Outcome: state}),
		}},
	})
}

// rows has number, worker and end of each attempt, and the seconds of its start and end.
func (s *story) rows() (rows []string) {
	history := s.reader.Found["job-00001"]
	history.Enumerate()
	for _, a := range history.Attempts {
		rows = append(rows, fmt.Sprintf("%d %s %s %d-%d", a.Number, a.Worker, a.EndedAs, seconds(a.StartedAt), seconds(a.EndedAt)))
	}
	return rows
}

func seconds(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.Unix()
}

// silence is an attempt that the server has timed out, and its adoption.
func (s *story) silence() (adoption int64) {
	first := s.send("job-00001", "a")
	s.start(first)
	s.timeOut(first, enumspb.TIMEOUT_TYPE_HEARTBEAT)
	return s.send(contract.AdoptionID("job-00001", 1, 1), "a")
}

// TestAnAdoptedAttemptIsOneRow: its worker never died. Start and number stay.
func TestAnAdoptedAttemptIsOneRow(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	adoption := s.silence()
	assert.Equal(t, []string{"1 a  2-0"}, s.rows(), "it runs")
	s.start(adoption)
	s.timeOut(adoption, enumspb.TIMEOUT_TYPE_HEARTBEAT)
	again := s.send(contract.AdoptionID("job-00001", 1, 2), "a")
	s.start(again)
	s.complete(again, contract.ExecuteState{Worker: "a", StartedAt: at(2)})
	assert.Equal(t, []string{"1 a completed 2-9"}, s.rows())
}

// TestAnAdoptionThatFailsLeavesTheLoss: no row is about the adoption, and the next attempt has
// the number of its run.
func TestAnAdoptionThatFailsLeavesTheLoss(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*story, int64){
		"not taken": func(s *story, id int64) { s.timeOut(id, enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START) },
		"not running": func(s *story, id int64) {
			s.fail(id, contract.ExecuteState{Failure: contract.FailureNotRunning, StartedAt: at(99)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			fail(s, s.silence())
			second := s.send(contract.AttemptID("job-00001", 2), "b")
			s.start(second)
			s.deliver(1, contract.ExecuteState{Worker: "a"})
			s.complete(second, contract.ExecuteState{Worker: "b", StartedAt: at(7)})
			assert.Equal(t, []string{"1 a worker_lost 2-3", "2 b completed 7-9"}, s.rows(), "a late outcome does not count")
		})
	}
}

// TestAGivenUpAttemptIsLost: its worker is OFFLINE, and the control plane has ended its activity.
func TestAGivenUpAttemptIsLost(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	first := s.send("job-00001", "a")
	s.start(first)
	s.add(&historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_FAILED,
		Attributes: &historypb.HistoryEvent_ActivityTaskFailedEventAttributes{ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{
			ScheduledEventId: first,
			Failure: &failurepb.Failure{Message: "worker a is OFFLINE", FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
				ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: string(contract.FailureWorkerLost)},
			}},
		}},
	})
	assert.Equal(t, []string{"1 a worker_lost 2-3"}, s.rows())
}

// TestADeliveredOutcomeEndsTheRow: the adoption that crosses it on the way changes nothing.
func TestADeliveredOutcomeEndsTheRow(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	adoption := s.silence()
	s.deliver(1, contract.ExecuteState{Worker: "a", StartedAt: at(2)})
	s.fail(adoption, contract.ExecuteState{Failure: contract.FailureNotRunning, StartedAt: at(99)})
	assert.Equal(t, []string{"1 a completed 2-5"}, s.rows())
}

// TestNumbersGoOnAfterWhatIsNotRetained: the server has deleted the history of the first attempts.
func TestNumbersGoOnAfterWhatIsNotRetained(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	s.send(contract.AttemptID("job-00001", 4), "a")
	assert.Equal(t, []string{"4 a  0-0"}, s.rows())
}
