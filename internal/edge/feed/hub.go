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

// Debounce is how long a fetcher waits after a change for others that come with it.
const Debounce = 250 * time.Millisecond

// Topic is something to view.
type Topic struct {
	Name string
	// Every is the interval of fetches while the topic is viewed. Topics with the same value fetch
	// at the same instants, and so share their sources.
	Every time.Duration
	// Busy is how soon it is fetched again after a fetch that brought news; each fetch
	// without news doubles that, up to Every. Zero: Every.
	Busy time.Duration
	// Gap is the least time between two fetches after changes; default [Debounce].
	Gap time.Duration
	// Lag is the delay of the topic's source behind a change. After it there is a second look.
	// Zero means no delay.
	Lag time.Duration
	// Of are the workflows whose changes concern it: ids, or prefixes that end in /.
	Of []string
	// Stale, if set, is called when something has changed.
	Stale func()

	// passing topics are forgotten when their last viewer leaves.
	passing bool
}

// concerns reports whether a change of the workflow may change the topic.
func (t Topic) concerns(workflowID string) bool {
	for _, of := range t.Of {
		if of == workflowID || strings.HasSuffix(of, "/") && strings.HasPrefix(workflowID, of) {
			return true
		}
	}
	return false
}

// Picture is a topic as one permission set sees it.
type Picture struct {
	// Body is one line of JSON. Digest is the same for the same content.
	Body   []byte
	Digest string
	AsOf   time.Time
	// Refused is why there is no newer one.
	Refused error
}

// Make makes a picture for one permission set.
type Make func(context.Context) (Picture, error)

// Hub has all topics of a process.
type Hub struct {
	mu     sync.Mutex
	topics map[string]*fetcher
	// every and probe belong to the patrol, which home ends; states are its last results.
	every  time.Duration
	probe  Probe
	home   context.CancelFunc
	states map[string]string
	// heard is the time of the server's last answer, in nanoseconds.
	heard atomic.Int64
}

// New makes a hub without topics.
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

// workflowResource is how the SDK writes a workflow's id into a request, for routing.
const workflowResource = "workflow:"

// Intercept watches the connection for workflow tasks that the own control plane
// completes: for the connection's options. Queries are none of them.
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

// Heard is the time of the server's last answer over the watched connection.
func (h *Hub) Heard() time.Time { return time.Unix(0, h.heard.Load()) }

// poke leaves a note in a channel that holds one.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
