package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/roundsman/roundsman/contract"
)

// Workers that beat without being registered are asked to look at the registry.
func TestObserveRecallsStrangers(t *testing.T) {
	t.Parallel()
	s := newServer()
	now := time.Now()
	s.beat("a", now, enums.WORKER_STATUS_RUNNING)
	_, err := observe(t, s, contract.ObserveWorkersInput{
		Config: fast(), SightUntil: now, SightSince: now, Strangers: []contract.Incarnation{{ID: "a", Instance: "1"}, {ID: "b", Instance: "2"}},
		Known: []contract.WorkerPulse{{Incarnation: contract.Incarnation{ID: "a", Instance: "1"}, LastChange: now, Fresh: true, Seen: true}},
	})
	require.NoError(t, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	assert.ElementsMatch(t, []string{"refresh " + contract.WorkerWorkflowID("a"), "refresh " + contract.WorkerWorkflowID("b")}, s.asked)
}

// An observation that is canceled starts the registry: it may be gone.
func TestObserveStartsARegistryThatIsGone(t *testing.T) {
	t.Parallel()
	var suite sdktest.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	started := make(chan error, 1)
	Register(env, NewObserver(newServer(), "default", *fast(), func(ctx context.Context) error {
		started <- ctx.Err()
		return nil
	}))
	_, err := env.ExecuteActivity(contract.ObserveWorkersActivity, contract.ObserveWorkersInput{Config: fast()})
	require.Error(t, err)
	select {
	case err := <-started:
		require.NoError(t, err, "although the observation is canceled")
	default:
		t.Fatal("it was not started")
	}
}
