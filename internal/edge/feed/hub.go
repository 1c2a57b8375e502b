package feed

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// Debounce is the wait of a fetcher after a change, for further changes.
const Debounce = 250 * time.Millisecond

// Topic is a view that can be subscribed to.
type Topic struct {
	Name string
	// Topics with the same interval fetch at the same instants, and so share their sources.
	Every time.Duration
	// Interval after a fetch with news. Each fetch without news doubles it, up to Every.
	Busy time.Duration
	// Gap is the minimum time between two fetches after changes. Default [Debounce].
	Gap time.Duration
	// Delay of the topic's source behind a change, for a second look.
	Lag time.Duration
	// Of lists the workflows whose changes concern it: ids, or prefixes that end in /.
	Of []string
	// Stale, if set, is called after a change.
	Stale func()

	// passing topics are removed with their last viewer.
	passing bool
}

func (t Topic) concerns(workflowID string) bool {
	for _, of := range t.Of {
		if of == workflowID || strings.HasSuffix(of, "/") && strings.HasPrefix(workflowID, of) {
			return true
		}
	}
	return false
}

// Picture is a topic for one permission set.
type Picture struct {
	// Body is one line of JSON. Digest is the same for the same content.
	Body   []byte
	Digest string
	AsOf   time.Time
	// Refused is the reason why it is not newer.
	Refused error
	// Since writes the difference to an earlier body, or nil if this body is shorter. Optional.
	Since func(earlier []byte) []byte
}

// Make makes a picture for one permission set.
type Make func(context.Context) (Picture, error)

// Hub holds all topics of a process.
type Hub struct {
	mu     sync.Mutex
	topics map[string]*fetcher
	every  time.Duration
	probe  Probe
	home   context.CancelFunc
	states map[string]string
	// Time of the server's last answer, in nanoseconds.
	heard atomic.Int64
}

// New returns a hub without topics.
func New() *Hub { return &Hub{topics: map[string]*fetcher{}} }

// Declare adds a topic.
func (h *Hub) Declare(topic Topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(topic)
}

func (h *Hub) add(topic Topic) *fetcher {
	topic.Gap = max(topic.Gap, Debounce)
	f := &fetcher{Topic: topic, hub: h, rooms: map[string]*room{}}
	h.topics[topic.Name] = f
	return f
}

// Changed reports a change of a workflow.
func (h *Hub) Changed(workflowID string) {
	h.wake(func(t Topic) bool { return t.concerns(workflowID) })
}

// ChangedAll reports that any workflow may have changed.
func (h *Hub) ChangedAll() { h.wake(func(Topic) bool { return true }) }

func (h *Hub) wake(concerned func(Topic) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.topics {
		if !concerned(f.Topic) {
			continue
		}
		if f.Stale != nil {
			f.Stale()
		}
		if f.stop != nil {
			poke(f.changed)
		}
	}
}

// workflowResource is the SDK's prefix of a workflow's id in a request, for routing.
const workflowResource = "workflow:"

// Intercept watches the connection for workflow tasks completed by this control plane, except those of queries.
func (h *Hub) Intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(ctx, method, req, reply, cc, options...)
	if err == nil {
		h.heard.Store(time.Now().UnixNano())
	}
	if completed, is := req.(*workflowservice.RespondWorkflowTaskCompletedRequest); is && err == nil {
		if id, known := strings.CutPrefix(completed.GetResourceId(), workflowResource); known {
			h.Changed(id)
		}
	}
	return err
}

// Heard returns the time of the server's last answer on the watched connection.
func (h *Hub) Heard() time.Time { return time.Unix(0, h.heard.Load()) }

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
