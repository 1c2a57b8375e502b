// Package history counts how much room is left in the history of a workflow. The
// server terminates a run whose history grows beyond 50 MiB, and with it all that
// the run knows: so what is going to be written is counted before it is started.
package history

import "github.com/roundsman/roundsman/jobtype"

const (
	// maxBytes stays below the server's 50 MiB by what messages, timers and
	// control activities may add while nothing more is started.
	maxBytes = 46 << 20
	// endBytes is what the end of an attempt writes at most.
	endBytes = jobtype.MaxResultBytes + 2<<10
	// attemptBytes is what an attempt writes beside what it carries and returns.
	attemptBytes = 1 << 10
)

// Room is what is left in one workflow run's history, in bytes. Before
// [Room.Observe] it is boundless.
type Room struct {
	left    int
	bounded bool
}

// Observe says how long the history is, what has been decided and is not in it
// yet, and how many attempts are going to end.
func (r *Room) Observe(bytes, ordered, inFlight int) {
	r.left, r.bounded = maxBytes-bytes-ordered-inFlight*endBytes, true
}

// Take counts an attempt that is started now and carries so much.
func (r *Room) Take(carries int) { r.left -= carries + attemptBytes + endBytes }

// Full reports whether nothing more should be started in this run. It is not for
// good: what has ended often took less than was expected.
func (r *Room) Full() bool { return r.bounded && r.left <= 0 }
