package rpc

import (
	"sync"
	"time"
)

// Requests are not sent for absentFor after a missing answer.
const absentFor = 2 * time.Second

// Presence keeps whether a control plane answers. Before the first answer, requests are sent one at a time. A nil
// Presence sends every request.
type Presence struct {
	// Absent reports whether an error means that no control plane answers.
	Absent func(error) bool

	mu   sync.Mutex
	seen bool
	down error
	at   time.Time
}

// Request calls send, unless the control plane was absent a moment ago.
func (p *Presence) Request(send func() error) error {
	if p == nil {
		return send()
	}
	p.mu.Lock()
	if p.seen {
		p.mu.Unlock()
		return send()
	}
	defer p.mu.Unlock()
	if p.down != nil && time.Since(p.at) < absentFor {
		return p.down
	}
	err := send()
	// Other errors come from the server and do not show whether a control plane answers.
	p.seen, p.at, p.down = err == nil, time.Now(), nil
	if err != nil && p.Absent(err) {
		p.down = err
	}
	return err
}
