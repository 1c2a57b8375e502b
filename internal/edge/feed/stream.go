package feed

import (
	"net/url"
	"strings"
	"time"
)

// Kinds of events.
const (
	// Snapshot is the first picture of a topic in a stream, Change a later one.
	Snapshot = "snapshot"
	Change   = "change"
	// Patch is a change for a viewer that takes patches: the difference to the picture before.
	Patch = "patch"
	// Refused means that the picture of AsOf is the newest available.
	Refused = "refused"
)

// Event is an update for one viewer.
type Event struct {
	Kind, Topic string
	// Viewer's pictures after this event: TOPIC=DIGEST, separated by commas. Every control plane accepts it.
	ID   string
	AsOf time.Time
	// Body is the picture or the patch, Why the refusal.
	Body []byte
	Why  error
}

// Seat is one topic of a stream.
type Seat struct {
	Topic string
	// Set names the permission set. Viewers of one set share Make's pictures.
	Set  string
	Make Make
	// Passing is an undeclared topic, removed with its last viewer.
	Passing *Topic
	// Patches: the viewer takes patches. Its events have only the id of their own topic.
	Patches bool
}

// Stream is one viewer of several topics.
type Stream struct {
	hub   *Hub
	seats []*taken
	ready chan struct{}
}

type taken struct {
	Seat

	room *room
	// version of the room and digest of the picture that the viewer has.
	version int
	digest  string
	// resumed: the picture is from an earlier stream. refused: the viewer has received the refusal.
	resumed, sent, refused bool
}

// Join starts a view. last is the id of the newest event of an earlier stream. The caller must call [Stream.Close].
func (h *Hub) Join(seats []Seat, last string) *Stream {
	had := map[string]string{}
	for part := range strings.SplitSeq(last, ",") {
		if topic, digest, ok := strings.Cut(part, "="); ok {
			if name, err := url.QueryUnescape(topic); err == nil {
				had[name] = digest
			}
		}
	}
	s := &Stream{hub: h, ready: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, seat := range seats {
		digest, resumed := had[seat.Topic]
		viewed, declared := h.topics[seat.Topic]
		if !declared {
			viewed = h.add(*seat.Passing)
			viewed.passing = true
		}
		room := viewed.enter(seat, s)
		s.seats = append(s.seats, &taken{Seat: seat, room: room, digest: digest, resumed: resumed})
	}
	h.guard()
	poke(s.ready)
	return s
}

// Ready receives when [Stream.Next] may have news.
func (s *Stream) Ready() <-chan struct{} { return s.ready }

// Next returns the updates since the last call: the newest picture of each changed topic.
func (s *Stream) Next() []Event {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	var events []Event
	for _, seat := range s.seats {
		if seat.version == seat.room.version {
			continue
		}
		if event, news := seat.picture(); news {
			event.ID = s.id(seat)
			events = append(events, event)
		}
		if seat.refused = seat.room.refused != nil; seat.refused {
			events = append(events, Event{Kind: Refused, Topic: seat.Topic, ID: s.id(seat), AsOf: seat.room.latest.AsOf, Why: seat.room.refused})
		}
		seat.version = seat.room.version
	}
	return events
}

// After a refusal the picture is sent again, with its new age.
func (t *taken) picture() (Event, bool) {
	latest := t.room.latest
	again := t.refused && t.room.refused == nil
	if latest.Digest == "" {
		return Event{}, false
	}
	if latest.Digest == t.digest && !again {
		t.resumed = false
		return Event{}, false
	}
	kind := Change
	if t.resumed || t.digest == "" {
		kind = Snapshot
	}
	body := latest.Body
	if t.Patches && t.sent && !again && t.room.patch != nil && t.room.before == t.digest {
		kind, body = Patch, t.room.patch
	}
	t.digest, t.resumed, t.sent = latest.Digest, false, true
	return Event{Kind: kind, Topic: t.Topic, AsOf: latest.AsOf, Body: body}, true
}

func (s *Stream) id(of *taken) string {
	var parts []string
	for _, seat := range s.seats {
		if seat.digest != "" && (seat == of || !of.Patches) {
			parts = append(parts, url.QueryEscape(seat.Topic)+"="+seat.digest)
		}
	}
	return strings.Join(parts, ",")
}

// Close ends the view.
func (s *Stream) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	for _, seat := range s.seats {
		viewed := s.hub.topics[seat.Topic]
		viewed.leave(seat.Set, s)
		if viewed.passing && len(viewed.rooms) == 0 {
			delete(s.hub.topics, seat.Topic)
		}
	}
	s.hub.guard()
}
