package api

import (
	"net/http"
	"sync"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// MaxStreams is enough for many open consoles, and protects memory and descriptors from a client that leaks streams.
const MaxStreams = 1000

type streams struct {
	mu   sync.Mutex
	open map[watcher]int
}

// watcher identifies a caller. Without a log-in all callers have one name, so the address counts.
type watcher struct{ name, auth, key, address string }

func (s *streams) enter(caller Caller) (leave func(), err error) {
	who := watcher{name: caller.Name, auth: caller.Auth, key: caller.Key}
	if caller.Auth == AuthNone {
		who.address = caller.Address
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[who] >= MaxStreams {
		return nil, problem.Newf(http.StatusTooManyRequests, problem.CodeTooManyStreams, "%s has %d streams of events open here, and may have no more", caller.Name, MaxStreams).
			With("close unused streams; one stream takes 40 topics")
	}
	if s.open == nil {
		s.open = map[watcher]int{}
	}
	s.open[who]++
	return sync.OnceFunc(func() { s.left(who) }), nil
}

func (s *streams) left(who watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[who]--; s.open[who] == 0 {
		delete(s.open, who)
	}
}
