package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TestAWorkerIsGoneWhenItsNextHeartbeatIsLate: until then it may run its attempt.
func TestAWorkerIsGoneWhenItsNextHeartbeatIsLate(t *testing.T) {
	t.Parallel()
	away := func(s *server) contract.ServerAwayResult {
		in := contract.ServerAwayInput{Incarnation: contract.Incarnation{ID: "a", Instance: "1"}, Silent: jobtype.Duration(time.Minute)}
		away, err := NewObserver(s, "default", Fixed(*fast())).ServerAway(t.Context(), in)
		require.NoError(t, err)
		return away
	}
	// beat is a heartbeat so long ago, of a worker with this interval.
	beat := func(s *server, ago, interval time.Duration) {
		s.beat("a", time.Now().Add(-ago), enums.WORKER_STATUS_RUNNING)
		if interval > 0 {
			for _, queue := range []string{contract.WorkerQueue("a", "1"), contract.WorkerDetectQueue("a", "1")} {
				s.beats[queue].ElapsedSinceLastHeartbeat = durationpb.New(interval)
			}
		}
	}
	in := func(from, to time.Duration, s *server) {
		t.Helper()
		known := away(s)
		assert.False(t, known.Away)
		assert.Greater(t, known.Due.Std(), from)
		assert.LessOrEqual(t, known.Due.Std(), to)
	}
	s := newServer()
	assert.Equal(t, contract.ServerAwayResult{}, away(s), "it is not listed any more")
	beat(s, 2*time.Minute, 0)
	assert.Equal(t, contract.ServerAwayResult{}, away(s), "it is silent")
	beat(s, 20*time.Second, 5*time.Second)
	assert.Equal(t, contract.ServerAwayResult{}, away(s), "its next heartbeat is late")
	beat(s, 20*time.Second, 30*time.Second)
	in(5*time.Second, 10*time.Second+late, s)
	beat(s, 20*time.Second, 2*time.Hour) // It was suspended.
	in(30*time.Second, 40*time.Second+late, s)
	beat(s, 20*time.Second, 0) // Its first heartbeat.
	in(30*time.Second, 40*time.Second+late, s)
	beat(s, 2*time.Minute, 0)
	s.beats[contract.WorkerQueue("a", "1")].SdkName = "roundsman"
	assert.True(t, away(s).Away, "its gateway is silent, and nothing is known of it")
	s.faults = []error{serviceerror.NewUnavailable("away")}
	assert.True(t, away(s).Away, "nothing is known")
}

// TestAYoungProcessHasNoViewOfTheServer: a process that has just started cannot exclude an outage before its start.
func TestAYoungProcessHasNoViewOfTheServer(t *testing.T) {
	t.Parallel()
	in := contract.ServerAwayInput{Incarnation: contract.Incarnation{ID: "a", Instance: "1"}, Silent: jobtype.Duration(time.Minute), Within: jobtype.Duration(time.Hour)}
	away, err := NewObserver(newServer(), "default", Fixed(*fast())).ServerAway(t.Context(), in)
	require.NoError(t, err)
	assert.True(t, away.Away)
}
