package weedgateway

import (
	"sync"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
	"github.com/roundsman/roundsman/internal/weedgateway/session"
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
	ended    *session.Ended
}

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
	case session.Ended:
		c.ended = &e
	}
	c.mu.Unlock()
	select {
	case c.news <- struct{}{}:
	default: // There is an entry already.
	}
}

// take returns what is new, each once; an end comes after all pages.
func (c *call) take() (next *page, advanced *session.Advanced, alive bool, ended *session.Ended) {
	c.mu.Lock()
	defer c.mu.Unlock()
	advanced, alive, c.advanced, c.alive = c.advanced, c.alive, nil, false
	if len(c.pages) > 0 {
		next = &c.pages[0]
		c.pages = c.pages[1:]
		return next, advanced, alive, nil
	}
	return nil, advanced, alive, c.ended
}
