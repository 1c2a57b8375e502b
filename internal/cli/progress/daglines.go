package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/roundsman/roundsman/starter"
)

// dagLines prints a line for everything that somebody must know, now and then
// one about how far the run is, and its summary.
type dagLines struct {
	mu  sync.Mutex
	w   io.Writer
	now func() time.Time
	// every is how often the run's progress gets a line; 0: never.
	every   time.Duration
	news    dagNews
	ended   bool
	last    string
	printed time.Time
}

// Update implements DAGDisplay.
func (l *dagLines) Update(snapshot starter.DAGSnapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
		return
	case !snapshot.Open():
		l.ended = true
		for _, line := range DAGSummary(snapshot) {
			fmt.Fprintln(l.w, line)
		}
		return
	}
	for _, line := range l.news.lines(snapshot) {
		fmt.Fprintf(l.w, "%s: %s\n", snapshot.DAG, line)
	}
	if l.every > 0 {
		l.progress(snapshot)
	}
}

// progress prints how far the run is, if that is new and the last such line is
// long enough ago.
func (l *dagLines) progress(snapshot starter.DAGSnapshot) {
	line := snapshot.DAG + ": " + dagDoing(snapshot)
	if state := snapshot.State; state != nil {
		line = fmt.Sprintf("%s: %d of %d done, %s", snapshot.DAG, DAGEnded(state.Counts), state.Total, dagDoing(snapshot))
	}
	now := l.now()
	if line == l.last || now.Sub(l.printed) < l.every {
		return
	}
	l.last, l.printed = line, now
	fmt.Fprintln(l.w, line)
}

// Note implements DAGDisplay.
func (l *dagLines) Note(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if line != "" {
		fmt.Fprintln(l.w, line)
	}
}

// Close implements DAGDisplay.
func (*dagLines) Close() {}
