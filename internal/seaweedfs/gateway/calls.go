package gateway

import (
	"sync"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/session"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// call is a running request on the handler's side: the events since the last [call.take].
type call struct {
	news chan struct{}

	mu       sync.Mutex
	pages    []page
	advanced *session.Advanced
	alive    bool
	printed  []byte
	ended    *session.Ended
}

// maxPrinted bounds the buffer of a worker that writes faster than its output is read.
const maxPrinted = 64 << 10

type page struct {
	proposals []*pb.JobProposal
	bytes     int
}

func newCall() *call { return &call{news: make(chan struct{}, 1)} }

// New progress replaces unread progress.
func (c *call) note(event session.Event) {
	c.mu.Lock()
	switch e := event.(type) {
	case session.Alive:
		c.alive = true
	case session.Found:
		c.pages = append(c.pages, page{e.Proposals, e.Bytes})
	case session.Advanced:
		c.advanced = &e
	case session.Printed:
		c.printed = append(c.printed, e.Lines...)
		c.printed = c.printed[max(0, len(c.printed)-maxPrinted):]
	case session.Ended:
		c.ended = &e
	}
	c.mu.Unlock()
	select {
	case c.news <- struct{}{}:
	default: // There is an entry already.
	}
}

type news struct {
	page     *page
	advanced *session.Advanced
	alive    bool
	printed  []byte
	ended    *session.Ended
}

// take returns each event once; an end comes after all pages.
func (c *call) take() news {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := news{advanced: c.advanced, alive: c.alive, printed: c.printed}
	c.advanced, c.alive, c.printed = nil, false, nil
	if len(c.pages) > 0 {
		n.page, c.pages = &c.pages[0], c.pages[1:]
	} else {
		n.ended = c.ended
	}
	return n
}
