package command

import (
	"context"
	"io"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Pace of watching a program: ten looks within stall_timeout.
const (
	watchDivisor    = 10
	minWatchPause   = 100 * time.Millisecond
	maxWatchPause   = 10 * time.Second
	fingerprintBase = 1099511628211 // the prime of FNV-1a
)

// watcher turns the signs of life of a program and all that it started into those
// of its job: output, CPU time, bytes read and written, processes that come and go.
// On systems without a process table output is the only one.
type watcher struct {
	alive func()
	pause time.Duration
}

// newWatcher returns nil if nothing is watched: under liveness progress only the handler's
// reports count. Under process the signs of life are shown and end nothing.
func newWatcher(liveness jobtype.Liveness, stall jobtype.Duration, alive func()) *watcher {
	if liveness != jobtype.LivenessActivity && liveness != jobtype.LivenessProcess || alive == nil {
		return nil
	}
	if stall <= 0 {
		stall = jobtype.DefaultActivityStall
	}
	return &watcher{alive: alive, pause: min(max(stall.Std()/watchDivisor, minWatchPause), maxWatchPause)}
}

// output reports the data that passes through.
func (w *watcher) output(from io.Reader) io.Reader {
	if w == nil {
		return from
	}
	return io.TeeReader(from, heard(w.alive))
}

type heard func()

// Write implements io.Writer.
func (h heard) Write(text []byte) (int, error) {
	h()
	return len(text), nil
}

// follow looks at the program and its descendants until the returned function is
// called.
func (w *watcher) follow(child child) (stop func()) {
	if w == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		last, known := fingerprint(child)
		for waitContext(ctx, w.pause) {
			now, ok := fingerprint(child)
			if ok && (!known || now != last) {
				w.alive()
			}
			last, known = now, ok
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// beat reports signs of life until ctx ends.
func (w *watcher) beat(ctx context.Context) {
	if w == nil {
		return
	}
	go func() {
		for waitContext(ctx, w.pause) {
			w.alive()
		}
	}()
}

// fingerprint changes when one of the processes used CPU, read or wrote, or when one
// came or went.
func fingerprint(child child) (sum uint64, ok bool) {
	table, err := processTable()
	if err != nil {
		return 0, false
	}
	for _, p := range child.family(table) {
		for _, value := range []uint64{uint64(p.pid), p.start, p.ticks, transferred(p.pid)} { //nolint:gosec // process ids are positive
			sum = (sum ^ value) * fingerprintBase
		}
	}
	return sum, true
}

// family returns the members of the leader's group and all descendants of any, in
// the order of the table. Descendants that left the group count: the program may
// wait for them.
func family(table []process, leader int) []process {
	return closure(table, func(p process) bool { return p.group == leader || p.pid == leader })
}

// descendants returns the descendants of a process, without itself.
func descendants(table []process, root int) []process {
	return closure(table, func(p process) bool { return p.parent == root })
}

// closure returns the chosen processes and all descendants of any, in the order of
// the table.
func closure(table []process, chosen func(process) bool) []process {
	in := make(map[int]bool, len(table))
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if !in[p.pid] && (in[p.parent] || chosen(p)) {
				in[p.pid], grown = true, true
			}
		}
	}
	members := make([]process, 0, len(in))
	for _, p := range table {
		if in[p.pid] {
			members = append(members, p)
		}
	}
	return members
}
