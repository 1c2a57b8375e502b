package session_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/session"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

var start = time.Unix(1_700_000_000, 0)

// ready is a session whose worker has joined.
func ready(t *testing.T) *session.Session {
	t.Helper()
	return readyWith(session.Defaults())
}

func readyWith(settings session.Settings) *session.Session {
	s := session.New(settings, start)
	s.Receive(start, hello("w1", "vacuum"))
	s.Tick(start.Add(5 * time.Second))
	s.Accept(start)
	s.Take()
	return s
}

func execute(t *testing.T, s *session.Session) {
	t.Helper()
	require.NoError(t, s.Execute(start, &pb.ExecuteJobRequest{RequestId: "r1", Job: &pb.JobSpec{JobId: "j1", JobType: "vacuum"}}))
	s.Take()
}

func completed(success bool, text string) *pb.WorkerToAdminMessage {
	return &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_JobCompleted{JobCompleted: &pb.JobCompleted{RequestId: "r1", JobId: "j1", JobType: "vacuum", Success: success, ErrorMessage: text}}}
}

func TestHelloIsAnsweredAndFormsAreAskedFor(t *testing.T) {
	t.Parallel()
	s := session.New(session.Defaults(), start)
	s.Receive(start, hello("w1", "vacuum", "ec_balance"))
	out, events := s.Take()
	require.Len(t, out, 3)
	assert.Empty(t, events)
	assert.True(t, out[0].GetHello().GetAccepted())
	assert.EqualValues(t, 15, out[0].GetHello().GetHeartbeatIntervalSeconds())
	for i, name := range []string{"vacuum", "ec_balance"} {
		asked := out[i+1]
		assert.Equal(t, name, asked.GetRequestConfigSchema().GetJobType())
		s.Receive(start, &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_ConfigSchemaResponse{ConfigSchemaResponse: &pb.ConfigSchemaResponse{
			RequestId: asked.GetRequestId(), JobType: name, Success: i == 0, JobTypeDescriptor: &pb.JobTypeDescriptor{JobType: name},
		}}})
	}
	_, events = s.Take()
	require.Len(t, events, 1)
	introduced, ok := events[0].(session.Introduced)
	require.True(t, ok)
	profile := introduced.Profile
	assert.Equal(t, "w1", profile.ID)
	assert.NotNil(t, profile.JobTypes[0].Descriptor)
	assert.Nil(t, profile.JobTypes[1].Descriptor, "a form that the worker did not tell")
	assert.Equal(t, 4, profile.Execute)
}

func TestAWorkerThatTellsNoFormsIsWaitedForOnlyShortly(t *testing.T) {
	t.Parallel()
	s := session.New(session.Defaults(), start)
	s.Receive(start, hello("w1", "vacuum"))
	s.Take()
	assert.Equal(t, start.Add(5*time.Second), s.Next())
	s.Tick(s.Next())
	_, events := s.Take()
	require.Len(t, events, 1)
	assert.IsType(t, session.Introduced{}, events[0])
}

// TestAPartOfAMessageIsASignOfLife: the message itself may take minutes.
func TestAPartOfAMessageIsASignOfLife(t *testing.T) {
	t.Parallel()
	s := ready(t)
	s.Arrived(start.Add(time.Minute))
	s.Arrived(start)
	s.Tick(start.Add(2 * time.Minute))
	require.False(t, s.Closed())
	assert.Equal(t, start.Add(3*time.Minute), s.Next())
	s.Tick(s.Next())
	require.True(t, s.Closed())
}

func TestHowJobsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(s *session.Session)
		want session.Outcome
	}{
		{"done", func(s *session.Session) { s.Receive(start, completed(true, "")) }, session.Succeeded},
		{"failed", func(s *session.Session) { s.Receive(start, completed(false, "disk full")) }, session.Failed},
		{"full", func(s *session.Session) { s.Receive(start, completed(false, "executor is at capacity")) }, session.AtCapacity},
		{"lost", func(s *session.Session) { s.Close(session.CodeStreamEnd, "EOF") }, session.Lost},
		{"silent", func(s *session.Session) { s.Tick(start.Add(2 * time.Minute)) }, session.Lost},
		{"canceled", func(s *session.Session) {
			s.Cancel(start, "r1", "operator")
			s.Receive(start, completed(false, "context canceled"))
		}, session.Canceled},
		{"done although canceled", func(s *session.Session) {
			s.Cancel(start, "r1", "operator")
			s.Receive(start, completed(true, ""))
		}, session.Succeeded},
		{"canceled, and the worker does not have it", func(s *session.Session) {
			s.Cancel(start, "r1", "operator")
			s.Cancel(start, "r1", "operator")
			out, _ := s.Take()
			s.Receive(start, ack(out[0].GetRequestId(), false))
			if _, events := s.Take(); len(events) > 0 {
				panic("a worker accepts work a moment before it can be canceled")
			}
			s.Receive(start, ack(out[1].GetRequestId(), false))
		}, session.Canceled},
		{"stopped by the worker itself", func(s *session.Session) { s.Receive(start, completed(false, "task: context canceled")) }, session.Lost},
		{"not accepted", func(s *session.Session) { s.Receive(start, ack("r1", false)) }, session.Rejected},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := ready(t)
			execute(t, s)
			c.do(s)
			_, events := s.Take()
			require.NotEmpty(t, events)
			ended, ok := events[0].(session.Ended)
			require.True(t, ok, "%#v", events)
			assert.Equal(t, c.want, ended.Outcome)
			s.Receive(start, completed(true, ""))
			_, events = s.Take()
			assert.Empty(t, events, "what comes late is neither an end nor a fault")
		})
	}
}

func ack(id string, accepted bool) *pb.WorkerToAdminMessage {
	return &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_Acknowledge{Acknowledge: &pb.WorkerAcknowledge{RequestId: id, Accepted: accepted}}}
}

func TestHalfADetectionIsNoSuccess(t *testing.T) {
	t.Parallel()
	s := ready(t)
	require.NoError(t, s.Detect(start, &pb.RunDetectionRequest{RequestId: "d1", JobType: "vacuum"}))
	s.Receive(start, &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_DetectionProposals{DetectionProposals: &pb.DetectionProposals{RequestId: "d1", Proposals: []*pb.JobProposal{{}}}}})
	s.Receive(start, &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_DetectionComplete{DetectionComplete: &pb.DetectionComplete{RequestId: "d1", Success: true, TotalProposals: 2}}})
	_, events := s.Take()
	require.Len(t, events, 2)
	assert.Equal(t, session.Ended{Request: "d1", Outcome: session.Flooded, Message: "the detection counts 2 proposals, but 1 arrived"}, events[1])
}

// TestAFloodOfAWorkerThatReadsNothing: the detection ends once, and the cancel of the rest ends the session.
func TestAFloodOfAWorkerThatReadsNothing(t *testing.T) {
	t.Parallel()
	settings := session.Defaults()
	settings.Limits.Unsent, settings.Limits.Unconsumed = 3, 10
	s := readyWith(settings)
	require.NoError(t, s.Detect(start, &pb.RunDetectionRequest{RequestId: "d1", JobType: "vacuum"}))
	s.Receive(start, &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_DetectionProposals{DetectionProposals: &pb.DetectionProposals{
		RequestId: "d1", Proposals: []*pb.JobProposal{{Detail: "more than ten bytes"}},
	}}})
	_, events := s.Take()
	require.Len(t, events, 2)
	ended, first := events[0].(session.Ended)
	require.True(t, first)
	assert.Equal(t, session.Flooded, ended.Outcome)
	assert.IsType(t, session.Closed{}, events[1])
}

// TestADetectionExplainsItself: its progress is a valid message.
func TestADetectionExplainsItself(t *testing.T) {
	t.Parallel()
	s := ready(t)
	require.NoError(t, s.Detect(start, &pb.RunDetectionRequest{RequestId: "d1", JobType: "vacuum"}))
	s.Take()
	s.Receive(start, &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_JobProgressUpdate{JobProgressUpdate: &pb.JobProgressUpdate{
		RequestId: "d1", JobType: "vacuum", Activities: []*pb.ActivityEvent{{Stage: "decision", Message: "VACUUM: No tasks created for 5 volumes."}},
	}}})
	_, events := s.Take()
	assert.Equal(t, []session.Event{
		session.Printed{Request: "d1", Lines: []byte("decision: VACUUM: No tasks created for 5 volumes.\n")}, session.Alive{Request: "d1"},
	}, events)
}

func TestADetectionWithoutASlotIsAtCapacity(t *testing.T) {
	t.Parallel()
	s := ready(t)
	require.NoError(t, s.Detect(start, &pb.RunDetectionRequest{RequestId: "d1", JobType: "vacuum"}))
	s.Receive(start, &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_DetectionComplete{DetectionComplete: &pb.DetectionComplete{RequestId: "d1", ErrorMessage: "detector is at capacity"}}})
	_, events := s.Take()
	assert.Equal(t, []session.Event{session.Ended{Request: "d1", Outcome: session.AtCapacity, Message: "detector is at capacity"}}, events)
}

func TestGarbageIsCountedAndEndsTheSession(t *testing.T) {
	t.Parallel()
	s := ready(t)
	for i := 0; !s.Closed(); i++ {
		require.Less(t, i, 200)
		s.Receive(start, ack("nonsense", true))
	}
	_, events := s.Take()
	last, ok := events[len(events)-1].(session.Closed)
	require.True(t, ok)
	assert.Equal(t, session.CodeFlood, last.Code)
}

func TestAFloodOfHeartbeatsEndsTheSession(t *testing.T) {
	t.Parallel()
	s := ready(t)
	for i := 0; !s.Closed(); i++ {
		require.LessOrEqual(t, i, 20_000)
		s.Receive(start, &pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_Heartbeat{Heartbeat: &pb.WorkerHeartbeat{}}})
	}
}
