package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/session"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

type stream interface {
	Send(message *pb.AdminToWorkerMessage) error
	Recv() (*pb.WorkerToAdminMessage, error)
}

// link connects one stream with its session, and the session with the handlers.
type link struct {
	logger *slog.Logger
	// unique is the prefix of all request ids.
	unique string

	mu     sync.Mutex
	core   *session.Session
	calls  map[string]*call
	count  int
	queue  []*pb.AdminToWorkerMessage
	filled chan struct{}
	moved  chan struct{}

	introduced chan session.Profile
	resized    chan session.Resized
	ended      chan struct{}
	closing    session.Closed
	// abandoned counts requests that the worker has not ended and no handler awaits.
	abandoned sync.WaitGroup
}

func newLink(settings session.Settings, unique string, logger *slog.Logger) *link {
	return &link{
		logger: logger, unique: unique, core: session.New(settings, time.Now()), calls: map[string]*call{},
		filled: make(chan struct{}, 1), moved: make(chan struct{}, 1),
		introduced: make(chan session.Profile, 1), resized: make(chan session.Resized, 1), ended: make(chan struct{}),
	}
}

func (l *link) named(worker string) *slog.Logger {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logger = l.logger.With("weed_worker", worker)
	return l.logger
}

// do applies decide to the session and carries out the result.
func (l *link) do(decide func(s *session.Session, now time.Time)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	decide(l.core, time.Now())
	out, events := l.core.Take()
	if len(out) > 0 {
		l.queue = append(l.queue, out...)
		poke(l.filled)
	}
	for _, event := range events {
		l.carryOut(event)
	}
	poke(l.moved)
}

func (l *link) carryOut(event session.Event) {
	switch e := event.(type) {
	case session.Introduced:
		l.introduced <- e.Profile
	case session.Alive:
		l.tell(e.Request, e)
	case session.Found:
		l.tell(e.Request, e)
	case session.Advanced:
		l.tell(e.Request, e)
	case session.Printed:
		l.tell(e.Request, e)
	case session.Ended:
		l.tell(e.Request, e)
		delete(l.calls, e.Request)
	case session.Resized:
		select {
		case <-l.resized: // Only the newest counts.
		default:
		}
		l.resized <- e
	case session.Refused:
		l.logger.Warn("a message of a weed worker was dropped", "code", e.Code, "detail", e.Detail)
	case session.Closed:
		if e.Code != session.CodeStreamEnd && e.Code != session.CodeShutdown {
			l.logger.Warn("a weed worker was disconnected", "code", e.Code, "reason", e.Reason)
		}
		l.closing = e
		close(l.ended)
	}
}

func (l *link) tell(request string, event session.Event) {
	if c := l.calls[request]; c != nil {
		c.note(event)
	}
}

func (l *link) begin(kind string, send func(s *session.Session, now time.Time, id string) error) (id string, c *call, err error) {
	l.do(func(s *session.Session, now time.Time) {
		l.count++
		id, c = fmt.Sprintf("%s-%s-%d", kind, l.unique, l.count), newCall()
		l.calls[id] = c
		if err = send(s, now, id); err != nil {
			delete(l.calls, id)
		}
	})
	return id, c, err
}

// consume frees the bytes of a page that was taken or dropped.
func (l *link) consume(id string, p *page) {
	l.do(func(s *session.Session, _ time.Time) { s.Consume(id, p.bytes) })
}

func (l *link) over() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

func (l *link) afterwards(id string, c *call, release func()) {
	l.abandoned.Go(func() {
		defer release()
		for {
			n := c.take()
			switch {
			case n.page != nil:
				l.consume(id, n.page)
				continue
			case n.ended != nil:
				return
			}
			select {
			case <-c.news:
			case <-l.ended:
				return
			}
		}
	})
}

func (l *link) cancel(id, reason string) {
	l.do(func(s *session.Session, now time.Time) { s.Cancel(now, id, reason) })
}

func (l *link) close(code session.Code, reason string) {
	l.do(func(s *session.Session, _ time.Time) { s.Close(code, reason) })
}

func (l *link) read(from stream) {
	for {
		message, err := from.Recv()
		if err != nil {
			l.close(session.CodeStreamEnd, err.Error())
			return
		}
		l.do(func(s *session.Session, now time.Time) { s.Receive(now, message) })
	}
}

// sendTimeout bounds the wait for a worker that reads nothing, per message.
const sendTimeout = 10 * time.Second

// write sends one message at a time until the session has ended. watch ends the session if a message takes too long.
func (l *link) write(to stream) {
	for {
		message, done := l.nextOut()
		if message == nil {
			if done {
				return
			}
			select {
			case <-l.filled:
			case <-l.ended:
			}
			continue
		}
		stuck := time.AfterFunc(sendTimeout, func() {
			l.close(session.CodeBackpressure, fmt.Sprintf("the worker has read nothing for %s", sendTimeout))
		})
		err := to.Send(message)
		stuck.Stop()
		if err != nil {
			l.close(session.CodeStreamEnd, err.Error())
			return
		}
		l.do(func(s *session.Session, _ time.Time) { s.Sent() })
	}
}

func (l *link) nextOut() (message *pb.AdminToWorkerMessage, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return nil, l.core.Closed()
	}
	message = l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	return message, false
}

func (l *link) tick(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.mu.Lock()
		next := l.core.Next()
		l.mu.Unlock()
		if !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-timer.C:
			l.do(func(s *session.Session, now time.Time) {
				s.Arrived(lastPart(ctx))
				s.Tick(now)
			})
		case <-l.moved:
		case <-l.ended:
			return
		case <-ctx.Done():
			l.close(session.CodeStreamEnd, context.Cause(ctx).Error())
			return
		}
	}
}

func poke(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default: // There is an entry already.
	}
}
