package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// Pace of heartbeats. A third of the timeout survives two lost beats; 5 s keeps
// cancel and progress within sight of people, 1 s is for interactive job types.
const (
	maxBeatInterval    = 5 * time.Second
	interactiveBeat    = time.Second
	minBeatInterval    = 50 * time.Millisecond
	firstBeat          = time.Second
	retryBeat          = time.Second
	silenceMargin      = 500 * time.Millisecond
	beatTimeoutDivisor = 3
)

// beatInterval is how often an attempt beats. Without a heartbeat timeout beats
// still carry progress there and cancellation back.
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

// beater heartbeats for one attempt from its start until its outcome is
// delivered, in a goroutine of its own, so that a slow server does not delay the
// handler.
type beater struct {
	server      Server
	hold        *hold
	progress    *progress
	interactive bool
	// stall is how long the handler may be silent; 0: the process beats for it.
	stall time.Duration
	// grace is how long the handler continues after the server has given the
	// activity up, see [contract.ExecuteInput.OrphanGrace].
	grace time.Duration
	// stopAfter is how long no beat may reach the server before the handler is
	// stopped; 0: for ever.
	stopAfter time.Duration
	// ended is closed when the handler has ended: from then on the process beats.
	ended <-chan struct{}
	// stop cancels the handler with a cause.
	stop func(cause error)
	// stalled is called when the handler stalls; may be nil.
	stalled func()

	// last is when the last recorded beat was sent, told whether it said that the
	// handler stalled.
	last time.Time
	told bool
	// stopTimer stops the handler after stopAfter; nil: nothing does.
	stopTimer *time.Timer
}

// run beats until ctx ends or the lease is lost.
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

// round beats once, unless the handler stalls, and returns the wait for the next
// round; more is false after the lease is lost.
func (b *beater) round(ctx context.Context) (wait time.Duration, more bool) {
	held, adopted := b.hold.current()
	if held.since.After(b.last) {
		b.last, b.told = held.since, false
		b.confirmed(held)
	}
	silent := b.silent(time.Now())
	if silent && b.told {
		// The server takes the job away one heartbeat timeout after the last beat
		// and reports that to nobody here, so the beater ends the handler itself.
		if held.timeout > 0 && time.Since(b.last) > held.timeout+silenceMargin {
			b.stop(jobtype.ErrLeaseLost)
			return 0, false
		}
		return b.interval(held), true
	}
	// The last beat says that the handler stalled: the group would take it for
	// a lost worker otherwise, and people would look there.
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
	// The server is away or busy. Whether it still counts this attempt is unknown
	// until it answers, so the handler continues: its end is then reported, and a
	// server that is down has given the job to no other worker.
	return min(b.interval(held), retryBeat), true
}

// orphaned decides what follows when the server does not know the activity any
// more. If its heartbeat timeout was over before this beat, it probably timed the
// activity out because it was away, and the run adopts the attempt; until then the
// handler continues, for grace at most. Otherwise somebody ended the activity, and
// the handler ends at once.
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

// startStopTimer arms the timer that stops the handler after stopAfter without a
// recorded beat. A timer of its own, because a beat may hang for seconds on a
// connection that is cut.
func (b *beater) startStopTimer(held lease) (stop func()) {
	if b.stopAfter <= 0 {
		return func() {}
	}
	b.stopTimer = time.AfterFunc(b.stopDelay(held), func() { b.stop(jobtype.ErrDisconnected) })
	return func() { b.stopTimer.Stop() }
}

// confirmed sets the timer again: the server had the job when the last beat was sent.
func (b *beater) confirmed(held lease) {
	if b.stopTimer != nil && b.stopTimer.Stop() {
		b.stopTimer.Reset(time.Until(b.last.Add(b.stopDelay(held))))
	}
}

// stopDelay is stopAfter, or less where the activity has a shorter heartbeat timeout
// than the policy that it came from.
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

// untilNext is one interval, or less if the handler will have stalled before: the
// beat that says so is due at that very moment, so that the job is taken away one
// heartbeat timeout later and no more.
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

// start runs the beater until the returned function is called, which waits for
// it to end. The SDK's own cancellation of ctx does not stop it.
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
