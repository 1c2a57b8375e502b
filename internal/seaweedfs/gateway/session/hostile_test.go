package session_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/session"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

func body(kind any) *pb.WorkerToAdminMessage {
	in := &pb.WorkerToAdminMessage{}
	switch b := kind.(type) {
	case *pb.WorkerHello:
		in.Body = &pb.WorkerToAdminMessage_Hello{Hello: b}
	case *pb.WorkerHeartbeat:
		in.Body = &pb.WorkerToAdminMessage_Heartbeat{Heartbeat: b}
	case *pb.ConfigSchemaResponse:
		in.Body = &pb.WorkerToAdminMessage_ConfigSchemaResponse{ConfigSchemaResponse: b}
	case *pb.DetectionProposals:
		in.Body = &pb.WorkerToAdminMessage_DetectionProposals{DetectionProposals: b}
	case *pb.DetectionComplete:
		in.Body = &pb.WorkerToAdminMessage_DetectionComplete{DetectionComplete: b}
	case *pb.JobProgressUpdate:
		in.Body = &pb.WorkerToAdminMessage_JobProgressUpdate{JobProgressUpdate: b}
	case *pb.JobCompleted:
		in.Body = &pb.WorkerToAdminMessage_JobCompleted{JobCompleted: b}
	}
	return in
}

func detect(t *testing.T, s *session.Session, id string) {
	t.Helper()
	require.NoError(t, s.Detect(start, &pb.RunDetectionRequest{RequestId: id, JobType: "vacuum"}))
}

// codes lists the faults and ends among the new events.
func codes(s *session.Session) []any {
	_, events := s.Take()
	return brief(events)
}

func brief(events []session.Event) (all []any) {
	for _, event := range events {
		switch e := event.(type) {
		case session.Refused:
			all = append(all, e.Code)
		case session.Closed:
			all = append(all, "closed", e.Code)
		case session.Ended:
			all = append(all, e.Request, e.Outcome)
		}
	}
	return all
}

func TestAHelloWithFaultsIsAnsweredWithThem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 257)
	useless := &pb.JobTypeCapability{JobType: "vacuum"}
	for name, in := range map[string]*pb.WorkerHello{
		"no worker id":       {Capabilities: []*pb.JobTypeCapability{{JobType: "vacuum", CanDetect: true}}},
		"256 bytes":          {WorkerId: long, Capabilities: []*pb.JobTypeCapability{{JobType: "vacuum", CanDetect: true}}},
		"name of a job type": {WorkerId: "w1", Capabilities: []*pb.JobTypeCapability{{JobType: "vacuum", CanDetect: true}, {JobType: long}}},
		"1 to 256 bytes":     {WorkerId: "w1", Capabilities: []*pb.JobTypeCapability{{CanDetect: true}}},
		"65 job types":       {WorkerId: "w1", Capabilities: make([]*pb.JobTypeCapability, 65)},
		"neither detect nor": {WorkerId: "w1", Capabilities: []*pb.JobTypeCapability{useless}},
		"execute anything":   {WorkerId: "w1"},
	} {
		s := session.New(session.Defaults(), start)
		s.Receive(start, body(in))
		out, events := s.Take()
		require.Len(t, out, 1, name)
		assert.False(t, out[0].GetHello().GetAccepted(), name)
		assert.Contains(t, out[0].GetHello().GetMessage(), name)
		require.Len(t, events, 1, name)
		assert.Equal(t, session.Closed{Code: session.CodeBadHello, Reason: out[0].GetHello().GetMessage()}, events[0], "the worker and the log have the same reason")
	}
}

func TestARepeatedHello(t *testing.T) {
	t.Parallel()
	first := func() *pb.WorkerHello {
		return &pb.WorkerHello{WorkerId: "w1", Capabilities: []*pb.JobTypeCapability{
			{JobType: "vacuum", CanDetect: true, CanExecute: true, MaxExecutionConcurrency: 4}, {JobType: "off"}, {JobType: "vacuum", CanDetect: true},
		}}
	}
	for name, c := range map[string]struct {
		change func(in *pb.WorkerHello)
		same   bool
	}{
		"the same":             {func(*pb.WorkerHello) {}, true},
		"another order":        {func(in *pb.WorkerHello) { c := in.GetCapabilities(); c[0], c[1] = c[1], c[0] }, true},
		"without the unusable": {func(in *pb.WorkerHello) { in.Capabilities = in.GetCapabilities()[:1] }, true},
		"one is usable now":    {func(in *pb.WorkerHello) { in.GetCapabilities()[1].CanExecute = true }, false},
		"one more": {func(in *pb.WorkerHello) {
			in.Capabilities = append(in.Capabilities, &pb.JobTypeCapability{JobType: "new", CanDetect: true})
		}, false},
		"one less":                    {func(in *pb.WorkerHello) { in.Capabilities = in.GetCapabilities()[1:2] }, false},
		"other slots":                 {func(in *pb.WorkerHello) { in.GetCapabilities()[0].MaxExecutionConcurrency = 5 }, false},
		"another worker, or the same": {func(in *pb.WorkerHello) { in.WorkerId = "w2" }, false},
	} {
		s := session.New(session.Defaults(), start)
		s.Receive(start, body(first()))
		s.Tick(start.Add(5 * time.Second))
		s.Accept(start)
		detect(t, s, "d1")
		s.Take()
		again := first()
		c.change(again)
		s.Receive(start, body(again))
		out, events := s.Take()
		require.Len(t, out, 1, name)
		assert.Equal(t, c.same, out[0].GetHello().GetAccepted(), name)
		assert.Equal(t, !c.same, s.Closed(), name)
		if !c.same {
			assert.Equal(t, []any{"d1", session.Lost, "closed", session.CodeChangedHello}, brief(events), name)
		}
	}
}

func TestASessionBeginsWithAHelloInTime(t *testing.T) {
	t.Parallel()
	s := session.New(session.Defaults(), start)
	s.Receive(start, ack("r1", true))
	assert.Equal(t, []any{"closed", session.CodeNoHello}, codes(s))
	s = session.New(session.Defaults(), start)
	s.Arrived(start.Add(time.Hour)) // bytes without an end
	s.Tick(start.Add(10*time.Second - 1))
	require.False(t, s.Closed())
	s.Tick(start.Add(10 * time.Second))
	assert.Equal(t, []any{"closed", session.CodeNoHello}, codes(s))
}

// TestNothingHappensAfterTheEnd: the stream's own goroutines still call.
func TestNothingHappensAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := ready(t)
	detect(t, s, "d1")
	s.Close(session.CodeStreamEnd, "EOF")
	assert.Equal(t, []any{"d1", session.Lost, "closed", session.CodeStreamEnd}, codes(s))
	s.Take()
	s.Close(session.CodeSilent, "again")
	s.Refuse(start, session.CodeRefused, "no")
	s.Shutdown(start, "stop", time.Second)
	s.Cancel(start, "d1", "why not")
	s.Consume("d1", 100)
	s.Accept(start)
	s.Sent()
	s.Arrived(start.Add(time.Hour))
	s.Tick(start.Add(time.Hour))
	s.Receive(start, hello("w1", "vacuum"))
	out, events := s.Take()
	assert.Empty(t, out)
	assert.Empty(t, events)
	assert.True(t, s.Next().IsZero(), "no timer is needed")
	assert.ErrorIs(t, s.Detect(start, &pb.RunDetectionRequest{RequestId: "d2"}), session.ErrNotReady)
}

func TestFormsOfAWorker(t *testing.T) {
	t.Parallel()
	begin := func() (s *session.Session, id string) {
		s = session.New(session.Defaults(), start)
		s.Receive(start, hello("w1", "vacuum"))
		out, _ := s.Take()
		return s, out[1].GetRequestId()
	}
	form := func(id, jobType string, size int) *pb.WorkerToAdminMessage {
		return body(&pb.ConfigSchemaResponse{RequestId: id, JobType: jobType, Success: true, JobTypeDescriptor: &pb.JobTypeDescriptor{Description: strings.Repeat("x", size)}})
	}
	for name, c := range map[string]struct {
		do         func(s *session.Session, id string)
		refused    []any
		introduced bool
		has        bool
	}{
		"answered":             {func(s *session.Session, id string) { s.Receive(start, form(id, "vacuum", 1)) }, nil, true, true},
		"for no request":       {func(s *session.Session, _ string) { s.Receive(start, form("schema-99", "vacuum", 1)) }, []any{session.CodeUnknownRequest}, false, false},
		"for another job type": {func(s *session.Session, id string) { s.Receive(start, form(id, "other", 1)) }, []any{session.CodeWrongJob}, false, false},
		"right after a wrong one": {func(s *session.Session, id string) {
			s.Receive(start, form(id, "other", 1))
			s.Receive(start, form(id, "vacuum", 1))
		}, []any{session.CodeWrongJob}, true, true},
		"too large": {func(s *session.Session, id string) { s.Receive(start, form(id, "vacuum", 256<<10)) }, []any{session.CodeTooLarge}, true, false},
		"twice": {func(s *session.Session, id string) {
			s.Receive(start, form(id, "", 1))
			s.Receive(start, form(id, "", 1))
		}, []any{session.CodeUnknownRequest}, true, true},
		"late": {func(s *session.Session, id string) {
			s.Tick(start.Add(5 * time.Second))
			s.Receive(start, form(id, "vacuum", 1))
		}, []any{session.CodeDuplicate}, true, false},
		"a gap in the stream": {func(s *session.Session, _ string) { s.Tick(start.Add(2 * time.Minute)) }, []any{"closed", session.CodeSilent}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, id := begin()
			c.do(s, id)
			_, events := s.Take()
			var refused []any
			introduced := 0
			for _, event := range events {
				switch e := event.(type) {
				case session.Refused:
					refused = append(refused, e.Code)
				case session.Closed:
					refused = append(refused, "closed", e.Code)
				case session.Introduced:
					introduced++
					assert.Equal(t, c.has, e.Profile.JobTypes[0].Descriptor != nil)
				}
			}
			assert.Equal(t, c.refused, refused)
			assert.Equal(t, c.introduced, introduced == 1, "%d times", introduced)
		})
	}
}

// TestAJobThatFailsForWantOfRoomHasFailed: only the worker's own words mean that it has no slot.
func TestAJobThatFailsForWantOfRoomHasFailed(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]session.Outcome{
		"executor is at capacity":                     session.AtCapacity,
		"detector is at capacity":                     session.AtCapacity,
		"copy volume 7: server b:8080 is at capacity": session.Failed,
		"": session.Failed,
		"rpc error: code = Canceled desc = context canceled": session.Lost,
	} {
		s := ready(t)
		execute(t, s)
		s.Receive(start, completed(false, message))
		assert.Equal(t, []any{"r1", want}, codes(s), message)
		detect(t, s, "d1")
		s.Receive(start, body(&pb.DetectionComplete{RequestId: "d1", ErrorMessage: message}))
		assert.Equal(t, []any{"d1", want}, codes(s), message)
	}
	for message, want := range map[string]session.Outcome{"executor is at capacity": session.AtCapacity, "unsupported": session.Rejected} {
		s := ready(t)
		execute(t, s)
		refusal := ack("r1", false)
		refusal.GetAcknowledge().Message = message
		s.Receive(start, refusal)
		assert.Equal(t, []any{"r1", want}, codes(s), message)
	}
}

func TestMessagesThatBelongToNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   *pb.WorkerToAdminMessage
		want any
	}{
		"another worker":              {&pb.WorkerToAdminMessage{WorkerId: "w2", Body: ack("r1", true).GetBody()}, session.CodeWrongWorker},
		"no body":                     {&pb.WorkerToAdminMessage{}, session.CodeEmpty},
		"proposals of a job":          {body(&pb.DetectionProposals{RequestId: "r1"}), session.CodeWrongKind},
		"a detection that is a job":   {body(&pb.DetectionComplete{RequestId: "r1", Success: true}), session.CodeWrongKind},
		"a job that is a detection":   {body(&pb.JobCompleted{RequestId: "d1", Success: true}), session.CodeWrongKind},
		"the end of another job":      {body(&pb.JobCompleted{RequestId: "r1", JobId: "j2", Success: true}), session.CodeWrongJob},
		"progress of another job":     {body(&pb.JobProgressUpdate{RequestId: "r1", JobId: "j2"}), session.CodeWrongJob},
		"an end of another job type":  {body(&pb.JobCompleted{RequestId: "r1", JobId: "j1", JobType: "other", Success: true}), session.CodeWrongJob},
		"findings of another type":    {body(&pb.DetectionProposals{RequestId: "d1", JobType: "other"}), session.CodeWrongJob},
		"a heartbeat without an end":  {body(&pb.WorkerHeartbeat{RunningWork: make([]*pb.RunningWork, 2049)}), session.CodeTooLarge},
		"an id of nothing":            {body(&pb.JobCompleted{RequestId: "r9"}), session.CodeUnknownRequest},
		"the answer to a stop":        {ack("shutdown-1", false), nil},
		"the answer to an old cancel": {ack("cancel-1", false), nil},
		"observations":                {&pb.WorkerToAdminMessage{Body: &pb.WorkerToAdminMessage_Observations{}}, nil},
	} {
		s := ready(t)
		execute(t, s)
		detect(t, s, "d1")
		s.Receive(start, c.in)
		var want []any
		if c.want != nil {
			want = []any{c.want}
		}
		assert.Equal(t, want, codes(s), name)
		s.Close(session.CodeStreamEnd, "EOF")
		assert.Equal(t, []any{"d1", session.Lost, "r1", session.Lost, "closed", session.CodeStreamEnd}, codes(s), "%s: both requests were still open", name)
	}
}

func TestRequestIDsAreUsedOnce(t *testing.T) {
	t.Parallel()
	settings := session.Defaults()
	settings.Limits.Requests = 2
	s := readyWith(settings)
	execute(t, s)
	again := &pb.ExecuteJobRequest{RequestId: "r1", Job: &pb.JobSpec{JobId: "j9", JobType: "vacuum"}}
	require.ErrorContains(t, s.Execute(start, again), "not new")
	require.ErrorContains(t, s.Detect(start, &pb.RunDetectionRequest{}), "not new")
	detect(t, s, "d1")
	require.ErrorIs(t, s.Detect(start, &pb.RunDetectionRequest{RequestId: "d2"}), session.ErrFull)
	s.Receive(start, completed(true, ""))
	require.ErrorContains(t, s.Execute(start, again), "not new", "a late message about it would end the new one")
	out, _ := s.Take()
	require.Len(t, out, 1, "refused requests are not sent")
	detect(t, s, "d2")
}

// TestLateMessagesAreKnownForAWhile: the ids of the last 512 ended requests.
func TestLateMessagesAreKnownForAWhile(t *testing.T) {
	t.Parallel()
	s := ready(t)
	const kept = 512
	for i := range 3 * kept {
		id := fmt.Sprintf("d%d", i)
		detect(t, s, id)
		s.Receive(start, body(&pb.DetectionComplete{RequestId: id, Success: true}))
		s.Take()
		s.Sent()
	}
	late := func(i int) []any {
		s.Receive(start, body(&pb.DetectionProposals{RequestId: fmt.Sprintf("d%d", i)}))
		return codes(s)
	}
	for i := 2 * kept; i < 3*kept; i++ {
		require.Empty(t, late(i), i)
	}
	for _, i := range []int{0, kept, 2*kept - 1} {
		require.Equal(t, []any{session.CodeUnknownRequest}, late(i), i)
	}
}

// TestDetectionsShareTheBoundOfUnreadProposals: of all requests together, and an end gives back what it held.
func TestDetectionsShareTheBoundOfUnreadProposals(t *testing.T) {
	t.Parallel()
	settings := session.Defaults()
	settings.Limits.Unconsumed = 250
	found := func(s *session.Session, id string) int {
		s.Receive(start, body(&pb.DetectionProposals{RequestId: id, Proposals: []*pb.JobProposal{{Detail: strings.Repeat("x", 90)}}}))
		_, events := s.Take()
		if page, ok := events[0].(session.Found); ok {
			return page.Bytes
		}
		return 0
	}
	begin := func() *session.Session {
		s := readyWith(settings)
		for _, id := range []string{"d1", "d2", "d3"} {
			detect(t, s, id)
		}
		return s
	}
	for name, c := range map[string]struct {
		free func(s *session.Session, bytes int)
		fits bool
	}{
		"nothing was taken":            {func(*session.Session, int) {}, false},
		"taken":                        {func(s *session.Session, bytes int) { s.Consume("d1", bytes) }, true},
		"too little":                   {func(s *session.Session, bytes int) { s.Consume("d1", bytes/3) }, false},
		"of a detection without pages": {func(s *session.Session, bytes int) { s.Consume("d3", bytes) }, false},
		"of no detection":              {func(s *session.Session, bytes int) { s.Consume("d9", bytes) }, false},
		"ended": {func(s *session.Session, _ int) {
			s.Receive(start, body(&pb.DetectionComplete{RequestId: "d1", Success: true}))
		}, true},
		"failed": {func(s *session.Session, _ int) { s.Receive(start, body(&pb.DetectionComplete{RequestId: "d1"})) }, true},
	} {
		s := begin()
		bytes := found(s, "d1")
		require.Positive(t, bytes)
		require.Equal(t, bytes, found(s, "d2"))
		c.free(s, bytes)
		s.Take()
		assert.Equal(t, c.fits, found(s, "d3") > 0, name)
	}
	s := begin()
	bytes := found(s, "d1")
	s.Consume("d1", bytes)
	s.Consume("d1", bytes) // a page counts once
	s.Receive(start, body(&pb.DetectionComplete{RequestId: "d1", Success: true, TotalProposals: 1}))
	assert.Equal(t, []any{"d1", session.Succeeded}, codes(s))
	s.Consume("d1", bytes)
	require.Positive(t, found(s, "d2"))
	require.Positive(t, found(s, "d2"))
	require.Zero(t, found(s, "d2"), "nothing was given back twice")
}

func TestSlotsOfAWorker(t *testing.T) {
	t.Parallel()
	s := session.New(session.Defaults(), start)
	beat := func(detect, execute int32) []session.Event {
		s.Receive(start, body(&pb.WorkerHeartbeat{DetectionSlotsTotal: detect, ExecutionSlotsTotal: execute}))
		_, events := s.Take()
		return events
	}
	s.Receive(start, hello("w1", "vacuum"))
	s.Tick(start.Add(5 * time.Second))
	s.Take()
	assert.Empty(t, beat(2, 8), "it has not joined yet")
	s.Accept(start)
	assert.Equal(t, []session.Event{session.Resized{Detect: 2, Execute: 8}}, beat(2, 8))
	assert.Empty(t, beat(2, 8))
	assert.Empty(t, beat(0, -1), "a heartbeat that says nothing about slots")
	assert.Equal(t, []session.Event{session.Resized{Detect: 512, Execute: 512}}, beat(math.MaxInt32, math.MaxInt32))
}

func TestAHeartbeatNamesJobsAndRequests(t *testing.T) {
	t.Parallel()
	s := ready(t)
	execute(t, s)
	again := &pb.ExecuteJobRequest{RequestId: "r2", Job: &pb.JobSpec{JobId: "j1", JobType: "vacuum"}}
	require.NoError(t, s.Execute(start, again), "the next attempt of the same job")
	s.Receive(start, completed(false, "broken"))
	s.Take()
	s.Receive(start, body(&pb.WorkerHeartbeat{RunningWork: []*pb.RunningWork{{WorkId: "j1"}, {WorkId: "r1"}, {WorkId: "nonsense"}, {}}}))
	_, events := s.Take()
	assert.Equal(t, []session.Event{session.Alive{Request: "r2"}}, events, "the end of the first attempt leaves the second one its job")
}

func TestProgressOfAnyWorker(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1000)
	for told, want := range map[float64]float64{-5: 0, 0: 0, 50: 50, 100.5: 100, math.Inf(1): 100, math.Inf(-1): 0, math.NaN(): -1} {
		s := ready(t)
		execute(t, s)
		s.Receive(start, body(&pb.JobProgressUpdate{RequestId: "r1", ProgressPercent: told, Stage: long, Message: "a" + long, Activities: []*pb.ActivityEvent{
			{Stage: "no message"}, {Message: "a" + long}, {Stage: long, Message: "x"},
		}}))
		_, events := s.Take()
		require.Len(t, events, 2)
		printed, first := events[0].(session.Printed)
		advanced, second := events[1].(session.Advanced)
		require.True(t, first && second, "%#v", events)
		assert.Equal(t, 2, strings.Count(string(printed.Lines), "\n"))
		assert.True(t, utf8.Valid(printed.Lines) && utf8.ValidString(advanced.Stage+advanced.Message), "a cut never halves a character")
		assert.Len(t, advanced.Stage, 1024)
		assert.InDelta(t, want, advanced.Percent, 0, told)
	}
	s := ready(t)
	detect(t, s, "d1")
	s.Receive(start, body(&pb.JobProgressUpdate{RequestId: "d1", Stage: "scan", Message: "half"}))
	_, events := s.Take()
	assert.Equal(t, []session.Event{session.Alive{Request: "d1"}, session.Printed{Request: "d1", Lines: []byte("scan: half\n")}}, events)
}

// TestOneFaultEachSecondIsForgiven: a worker with few faults stays for ever.
func TestOneFaultEachSecondIsForgiven(t *testing.T) {
	t.Parallel()
	s := ready(t)
	now := start
	for range 1000 {
		now = now.Add(time.Second)
		s.Receive(now, ack("nonsense", true))
	}
	require.False(t, s.Closed())
	for range 98 {
		s.Receive(now, ack("nonsense", true))
	}
	s.Receive(now.Add(-time.Hour), ack("nonsense", true)) // A clock that goes back costs nothing and forgives nothing.
	require.False(t, s.Closed())
	s.Receive(now, ack("nonsense", true))
	require.True(t, s.Closed())
}

func TestAStopIsAnnounced(t *testing.T) {
	t.Parallel()
	s := ready(t)
	execute(t, s)
	s.Shutdown(start, "upgrade", 1000*time.Hour)
	out, events := s.Take()
	require.Len(t, out, 1)
	assert.EqualValues(t, 3600, out[0].GetShutdown().GetGracePeriodSeconds())
	assert.Empty(t, events)
	s.Receive(start, ack(out[0].GetRequestId(), true))
	assert.Empty(t, codes(s))
	s.Receive(start, completed(true, ""))
	assert.Equal(t, []any{"r1", session.Succeeded}, codes(s), "its job ends as always")
}

// TestUnreadMessagesAreBounded: also while they wait in the gateway's own queue.
func TestUnreadMessagesAreBounded(t *testing.T) {
	t.Parallel()
	settings := session.Defaults()
	settings.Limits.Unsent = 4
	s := readyWith(settings)
	for range 4 {
		s.Sent() // the hello and the question for a form; more than there are
	}
	for i := range 100 {
		detect(t, s, fmt.Sprintf("d%d", i))
		s.Take()
		s.Sent()
	}
	for i := 100; i < 104; i++ {
		detect(t, s, fmt.Sprintf("d%d", i))
	}
	require.False(t, s.Closed())
	require.NoError(t, s.Execute(start, &pb.ExecuteJobRequest{RequestId: "r1", Job: &pb.JobSpec{JobId: "j1"}}), "it was taken, and is lost at once")
	got := codes(s)
	require.True(t, s.Closed())
	assert.Equal(t, []any{"r1", session.Lost, "closed", session.CodeBackpressure}, got[len(got)-4:])
	assert.Len(t, got, 2*105+2, "each request ends once")
}
