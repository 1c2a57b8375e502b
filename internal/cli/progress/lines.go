package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/cli/ui"
	"github.com/roundsman/roundsman/starter"
)

// lineEvery is the interval between lines of a run that makes progress, so that logs of long runs stay short.
const lineEvery = 5 * time.Second

// lines prints the start of a run, the end of its detection, urgent events and the end, and progress at intervals.
type lines struct {
	mu    sync.Mutex
	w     io.Writer
	now   func() time.Time
	own   *ui.Renaming
	stamp func() string
	seen  map[string]*lineState
}

type lineState struct {
	news    news
	found   bool
	ended   bool
	last    string
	printed time.Time
}

// Update implements Display.
func (l *lines) Update(snapshot starter.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name, state := nameOf(snapshot), l.seen[snapshot.WorkflowID]
	if state == nil {
		state = &lineState{printed: l.now()}
		l.seen[snapshot.WorkflowID] = state
		l.print(name + ": started " + snapshot.WorkflowID)
	}
	switch {
	case state.ended:
	case !snapshot.Open():
		state.ended = true
		for _, line := range Summary(snapshot, l.own) {
			l.print(line)
		}
	default:
		for _, line := range state.news.lines(snapshot, l.own) {
			l.print(name + ": " + line)
		}
		l.progress(name, snapshot, state)
	}
}

// progress prints changes, at most one line per interval, except the end of a detection.
func (l *lines) progress(name string, snapshot starter.Snapshot, state *lineState) {
	line := name + ": " + Doing(snapshot)
	done := Ended(snapshot)
	switch {
	case done != "" && snapshot.Phase == contract.PhaseEnded:
		line = name + ": " + done
	case done != "":
		line = fmt.Sprintf("%s: %s, %s", name, done, Doing(snapshot))
	}
	atOnce := done != "" && !state.found && snapshot.Kind == starter.KindGroup
	state.found = state.found || done != ""
	now := l.now()
	if line == state.last || !atOnce && now.Sub(state.printed) < lineEvery {
		return
	}
	state.last, state.printed = line, now
	l.print(line)
}

// print writes a whole line at a time. It ignores errors, because a closed terminal has no reader.
func (l *lines) print(line string) { fmt.Fprintln(l.w, l.stamp()+line) }

// Note implements Display.
func (l *lines) Note(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if line != "" {
		l.print(line)
	}
}

// Close implements Display.
func (*lines) Close() {}
