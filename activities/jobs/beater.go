package jobs

import (
	"context"
	"errors"
	"time"

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
// delivered, beside the handler, so that a slow server holds up nobody.
type beater struct {
	server   Server
	token    []byte
	progress *progress
	interval time.Duration
	// timeout is the server's heartbeat timeout, 0 if there is none.
	timeout time.Duration
	// stall is how long the handler may be silent; 0: the process beats for it.
	stall time.Duration
	// ended is closed when the handler has ended: from then on the process
	// beats, because there is nobody left who could report.
	ended <-chan struct{}
	// stop cancels the handler with a cause.
	stop func(cause error)
	// stalled is told when the handler stalls; nil: nobody is.
	stalled func()
}

// run beats until ctx ends or the lease is lost.
func (b *beater) run(ctx context.Context) {
	last, told := time.Now(), false
	timer := time.NewTimer(min(b.interval, firstBeat))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		silent := b.silent(time.Now())
		if silent && told {
			// The server takes the job away one heartbeat timeout after the
			// last beat. Nobody will tell us, so we end the handler ourselves.
			if b.timeout > 0 && time.Since(last) > b.timeout+silenceMargin {
				b.stop(jobtype.ErrLeaseLost)
				return
			}
			timer.Reset(b.interval)
			continue
		}
		// The last beat says that the handler stalled: the group would take it for
		// a lost worker otherwise, and people would look there.
		sent := time.Now()
		switch err := b.beat(ctx, silent); {
		case err == nil:
			last, told = sent, silent
			if silent && b.stalled != nil {
				b.stalled()
			}
			timer.Reset(b.untilNext(time.Now()))
		case errors.Is(err, jobtype.ErrLeaseLost):
			b.stop(jobtype.ErrLeaseLost)
			return
		case errors.Is(err, jobtype.ErrCanceled), errors.Is(err, jobtype.ErrDraining):
			b.stop(err)
			last = sent
			timer.Reset(b.interval)
		default:
			// The server is away or busy. Whether it still counts this attempt
			// is unknown until it answers, so the handler goes on: its end is
			// then reported, and nobody else can have been given the job by a
			// server that is down.
			timer.Reset(min(b.interval, retryBeat))
		}
	}
}

// untilNext is one interval, or less if the handler will have stalled before: the
// beat that says so is due at that very moment, so that the job is taken away one
// heartbeat timeout later and no more.
func (b *beater) untilNext(now time.Time) time.Duration {
	if b.stall <= 0 {
		return b.interval
	}
	_, reported, _ := b.progress.snapshot()
	if due := reported.Add(b.stall).Sub(now); due > 0 && due < b.interval {
		return due
	}
	return b.interval
}

func (b *beater) beat(ctx context.Context, stalled bool) error {
	ctx, cancel := context.WithTimeout(ctx, max(b.interval, retryBeat))
	defer cancel()
	beat, _, _ := b.progress.snapshot()
	if stalled {
		beat.Stalled = jobtype.Duration(b.stall)
	}
	return b.server.Beat(ctx, b.token, beat)
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
