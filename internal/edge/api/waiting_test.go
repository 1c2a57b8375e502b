package api

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/starter"
)

// TestAWaitGoesOnOverFaults: a query may fail while its workflow moves, and a success with an error is none.
func TestAWaitGoesOnOverFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fault, looks := errors.New("it moves"), 0
		require.NoError(t, lookUntil(t.Context(), func() (bool, error) {
			looks++
			return looks == 2 || looks == 4, map[bool]error{true: fault}[looks < 4]
		}))
		assert.Equal(t, 4, looks)
		ctx, cancel := context.WithTimeout(t.Context(), 10*lookEvery+1)
		defer cancel()
		looks = 0
		err := lookUntil(ctx, func() (bool, error) { looks++; return false, fault })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, fault, "the last fault is the reason")
		assert.Equal(t, 11, looks)
	})
}

// TestAWaitThatTakesTooLongAnswersAtOnce, as a request without one.
func TestAWaitThatTakesTooLongAnswersAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for wait, header := range map[time.Duration]string{0: "", time.Second: "wait=1"} {
			applied, began := "", time.Now()
			call := &Call{wait: wait, api: New(Options{}), SetHeader: func(name, value string) {
				assert.Equal(t, "Preference-Applied", name)
				applied = value
			}}
			_, ended := call.awaited(t.Context(), endless{})
			assert.False(t, ended)
			assert.Equal(t, header, applied)
			assert.Equal(t, wait, time.Since(began))
			_, ended = call.awaited(t.Context(), "no run")
			assert.False(t, ended)
			_, ended = call.awaited(t.Context(), TriggeredRun{Buffered: true})
			assert.False(t, ended, "it waits for another run")
		}
	})
}

// endless is a run that never ends.
type endless struct{ ending }

func (endless) end(ctx context.Context, _ *starter.Client) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
