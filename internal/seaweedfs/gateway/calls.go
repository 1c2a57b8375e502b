package gateway

import (
	"sync"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/session"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// call is a request from the handler's side: what has happened since it last looked.
type call struct {
	// news has an entry when there is something to take.
	news chan struct{}

	mu sync.Mutex
	// pages are a detection's proposals that are not taken.
	pages []page
	// advanced is the last progress that is not taken, alive a sign of life.
	advanced *session.Advanced
	alive    bool
	// printed is the end of what the worker wrote and nobody has taken.
	printed []byte
	ended   *session.Ended
}

// maxPrinted bounds what is kept of a worker that writes faster than it is read.
const maxPrinted = 64 << 10

type page struct {
	proposals []*pb.JobProposal
	bytes     int
}

func newCall() *call { return &call{news: make(chan struct{}, 1)} }

// note takes an event of the request. Progress that was not looked at is replaced.
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

// news is what has happened since the last [call.take].
type news struct {
	page     *page
	advanced *session.Advanced
	alive    bool
	printed  []byte
	ended    *session.Ended
}

// take returns what is new, each once; an end comes after all pages.
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
