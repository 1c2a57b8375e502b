package api

import (
	"net/http"
	"sync"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// MaxStreams is how many streams of events one caller may have open at one control
// plane: more than a room full of consoles, and few enough that a client which forgets
// its streams takes neither all memory nor all descriptors.
const MaxStreams = 1000

// streams counts the open ones of each watcher.
type streams struct {
	mu   sync.Mutex
	open map[watcher]int
}

// watcher is a caller. Without a log-in all have one name, and the address tells them apart.
type watcher struct{ name, auth, key, address string }

// enter counts one more, until leave is called.
func (s *streams) enter(caller Caller) (leave func(), err error) {
	who := watcher{name: caller.Name, auth: caller.Auth, key: caller.Key}
	if caller.Auth == AuthNone {
		who.address = caller.Address
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[who] >= MaxStreams {
		return nil, problem.Newf(http.StatusTooManyRequests, problem.CodeTooManyStreams, "%s has %d streams of events open here, and may have no more", caller.Name, MaxStreams).
			With("close streams that nobody reads; one stream takes 40 topics")
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
