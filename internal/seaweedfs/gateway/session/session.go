package session

import (
	"fmt"
	"time"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// Settings are the times that a worker gets in the hello, and the bounds of waiting for it.
type Settings struct {
	// Heartbeat and Reconnect are told in the hello.
	Heartbeat, Reconnect time.Duration
	// HelloWait, SchemaWait and SilentAfter end the wait for a hello, for the answers
	// about forms, and for any sign of life.
	HelloWait, SchemaWait, SilentAfter time.Duration
	Limits                             Limits
}

// Limits bound what one session holds.
type Limits struct {
	// JobTypes bounds a hello, Requests what is in flight.
	JobTypes, Requests int
	// Unconsumed bounds the bytes of proposals that wait to be taken, of all
	// detections together.
	Unconsumed int
	// Refusals is how many messages may be dropped before the session is closed; one is
	// forgiven each second.
	Refusals int
	// Rate and Burst bound the messages per second.
	Rate, Burst int
	// Unsent bounds the messages that wait to be sent.
	Unsent int
}

// Defaults are the settings of a gateway. The hello tells what workers do by themselves:
// a heartbeat each 15 s, 5 s until they connect again. One that was not heard of for two
// minutes is stale for the original, too.
func Defaults() Settings {
	return Settings{
		Heartbeat: 15 * time.Second, Reconnect: 5 * time.Second,
		HelloWait: 10 * time.Second, SchemaWait: 5 * time.Second, SilentAfter: 2 * time.Minute,
		Limits: Limits{JobTypes: 64, Requests: 1024, Unconsumed: 128 << 20, Refusals: 100, Rate: 2000, Burst: 20_000, Unsent: 4096},
	}
}

// phase is where the session is.
type phase int

const (
	greeting phase = iota
	asking
	joining
	ready
	closed
)

// maxEnded is how many ended requests are remembered, so that what was on its way is
// told apart from garbage.
const maxEnded = 512

// Session is one stream. It is not safe for concurrent use.
type Session struct {
	settings Settings
	phase    phase
	profile  Profile
	// started is the beginning of the phase, seen the last message.
	started, seen time.Time

	schemas  map[string]int // request id → index in profile.JobTypes
	requests map[string]*request
	// jobs are requests by job id, controls the ids of cancels → their target.
	jobs     map[string]string
	controls map[string]string
	ended    ring
	nextID   int

	unconsumed int
	refusals   bucket
	messages   bucket

	out    []*pb.AdminToWorkerMessage
	events []Event
	// unsent are messages that were taken and are not yet sent.
	unsent int
}

// New begins a session.
func New(settings Settings, now time.Time) *Session {
	return &Session{
		settings: settings, started: now, seen: now,
		schemas: map[string]int{}, requests: map[string]*request{}, jobs: map[string]string{}, controls: map[string]string{},
		refusals: bucket{size: float64(settings.Limits.Refusals), rate: 1, level: float64(settings.Limits.Refusals), at: now},
		messages: bucket{size: float64(settings.Limits.Burst), rate: float64(settings.Limits.Rate), level: float64(settings.Limits.Burst), at: now},
	}
}

// Take returns what is to be sent and what happened, each once. A message that is sent is reported
// with [Session.Sent].
func (s *Session) Take() ([]*pb.AdminToWorkerMessage, []Event) {
	out, events := s.out, s.events
	s.out, s.events = nil, nil
	s.unsent += len(out)
	return out, events
}

// Sent reports that a message has left.
func (s *Session) Sent() { s.unsent = max(s.unsent-1, 0) }

// Closed reports that the session has ended.
func (s *Session) Closed() bool { return s.phase == closed }

// Next is when [Session.Tick] has something to do; zero: never.
func (s *Session) Next() time.Time {
	silent := s.seen.Add(s.settings.SilentAfter)
	switch s.phase {
	case greeting:
		return s.started.Add(s.settings.HelloWait)
	case asking:
		return earlier(s.started.Add(s.settings.SchemaWait), silent)
	case joining, ready:
		return silent
	case closed:
	}
	return time.Time{}
}

// Tick lets time pass.
func (s *Session) Tick(now time.Time) {
	switch {
	case s.phase == closed || now.Before(s.Next()):
	case s.phase == greeting:
		s.close(CodeNoHello, fmt.Sprintf("no hello within %s", s.settings.HelloWait))
	case !now.Before(s.seen.Add(s.settings.SilentAfter)):
		s.close(CodeSilent, fmt.Sprintf("no message for %s", s.settings.SilentAfter))
	case s.phase == asking:
		s.introduce(now)
	}
}

// Accept is the fleet's verdict: the worker has joined.
func (s *Session) Accept(now time.Time) {
	if s.phase == joining {
		s.phase, s.started = ready, now
	}
}

// Refuse ends the session with a reason that the worker is told.
func (s *Session) Refuse(now time.Time, code Code, reason string) {
	if s.phase == closed {
		return
	}
	s.say(now, "", &pb.AdminToWorkerMessage{Body: &pb.AdminToWorkerMessage_Hello{Hello: s.hello(false, reason)}})
	s.close(code, reason)
}

// Shutdown tells the worker that the gateway stops. Workers acknowledge it and continue.
func (s *Session) Shutdown(now time.Time, reason string, grace time.Duration) {
	if s.phase == closed {
		return
	}
	s.say(now, s.name("shutdown"), &pb.AdminToWorkerMessage{Body: &pb.AdminToWorkerMessage_Shutdown{
		Shutdown: &pb.AdminShutdown{Reason: reason, GracePeriodSeconds: int32(min(grace, time.Hour) / time.Second)},
	}})
}

// Close ends the session because its stream ended or the gateway stops.
func (s *Session) Close(code Code, reason string) { s.close(code, reason) }

func (s *Session) close(code Code, reason string) {
	if s.phase == closed {
		return
	}
	for _, id := range sortedIDs(s.requests) {
		s.end(s.requests[id], Lost, "the stream of the worker ended: "+reason, nil)
	}
	s.phase = closed
	s.events = append(s.events, Closed{Code: code, Reason: reason})
}

// refuse drops a message. Too many of them end the session.
func (s *Session) refuse(now time.Time, code Code, detail string) {
	if !s.refusals.take(now) {
		s.close(CodeFlood, fmt.Sprintf("more than %d messages that belong to nothing, the last one: %s %s", s.settings.Limits.Refusals, code, detail))
		return
	}
	s.events = append(s.events, Refused{Code: code, Detail: detail})
}

func (s *Session) hello(accepted bool, text string) *pb.AdminHello {
	return &pb.AdminHello{
		Accepted: accepted, Message: text,
		HeartbeatIntervalSeconds: int32(s.settings.Heartbeat / time.Second), ReconnectDelaySeconds: int32(s.settings.Reconnect / time.Second),
	}
}

// bucket lets rate per second pass, and size at once.
type bucket struct {
	size, rate, level float64
	at                time.Time
}

func (b *bucket) take(now time.Time) bool {
	if passed := now.Sub(b.at); passed > 0 {
		b.level, b.at = min(b.size, b.level+passed.Seconds()*b.rate), now
	}
	if b.level < 1 {
		return false
	}
	b.level--
	return true
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
