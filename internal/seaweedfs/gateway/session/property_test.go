package session_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/session"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// machine is a session, a worker with random messages, and the invariants.
type machine struct {
	core       *session.Session
	settings   session.Settings
	now        time.Time
	next       int
	open, done map[string]pb.WorkKind
	jobs       map[string]string
	found      map[string]int
	pending    map[string]int
	unsent     int
	joined     bool
	closed     bool
}

func newMachine(t *rapid.T) *machine {
	settings := session.Defaults()
	settings.Limits = session.Limits{
		JobTypes: 4, Requests: rapid.IntRange(1, 6).Draw(t, "requests"), Unconsumed: rapid.IntRange(64, 2048).Draw(t, "unconsumed"),
		Refusals: rapid.IntRange(1, 50).Draw(t, "refusals"), Rate: 50, Burst: 200, Unsent: rapid.IntRange(8, 64).Draw(t, "unsent"),
	}
	now := time.Unix(1_700_000_000, 0)
	m := &machine{
		core: session.New(settings, now), settings: settings, now: now, open: map[string]pb.WorkKind{}, done: map[string]pb.WorkKind{},
		jobs: map[string]string{}, found: map[string]int{}, pending: map[string]int{},
	}
	if rapid.Bool().Draw(t, "begins well") {
		m.core.Receive(now, hello("w1", "vacuum", "ec_balance"))
		m.core.Tick(now.Add(settings.SchemaWait))
		m.core.Accept(now)
		m.joined = true
	}
	return m
}

func hello(id string, jobTypes ...string) *pb.WorkerToAdminMessage {
	in := &pb.WorkerHello{WorkerId: id}
	for _, name := range jobTypes {
		in.Capabilities = append(in.Capabilities, &pb.JobTypeCapability{JobType: name, CanDetect: true, CanExecute: true, MaxDetectionConcurrency: 1, MaxExecutionConcurrency: 4})
	}
	return &pb.WorkerToAdminMessage{WorkerId: id, Body: &pb.WorkerToAdminMessage_Hello{Hello: in}}
}

// TestEveryRequestEndsOnce checks the promises of the package with misbehaving workers.
func TestEveryRequestEndsOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		m.look(t)
		t.Repeat(map[string]func(*rapid.T){
			"detect": m.detect, "execute": m.execute, "cancel": m.cancel, "message": m.message, "time": m.pass,
			"consume": m.consume, "send": m.send, "verdict": m.verdict, "": m.look,
		})
		m.core.Close(session.CodeStreamEnd, "over")
		m.look(t)
		require.Empty(t, m.open, "requests that never ended")
		require.True(t, m.closed)
	})
}

func (m *machine) id() string {
	m.next++
	return fmt.Sprintf("r%d", m.next)
}

func (m *machine) detect(t *rapid.T) {
	id := m.id()
	err := m.core.Detect(m.now, &pb.RunDetectionRequest{RequestId: id, JobType: "vacuum"})
	m.began(t, id, pb.WorkKind_WORK_KIND_DETECTION, err)
}

func (m *machine) execute(t *rapid.T) {
	id := m.id()
	err := m.core.Execute(m.now, &pb.ExecuteJobRequest{RequestId: id, Job: &pb.JobSpec{JobId: "job-" + id, JobType: "vacuum"}})
	m.began(t, id, pb.WorkKind_WORK_KIND_EXECUTION, err)
	m.jobs[id] = "job-" + id
}

func (m *machine) began(t *rapid.T, id string, kind pb.WorkKind, err error) {
	switch {
	case err == nil:
		require.False(t, m.closed, "a request was taken by a closed session")
		require.Less(t, len(m.open), m.settings.Limits.Requests)
		m.open[id] = kind
	case m.joined && !m.closed:
		require.ErrorIs(t, err, session.ErrFull)
	default:
		require.ErrorIs(t, err, session.ErrNotReady)
	}
}

func (m *machine) anyID(t *rapid.T) string {
	return fmt.Sprintf("r%d", rapid.IntRange(0, m.next+1).Draw(t, "id"))
}

func (m *machine) cancel(t *rapid.T) { m.core.Cancel(m.now, m.anyID(t), "why not") }

func (m *machine) pass(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(0, 60_000).Draw(t, "ms")) * time.Millisecond)
	m.core.Tick(m.now)
}

func (m *machine) consume(t *rapid.T) {
	id := m.anyID(t)
	m.core.Consume(id, m.pending[id])
	m.pending[id] = 0
}

func (m *machine) send(*rapid.T) {
	for ; m.unsent > 0; m.unsent-- {
		m.core.Sent()
	}
}

func (m *machine) verdict(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "refused") == 0 {
		m.core.Refuse(m.now, session.CodeRefused, "no")
		return
	}
	m.core.Accept(m.now)
	m.joined = m.joined || m.introduced()
}

func (m *machine) introduced() bool {
	id := m.id()
	if m.core.Detect(m.now, &pb.RunDetectionRequest{RequestId: id, JobType: "vacuum"}) != nil {
		return false
	}
	m.open[id] = pb.WorkKind_WORK_KIND_DETECTION
	return true
}

func (m *machine) message(t *rapid.T) {
	id := m.anyID(t)
	jobType := rapid.SampledFrom([]string{"vacuum", "vacuum", "vacuum", "other", ""}).Draw(t, "job type")
	jobID := rapid.SampledFrom([]string{"job-" + id, "job-" + id, "", "nonsense"}).Draw(t, "job id")
	ok := rapid.Bool().Draw(t, "ok")
	in := &pb.WorkerToAdminMessage{WorkerId: rapid.SampledFrom([]string{"w1", "w1", "", "w2"}).Draw(t, "worker")}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		in = hello(rapid.SampledFrom([]string{"w1", "", "w2"}).Draw(t, "worker"), "vacuum")
	case 1:
		in.Body = &pb.WorkerToAdminMessage_Heartbeat{Heartbeat: &pb.WorkerHeartbeat{
			ExecutionSlotsTotal: int32(rapid.IntRange(-1, 9).Draw(t, "slots")), RunningWork: []*pb.RunningWork{{WorkId: id}, {WorkId: "job-" + id}},
		}}
	case 2:
		in.Body = &pb.WorkerToAdminMessage_Acknowledge{Acknowledge: &pb.WorkerAcknowledge{
			RequestId: rapid.SampledFrom([]string{id, "cancel-3", "nonsense"}).Draw(t, "acknowledged"), Accepted: ok,
		}}
	case 3:
		in.Body = &pb.WorkerToAdminMessage_ConfigSchemaResponse{ConfigSchemaResponse: &pb.ConfigSchemaResponse{
			RequestId: rapid.SampledFrom([]string{"schema-1", "schema-2", id}).Draw(t, "schema"), JobType: jobType, Success: ok, JobTypeDescriptor: &pb.JobTypeDescriptor{},
		}}
	case 4, 5:
		n := rapid.IntRange(0, 5).Draw(t, "proposals")
		in.Body = &pb.WorkerToAdminMessage_DetectionProposals{DetectionProposals: &pb.DetectionProposals{RequestId: id, JobType: jobType, HasMore: ok, Proposals: make([]*pb.JobProposal, n)}}
		for i := range n {
			in.GetDetectionProposals().Proposals[i] = &pb.JobProposal{Detail: fmt.Sprintf("%0100d", i)}
		}
	case 6:
		total := rapid.SampledFrom([]int{0, m.found[id], m.found[id], 7}).Draw(t, "total")
		in.Body = &pb.WorkerToAdminMessage_DetectionComplete{DetectionComplete: &pb.DetectionComplete{RequestId: id, JobType: jobType, Success: ok, TotalProposals: int32(total)}}
	case 7:
		in.Body = &pb.WorkerToAdminMessage_JobProgressUpdate{JobProgressUpdate: &pb.JobProgressUpdate{RequestId: id, JobId: jobID, JobType: jobType, ProgressPercent: rapid.Float64().Draw(t, "percent")}}
	case 8:
		text := rapid.SampledFrom([]string{"", "broken", "executor is at capacity"}).Draw(t, "error")
		in.Body = &pb.WorkerToAdminMessage_JobCompleted{JobCompleted: &pb.JobCompleted{RequestId: id, JobId: jobID, JobType: jobType, Success: ok, ErrorMessage: text}}
	}
	m.core.Receive(m.now, in)
}

func (m *machine) look(t *rapid.T) {
	out, events := m.core.Take()
	m.unsent += len(out)
	require.LessOrEqual(t, m.unsent, m.settings.Limits.Unsent, "messages wait to be sent without bound")
	for i, event := range events {
		require.False(t, m.closed, "something happened after the end")
		switch e := event.(type) {
		case session.Found:
			m.isOpen(t, e.Request, pb.WorkKind_WORK_KIND_DETECTION)
			m.found[e.Request] += len(e.Proposals)
			m.pending[e.Request] += e.Bytes
		case session.Advanced:
			m.isOpen(t, e.Request, pb.WorkKind_WORK_KIND_EXECUTION)
			require.True(t, e.Percent >= -1 && e.Percent <= 100, e.Percent)
		case session.Alive:
			require.Contains(t, m.open, e.Request)
		case session.Ended:
			require.Contains(t, m.open, e.Request, "ended twice, or never begun")
			m.done[e.Request] = m.open[e.Request]
			delete(m.open, e.Request)
			delete(m.pending, e.Request)
		case session.Closed:
			m.closed = true
			require.Equal(t, len(events)-1, i, "the end is not the last event")
		case session.Resized:
			require.Positive(t, e.Execute)
		}
	}
	total := 0
	for _, bytes := range m.pending {
		total += bytes
	}
	require.LessOrEqual(t, total, m.settings.Limits.Unconsumed, "proposals are held without bound")
	require.Equal(t, m.closed, m.core.Closed())
}

func (m *machine) isOpen(t *rapid.T, id string, kind pb.WorkKind) {
	require.Equal(t, kind, m.open[id], "%s is not open", id)
}
