package telemetry

import (
	"context"
	"path"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/taskqueue/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Traffic records the calls of one connection to the server.
type Traffic struct {
	mu       sync.Mutex
	answered time.Time
	queues   map[string]*polls
}

type polls struct {
	open int
	last time.Time
}

func newTraffic() *Traffic { return &Traffic{queues: map[string]*polls{}} }

// Intercept records a call; it is for the options of the connection.
func (t *Traffic) Intercept(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	queue, isPoll := polledQueue(method, req)
	if isPoll {
		t.opened(queue)
	}
	err := invoke(ctx, method, req, reply, cc, options...)
	t.ended(queue, isPoll, err, time.Now())
	return err
}

func polledQueue(method string, req any) (string, bool) {
	poll, ok := req.(interface{ GetTaskQueue() *taskqueue.TaskQueue })
	if !ok || !strings.HasPrefix(path.Base(method), "Poll") {
		return "", false
	}
	return poll.GetTaskQueue().GetName(), true
}

func (t *Traffic) opened(queue string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queues[queue] == nil {
		t.queues[queue] = &polls{}
	}
	t.queues[queue].open++
}

func (t *Traffic) ended(queue string, isPoll bool, err error, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answered := isAnswer(err)
	if answered {
		t.answered = now
	}
	if isPoll {
		t.queues[queue].open--
		if answered {
			t.queues[queue].last = now
		}
	}
}

// A refusal is an answer of the server.
func isAnswer(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unknown:
		return false
	default:
		return true
	}
}

// LastAnswer returns the time of the server's last answer; zero before the first.
func (t *Traffic) LastAnswer() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answered
}

// Polls returns the number of open polls of the queue and the time of the last answer to one.
func (t *Traffic) Polls(queue string) (open int, last time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.queues[queue]; p != nil {
		return p.open, p.last
	}
	return 0, time.Time{}
}
