package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// A third of the timeout survives two lost beats; 5 s shows cancel and progress soon enough for people.
const (
	maxBeatInterval    = 5 * time.Second
	interactiveBeat    = time.Second
	minBeatInterval    = 50 * time.Millisecond
	firstBeat          = time.Second
	retryBeat          = time.Second
	silenceMargin      = 500 * time.Millisecond
	beatTimeoutDivisor = 3
)

// Without a heartbeat timeout, beats still carry progress to the server and cancellation back.
func beatInterval(timeout time.Duration, interactive bool) time.Duration {
	interval := maxBeatInterval
	if interactive {
		interval = interactiveBeat
	}
	if timeout > 0 {
		interval = min(interval, timeout/beatTimeoutDivisor)
	}
	return max(interval, minBeatInterval)
}

// beater sends the heartbeats of one attempt in its own goroutine, so that a slow server does not delay the handler.
type beater struct {
	server      Server
	hold        *hold
	progress    *progress
	interactive bool
	// stall is the longest silence of the handler; 0 means that the process beats for it.
	stall time.Duration
	// grace is [contract.ExecuteInput.OrphanGrace].
	grace time.Duration
	// stopAfter is the longest time without a recorded beat before the handler is stopped.
	stopAfter time.Duration
	// ended is closed when the handler has ended: from then on the process beats.
	ended   <-chan struct{}
	stop    func(cause error)
	stalled func()

	// last is the sending time of the last recorded beat; told means that this beat reported the stall.
	last      time.Time
	told      bool
	stopTimer *time.Timer
}

func (b *beater) run(ctx context.Context) {
	first, _ := b.hold.current()
	b.last = time.Now()
	defer b.startStopTimer(first)()
	timer := time.NewTimer(min(b.interval(first), firstBeat))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		wait, more := b.round(ctx)
		if !more {
			return
		}
		timer.Reset(wait)
	}
}

// round beats once, unless the handler stalls. more is false after the lease is lost.
func (b *beater) round(ctx context.Context) (wait time.Duration, more bool) {
	held, adopted := b.hold.current()
	if held.since.After(b.last) {
		b.last, b.told = held.since, false
		b.confirmed(held)
	}
	silent := b.silent(time.Now())
	if silent && b.told {
		// The server takes the job away one heartbeat timeout after the last beat, without a report.
		if held.timeout > 0 && time.Since(b.last) > held.timeout+silenceMargin {
			b.stop(jobtype.ErrLeaseLost)
			return 0, false
		}
		return b.interval(held), true
	}
	// The last beat reports the stall: otherwise the group would treat the worker as lost.
	sent := time.Now()
	switch err := b.beat(ctx, held, silent); {
	case err == nil:
		b.last, b.told = sent, silent
		b.confirmed(held)
		if silent && b.stalled != nil {
			b.stalled()
		}
		return b.untilNext(b.interval(held), time.Now()), true
	case errors.Is(err, jobtype.ErrLeaseLost):
		return b.orphaned(ctx, held, adopted)
	case errors.Is(err, jobtype.ErrCanceled), errors.Is(err, jobtype.ErrDraining):
		b.stop(err)
		b.last = sent
		b.confirmed(held)
		return b.interval(held), true
	}
	// The server is away or busy. A server that is down has given the job to no other worker, so the handler continues.
	return min(b.interval(held), retryBeat), true
}

// orphaned handles a beat whose activity the server no longer has. If the heartbeat timeout was over, the server
// probably timed the activity out while away, and the run will adopt the attempt: the handler continues for grace.
// Otherwise it ends at once.
func (b *beater) orphaned(ctx context.Context, held lease, adopted <-chan struct{}) (wait time.Duration, more bool) {
	timedOut := held.timeout > 0 && time.Since(b.last)+silenceMargin >= held.timeout
	select {
	case <-adopted:
		return 0, true // The beat and the adoption crossed.
	default:
	}
	if timedOut && b.grace > 0 && b.hold.awaitAdoption(ctx, adopted, b.grace) {
		return 0, true
	}
	if ctx.Err() == nil {
		b.stop(jobtype.ErrLeaseLost)
	}
	return 0, false
}

// A beat may hang for seconds on a cut connection, so this is a separate timer.
func (b *beater) startStopTimer(held lease) (stop func()) {
	if b.stopAfter <= 0 {
		return func() {}
	}
	b.stopTimer = time.AfterFunc(b.stopDelay(held), func() { b.stop(jobtype.ErrDisconnected) })
	return func() { b.stopTimer.Stop() }
}

// confirmed resets the timer: the server had the job when the last beat was sent.
func (b *beater) confirmed(held lease) {
	if b.stopTimer != nil && b.stopTimer.Stop() {
		b.stopTimer.Reset(time.Until(b.last.Add(b.stopDelay(held))))
	}
}

func (b *beater) stopDelay(held lease) time.Duration {
	if held.timeout <= 0 {
		return b.stopAfter
	}
	timeout := jobtype.Duration(held.timeout)
	if b.stopAfter <= (timeout - jobtype.DisconnectMargin(timeout)).Std() {
		return b.stopAfter
	}
	return jobtype.StopAfter(timeout).Std()
}

func (b *beater) interval(held lease) time.Duration { return beatInterval(held.timeout, b.interactive) }

// The beat that reports a stall is due at the moment of the stall.
func (b *beater) untilNext(interval time.Duration, now time.Time) time.Duration {
	if b.stall <= 0 {
		return interval
	}
	_, reported, _ := b.progress.snapshot()
	if due := reported.Add(b.stall).Sub(now); due > 0 && due < interval {
		return due
	}
	return interval
}

func (b *beater) beat(ctx context.Context, held lease, stalled bool) error {
	ctx, cancel := context.WithTimeout(ctx, max(b.interval(held), retryBeat))
	defer cancel()
	beat, reported, _ := b.progress.snapshot()
	if quiet := time.Since(reported); quiet >= contract.QuietFrom {
		beat.Quiet = jobtype.Duration(quiet.Truncate(time.Second))
	}
	if stalled {
		beat.Stalled = jobtype.Duration(b.stall)
	}
	return b.server.Beat(ctx, held.token, beat)
}

// silent reports whether the handler stalled, so that its beats are withheld.
func (b *beater) silent(now time.Time) bool {
	if b.stall <= 0 {
		return false
	}
	select {
	case <-b.ended:
		return false
	default:
	}
	_, reported, _ := b.progress.snapshot()
	return now.Sub(reported) >= b.stall
}

// start runs the beater until stop, which waits for its end. The SDK's cancellation of ctx does not stop it.
func (b *beater) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
