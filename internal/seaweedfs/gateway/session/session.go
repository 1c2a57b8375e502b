package session

import (
	"fmt"
	"time"

	"github.com/roundsman/roundsman/internal/engine/instant"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// Settings are the times sent in the hello, and the timeouts for a worker's messages.
type Settings struct {
	// Heartbeat and Reconnect are sent in the hello.
	Heartbeat, Reconnect time.Duration
	// Bounds of the waits for a hello, for the forms, and for any sign of life.
	HelloWait, SchemaWait, SilentAfter time.Duration
	Limits                             Limits
}

// Limits bound the memory of one session.
type Limits struct {
	// JobTypes bounds a hello, Requests the requests in flight.
	JobTypes, Requests int
	// Unconsumed bounds the bytes of unread proposals, of all detections together.
	Unconsumed int
	// Bound of the dropped messages before the session is closed; one is forgiven each second.
	Refusals int
	// Rate and Burst bound the messages per second.
	Rate, Burst int
	Unsent      int
}

// Defaults returns the settings of a gateway. The hello has the defaults of workers: a heartbeat each 15 s, and 5 s
// until they connect again. In the original, too, silence lasts two minutes.
func Defaults() Settings {
	return Settings{
		Heartbeat: 15 * time.Second, Reconnect: 5 * time.Second,
		HelloWait: 10 * time.Second, SchemaWait: 5 * time.Second, SilentAfter: 2 * time.Minute,
		Limits: Limits{JobTypes: 64, Requests: 1024, Unconsumed: 128 << 20, Refusals: 100, Rate: 2000, Burst: 20_000, Unsent: 4096},
	}
}

type phase int

const (
	greeting phase = iota
	asking
	joining
	ready
	closed
)

// Ids of ended requests distinguish late messages from garbage.
const maxEnded = 512

// Session is the protocol state of one stream. It is not safe for concurrent use.
type Session struct {
	settings      Settings
	phase         phase
	profile       Profile
	started, seen time.Time

	schemas  map[string]int // request id → index in profile.JobTypes
	requests map[string]*request
	// jobs has requests by job id; controls has the ids of cancels and their targets.
	jobs     map[string]string
	controls map[string]string
	ended    ring
	nextID   int

	unconsumed int
	refusals   bucket
	messages   bucket

	out    []*pb.AdminToWorkerMessage
	events []Event
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

// Take returns the new messages and events, each once. Call [Session.Sent] after each message.
func (s *Session) Take() ([]*pb.AdminToWorkerMessage, []Event) {
	out, events := s.out, s.events
	s.out, s.events = nil, nil
	s.unsent += len(out)
	return out, events
}

// Sent records that a message was sent.
func (s *Session) Sent() { s.unsent = max(s.unsent-1, 0) }

// Closed reports whether the session has ended.
func (s *Session) Closed() bool { return s.phase == closed }

// Next returns the time of the next [Session.Tick]; zero for never.
func (s *Session) Next() time.Time {
	silent := s.seen.Add(s.settings.SilentAfter)
	switch s.phase {
	case greeting:
		return s.started.Add(s.settings.HelloWait)
	case asking:
		return instant.Earlier(s.started.Add(s.settings.SchemaWait), silent)
	case joining, ready:
		return silent
	case closed:
	}
	return time.Time{}
}

// Arrived records the arrival of a part of a message, which is a sign of life.
func (s *Session) Arrived(at time.Time) {
	if at.After(s.seen) {
		s.seen = at
	}
}

// Tick handles timeouts.
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

// Accept means that the worker joins the fleet, which may send requests.
func (s *Session) Accept(now time.Time) {
	if s.phase == joining {
		s.phase, s.started = ready, now
	}
}

// Refuse ends the session and sends the reason to the worker.
func (s *Session) Refuse(now time.Time, code Code, reason string) {
	if s.phase == closed {
		return
	}
	s.say(now, "", &pb.AdminToWorkerMessage{Body: &pb.AdminToWorkerMessage_Hello{Hello: s.hello(false, reason)}})
	s.close(code, reason)
}

// Shutdown announces the gateway's stop to the worker. Workers acknowledge it and continue.
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

// bucket is a token bucket: rate per second, and at most size at once.
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
