package command

import (
	"context"
	"io"
	"time"

	"github.com/roundsman/roundsman/activities/command/processes"
	"github.com/roundsman/roundsman/jobtype"
)

// Pace of watching a program: ten looks within stall_timeout.
const (
	watchDivisor    = 10
	minWatchPause   = 100 * time.Millisecond
	maxWatchPause   = 10 * time.Second
	fingerprintBase = 1099511628211 // the prime of FNV-1a
)

// watcher turns signs of life of a program and its descendants into those of its job: output, CPU time, bytes,
// processes that come and go. Without a process table only output counts.
type watcher struct {
	alive func()
	pause time.Duration
}

// newWatcher returns nil under liveness progress: only the handler's reports count. Under process the signs are shown.
func newWatcher(liveness jobtype.Liveness, stall jobtype.Duration, alive func()) *watcher {
	if liveness != jobtype.LivenessActivity && liveness != jobtype.LivenessProcess || alive == nil {
		return nil
	}
	if stall <= 0 {
		stall = jobtype.DefaultActivityStall
	}
	return &watcher{alive: alive, pause: min(max(stall.Std()/watchDivisor, minWatchPause), maxWatchPause)}
}

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

// fingerprint changes when a process used CPU, read or wrote, or when one came or went.
func fingerprint(child child) (sum uint64, ok bool) {
	members, err := child.family()
	if err != nil {
		return 0, false
	}
	for _, p := range members {
		for _, value := range []uint64{uint64(p.PID), p.Start, p.Ticks, processes.Transferred(p.PID)} { //nolint:gosec // process ids are positive
			sum = (sum ^ value) * fingerprintBase
		}
	}
	return sum, true
}
