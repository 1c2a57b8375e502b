package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/roundsman/roundsman/starter"
)

// lineEvery is how often a run that moves gets a new line: a log of a long run
// stays readable.
const lineEvery = 5 * time.Second

// lines prints one line when a run starts, when its detection is done, now and
// then while it moves, and when it has ended.
type lines struct {
	mu   sync.Mutex
	w    io.Writer
	now  func() time.Time
	seen map[string]*lineState
}

type lineState struct {
	found   bool
	ended   bool
	last    string
	printed time.Time
}

func newLines(w io.Writer, now func() time.Time) *lines {
	return &lines{w: w, now: now, seen: map[string]*lineState{}}
}

// Update implements Display.
func (l *lines) Update(snapshot starter.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := l.seen[snapshot.WorkflowID]
	if state == nil {
		state = &lineState{printed: l.now()}
		l.seen[snapshot.WorkflowID] = state
		fmt.Fprintf(l.w, "%s: started %s\n", snapshot.JobType, snapshot.WorkflowID)
	}
	switch {
	case state.ended:
	case !snapshot.Open():
		state.ended = true
		for _, line := range Summary(snapshot) {
			fmt.Fprintln(l.w, line)
		}
	default:
		l.progress(snapshot, state)
	}
}

func (l *lines) progress(snapshot starter.Snapshot, state *lineState) {
	if snapshot.Group == nil {
		l.maybe(state, fmt.Sprintf("%s: %s", snapshot.JobType, doing(snapshot)), false)
		return
	}
	counts := snapshot.Group.Counts
	first := counts.Detected > 0 && !state.found
	state.found = state.found || first
	l.maybe(state, fmt.Sprintf("%s: %d of %d done, %s", snapshot.JobType, Ended(counts), counts.Accepted, doing(snapshot)), first)
}

// maybe prints a line that says something new, at most one per lineEvery.
func (l *lines) maybe(state *lineState, line string, atOnce bool) {
	now := l.now()
	if line == state.last || !atOnce && now.Sub(state.printed) < lineEvery {
		return
	}
	state.last, state.printed = line, now
	fmt.Fprintln(l.w, line)
}

// Note implements Display.
func (l *lines) Note(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.w, line)
}

// Close implements Display.
func (*lines) Close() {}
