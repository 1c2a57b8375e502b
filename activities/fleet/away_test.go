package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// TestOnlyASilentLocalWorkerIsGone: any other one may still run its attempt.
func TestOnlyASilentLocalWorkerIsGone(t *testing.T) {
	t.Parallel()
	away := func(s *server) bool {
		in := contract.ServerAwayInput{Incarnation: contract.Incarnation{ID: "a", Instance: "1"}, Silent: jobtype.Duration(time.Minute)}
		away, err := NewObserver(s, "default", Fixed(*fast())).ServerAway(t.Context(), in)
		require.NoError(t, err)
		return away
	}
	s := newServer()
	assert.False(t, away(s), "it is not listed any more")
	s.beat("a", time.Now().Add(-2*time.Minute), enums.WORKER_STATUS_RUNNING)
	assert.False(t, away(s), "it is silent")
	s.beat("a", time.Now().Add(-time.Second), enums.WORKER_STATUS_RUNNING)
	assert.True(t, away(s), "it beats")
	s.beat("a", time.Now().Add(-2*time.Minute), enums.WORKER_STATUS_RUNNING)
	s.beats[contract.WorkerQueue("a", "1")].SdkName = "roundsman"
	assert.True(t, away(s), "its gateway is silent, and nothing is known of it")
	s.faults = []error{serviceerror.NewUnavailable("away")}
	assert.True(t, away(s), "nothing is known")
}

// TestAYoungProcessHasNoViewOfTheServer: a process that has just started cannot exclude an outage before its start.
func TestAYoungProcessHasNoViewOfTheServer(t *testing.T) {
	t.Parallel()
	in := contract.ServerAwayInput{Incarnation: contract.Incarnation{ID: "a", Instance: "1"}, Silent: jobtype.Duration(time.Minute), Within: jobtype.Duration(time.Hour)}
	away, err := NewObserver(newServer(), "default", Fixed(*fast())).ServerAway(t.Context(), in)
	require.NoError(t, err)
	assert.True(t, away)
}
