package jobs

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestBeatInterval(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 5*time.Second, beatInterval(30*time.Second, false))
	assert.Equal(t, time.Second, beatInterval(30*time.Second, true))
	assert.Equal(t, 2*time.Second, beatInterval(6*time.Second, false))
	assert.Equal(t, 500*time.Millisecond, beatInterval(1500*time.Millisecond, true))
	assert.Equal(t, 5*time.Second, beatInterval(0, false))
}

// stalling is a beater with a heartbeat timeout of 3 s and a stall timeout of 10 s, on a clock
// of its own.
func stalling(server *fakeServer, stop func(error)) *beater {
	return &beater{
		server: server, progress: newProgress("node-a", nil, time.Now()),
		hold:  newHold(lease{timeout: 3 * time.Second}),
		stall: 10 * time.Second, ended: make(chan struct{}), stop: stop,
	}
}

func TestBeaterFallsSilentWithItsHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		ctx, cancel := context.WithCancelCause(t.Context())
		b := stalling(server, cancel)
		stop := b.start(t.Context())
		defer stop()

		time.Sleep(9 * time.Second)
		b.progress.Alive()
		time.Sleep(9500 * time.Millisecond)
		assert.Equal(t, 18, server.beatCount(), "one beat a second while the handler lives")
		time.Sleep(10 * time.Second)
		assert.Equal(t, 19, server.beatCount(), "silence 10 s after the last sign of life")
		synctest.Wait()
		assert.ErrorIs(t, context.Cause(ctx), jobtype.ErrLeaseLost, "the server takes the job away 3 s later, so does the worker")
		assert.Zero(t, server.beats[17].Stalled)
		assert.Equal(t, jobtype.Duration(10*time.Second), server.beats[18].Stalled, "the last beat says why it is the last")
	})
}

// TestTheStallIsToldInTime: a stall between two beats is reported at once, so the job is taken
// away one heartbeat timeout later.
func TestTheStallIsToldInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, stalls := &fakeServer{}, 0
		b := stalling(server, func(error) {})
		b.stall, b.stalled = 1700*time.Millisecond, func() { stalls++ }
		defer b.start(t.Context())()
		time.Sleep(1699 * time.Millisecond)
		assert.Equal(t, 1, server.beatCount())
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, 2, server.beatCount())
		assert.NotZero(t, server.beats[1].Stalled)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, []int{2, 1}, []int{server.beatCount(), stalls}, "told once")
	})
}

func TestBeaterResumesWithItsHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		b := stalling(server, func(err error) { t.Errorf("unexpected end: %v", err) })
		stop := b.start(t.Context())
		defer stop()
		time.Sleep(12500 * time.Millisecond)
		silent := server.beatCount()
		assert.Equal(t, 10, silent)
		b.progress.Report(50, "copy", "back again")
		time.Sleep(2 * time.Second)
		assert.Equal(t, silent+2, server.beatCount())
		assert.InDelta(t, 50, server.beats[silent].Percent, 0)
		assert.NotZero(t, server.beats[silent-1].Stalled)
		assert.Zero(t, server.beats[silent].Stalled, "it is back")
	})
}

func TestBeaterBeatsForAProcessAndForAnEndedHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{}
		b := stalling(server, func(err error) { t.Errorf("unexpected end: %v", err) })
		b.stall = 0
		stop := b.start(t.Context())
		time.Sleep(100*time.Second + time.Millisecond)
		stop()
		assert.Equal(t, 100, server.beatCount())

		ended := make(chan struct{})
		close(ended)
		b = stalling(server, func(err error) { t.Errorf("unexpected end: %v", err) })
		b.ended = ended
		stop = b.start(t.Context())
		time.Sleep(100*time.Second + time.Millisecond)
		stop()
		assert.Equal(t, 200, server.beatCount(), "an outcome under delivery is no stalled handler")
	})
}

func TestBeaterSurvivesAnAbsentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{onBeat: func(n int) error {
			if n < 40 {
				return errAway
			}
			return nil
		}}
		b := stalling(server, func(err error) { t.Errorf("an absent server must not end a job: %v", err) })
		b.stall, b.hold = 0, newHold(lease{timeout: 15 * time.Second})
		stop := b.start(t.Context())
		time.Sleep(41 * time.Second)
		stop()
		assert.Equal(t, 40, server.beatCount(), "repeated every second while the server is away")
	})
}

func TestBeaterPassesOnTheServersWishes(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{jobtype.ErrCanceled, jobtype.ErrLeaseLost, jobtype.ErrDraining} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := stalling(&fakeServer{onBeat: func(int) error { return cause }}, cancel).start(t.Context())
			<-ctx.Done()
			stop()
			assert.ErrorIs(t, context.Cause(ctx), cause)
		})
	}
}

func TestProgressBoundsWhatItTakes(t *testing.T) {
	t.Parallel()
	p := newProgress("node-a", nil, time.Now())
	p.Report(math.NaN(), strings.Repeat("s", 1000), strings.Repeat("é", 1000)+"\xff")
	beat, _, changed := p.snapshot()
	assert.InDelta(t, -1, beat.Percent, 0)
	assert.Len(t, beat.Stage, maxStageBytes)
	assert.LessOrEqual(t, len(beat.Message), maxMessageBytes)
	p.Report(math.Inf(1), "s", "m")
	beat, _, again := p.snapshot()
	assert.InDelta(t, 100, beat.Percent, 0)
	assert.True(t, again.After(changed) || again.Equal(changed))

	require.NoError(t, p.Checkpoint(map[string]int{"a": 1}))
	require.ErrorContains(t, p.Checkpoint(strings.Repeat("x", jobtype.MaxCheckpointBytes)), "the limit is 16384")
	require.Error(t, p.Checkpoint(func() {}))
	beat, _, _ = p.snapshot()
	assert.JSONEq(t, `{"a":1}`, string(beat.Checkpoint), "a refused checkpoint leaves the last one")
	p.Report(40, "reading", "")
	require.NoError(t, p.Checkpoint(map[string]int{"a": 2}))
	p.Report(55, "reading", "")
	require.NoError(t, p.Checkpoint(map[string]int{"a": 2}))
	beat, _, _ = p.snapshot()
	assert.InDelta(t, 40, beat.Done, 0, "what was done since is not in it")
}

func TestProgressKnowsChangeFromSignsOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProgress("node-a", nil, time.Now())
		p.Report(1, "a", "b")
		time.Sleep(time.Second)
		p.Report(1, "a", "b")
		p.Alive()
		_, reported, changed := p.snapshot()
		assert.Equal(t, time.Second, reported.Sub(changed))
	})
}

func TestClassifyKeepsTransientErrors(t *testing.T) {
	t.Parallel()
	require.NoError(t, classify(nil))
	require.ErrorIs(t, classify(errAway), errAway)
	var rejected *RejectedError
	assert.NotErrorAs(t, classify(errAway), &rejected)
}

// A worker that is cut off stops the handler exactly stop_after after the last recorded beat was
// sent, even while a beat hangs.
func TestBeaterStopsWhatItCannotConfirm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &hangingServer{fakeServer: fakeServer{}, from: 20 * time.Second, begun: time.Now()}
		ctx, cancel := context.WithCancelCause(t.Context())
		b := stalling(&server.fakeServer, cancel)
		b.server, b.hold, b.stall = server, newHold(lease{timeout: 30 * time.Second}), 0
		b.stopAfter = jobtype.StopAfter(jobtype.Duration(30 * time.Second)).Std()
		begun := time.Now()
		defer b.start(t.Context())()
		<-ctx.Done()
		assert.ErrorIs(t, context.Cause(ctx), jobtype.ErrDisconnected)
		assert.ErrorIs(t, context.Cause(ctx), jobtype.ErrDraining)
		assert.Equal(t, 16*time.Second+16700*time.Millisecond, time.Since(begun), "the last good beat was sent after 16 s")
	})
}

// A task of a DAG may have a shorter heartbeat timeout than its job type.
func TestStopAfterFollowsAShorterHeartbeatTimeout(t *testing.T) {
	t.Parallel()
	b := &beater{stopAfter: time.Minute}
	assert.Equal(t, 5*time.Second, b.stopDelay(lease{timeout: 10 * time.Second}))
	assert.Equal(t, time.Minute, b.stopDelay(lease{timeout: 2 * time.Minute}))
	assert.Equal(t, time.Minute, b.stopDelay(lease{}))
}

type hangingServer struct {
	fakeServer
	from  time.Duration
	begun time.Time
}

func (s *hangingServer) Beat(ctx context.Context, token []byte, beat contract.Heartbeat) error {
	if time.Since(s.begun) >= s.from {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.fakeServer.Beat(ctx, token, beat)
}
