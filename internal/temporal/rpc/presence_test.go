package rpc_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/temporal/rpc"
)

var errAbsent, errRefused = errors.New("no worker answers"), errors.New("the server refuses")

func presence() *rpc.Presence {
	return &rpc.Presence{Absent: func(err error) bool { return errors.Is(err, errAbsent) }}
}

// For two seconds after a missing answer no caller waits.
func TestAnAbsentControlPlaneIsNotAskedForTwoSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, sent := presence(), 0
		ask := func(answer error) error {
			return p.Request(func() error { sent++; time.Sleep(time.Minute); return answer })
		}
		require.ErrorIs(t, ask(errAbsent), errAbsent)
		time.Sleep(2*time.Second - 1) // The two seconds begin with the end of the request.
		require.ErrorIs(t, ask(nil), errAbsent)
		assert.Equal(t, 1, sent)
		time.Sleep(time.Nanosecond)
		require.NoError(t, ask(nil))
		assert.Equal(t, 2, sent)
		// Once it has answered, each request is sent, also after failures.
		require.ErrorIs(t, ask(errAbsent), errAbsent)
		require.ErrorIs(t, ask(errAbsent), errAbsent)
		assert.Equal(t, 4, sent)
	})
}

// An error of the server does not show an absence, so the next request is sent at once.
func TestARefusalShowsNoAbsence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, sent := presence(), 0
		for _, answer := range []error{errRefused, errRefused, errAbsent} {
			require.ErrorIs(t, p.Request(func() error { sent++; return answer }), answer)
		}
		assert.Equal(t, 3, sent)
		require.ErrorIs(t, p.Request(func() error { sent++; return nil }), errAbsent)
		time.Sleep(2 * time.Second)
		require.ErrorIs(t, p.Request(func() error { sent++; return errRefused }), errRefused)
		require.NoError(t, p.Request(func() error { sent++; return nil }), "the refusal ended the absence")
		assert.Equal(t, 5, sent)
	})
}

// Before the first answer a hundred callers share one request. Afterwards none waits for another.
func TestCallersShareAMissingAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, sent := presence(), 0
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				assert.ErrorIs(t, p.Request(func() error { sent++; return errAbsent }), errAbsent)
			})
		}
		all.Wait()
		assert.Equal(t, 1, sent)

		time.Sleep(2 * time.Second)
		require.NoError(t, p.Request(func() error { return nil }))
		inFlight, gate := make(chan struct{}, 100), make(chan struct{})
		for range 100 {
			all.Go(func() { assert.NoError(t, p.Request(func() error { inFlight <- struct{}{}; <-gate; return nil })) })
		}
		synctest.Wait()
		assert.Len(t, inFlight, 100)
		close(gate)
		all.Wait()
	})
}

func TestWithoutAPresenceEachRequestIsSent(t *testing.T) {
	t.Parallel()
	var none *rpc.Presence
	sent := 0
	for range 3 {
		require.ErrorIs(t, none.Request(func() error { sent++; return errAbsent }), errAbsent)
	}
	assert.Equal(t, 3, sent)
}
