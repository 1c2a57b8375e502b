package fleete2e

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/replay"
)

// site is a server with a control plane.
type site struct {
	t       *testing.T
	server  *testsuite.Server
	client  client.Client
	control *child
	// thresholds are "scaled" to seconds, or the "default" ones.
	thresholds string
}

func newSite(t *testing.T, options ...testsuite.Option) *site {
	t.Helper()
	s := &site{t: t, server: replay.StartServer(t, options...), thresholds: "scaled"}
	s.client = s.server.Client(t)
	s.startControl()
	return s
}

func (s *site) startControl() { s.control = spawn(s.t, "control", s.thresholds, s.server.Address()) }

func (s *site) node(id, instance string) *child {
	s.t.Helper()
	return spawn(s.t, "node", id, instance, s.server.Address())
}

// worker queries the registry. ok is false while it cannot answer.
func (s *site) worker(id string) (w contract.WorkerDetail, ok bool) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 10*time.Second)
	defer cancel()
	// A terminated registry must not answer from its history.
	response, err := s.client.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: contract.FleetWorkflowID, QueryType: contract.QueryWorkers, Args: []any{contract.WorkersQueryInput{ID: id, Deleted: true}},
		QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_OPEN,
	})
	var result contract.WorkersQueryResult
	if err != nil || response.QueryRejected != nil || response.QueryResult.Get(&result) != nil || len(result.Workers) != 1 {
		return w, false
	}
	return result.Workers[0], true
}

func (s *site) await(limit time.Duration, what, id string, is func(contract.WorkerDetail) bool) contract.WorkerDetail {
	s.t.Helper()
	var last contract.WorkerDetail
	testsuite.WaitFor(s.t, limit, what, func() bool {
		w, ok := s.worker(id)
		last = w
		return ok && is(w)
	})
	return last
}

// awaitState waits until a worker has been in a state; the next state may follow soon.
func (s *site) awaitState(limit time.Duration, id string, state contract.WorkerState) contract.WorkerDetail {
	s.t.Helper()
	return s.await(limit, id+" "+string(state), id, func(w contract.WorkerDetail) bool {
		return slices.ContainsFunc(w.Transitions, func(one contract.WorkerTransition) bool { return one.To == state })
	})
}

func observed(w contract.WorkerDetail) bool {
	// Before it is observed, its last beat is its registration.
	return w.Fresh && !w.LastBeat.Equal(w.RegisteredAt)
}

// assertKept: a worker that lives was never given up. A busy machine may make it UNREACHABLE for a moment.
func assertKept(t *testing.T, w contract.WorkerDetail) {
	t.Helper()
	assert.False(t, slices.ContainsFunc(w.Transitions, func(one contract.WorkerTransition) bool {
		return one.To == contract.WorkerOffline || one.To == contract.WorkerDeleted
	}), "%+v", w.Transitions)
}

// transitionTo returns the last transition to state.
func transitionTo(t *testing.T, w contract.WorkerDetail, state contract.WorkerState) contract.WorkerTransition {
	t.Helper()
	for _, transition := range slices.Backward(w.Transitions) {
		if transition.To == state {
			return transition
		}
	}
	t.Fatalf("no transition to %s: %+v", state, w.Transitions)
	return contract.WorkerTransition{}
}

func (s *site) events() int64 {
	s.t.Helper()
	described, err := s.client.DescribeWorkflowExecution(s.t.Context(), contract.FleetWorkflowID, "")
	require.NoError(s.t, err)
	return described.GetWorkflowExecutionInfo().GetHistoryLength()
}

func TestKilledWorkerGoesThroughTheCascade(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	killed := s.node("a", "1")
	s.node("b", "1")
	s.await(15*time.Second, "a observed", "a", observed)
	s.await(15*time.Second, "b observed", "b", observed)
	killed.kill()
	died := time.Now()

	s.await(8*time.Second, "a is stale", "a", func(w contract.WorkerDetail) bool { return !w.Fresh })
	t.Logf("freshness lost %.1f s after kill -9 (interval 1 s, freshness 3 s)", time.Since(died).Seconds())
	s.awaitState(20*time.Second, "a", contract.WorkerUnreachable)
	s.awaitState(30*time.Second, "a", contract.WorkerOffline)
	w := s.awaitState(40*time.Second, "a", contract.WorkerDeleted)
	for state, after := range map[contract.WorkerState]time.Duration{contract.WorkerUnreachable: 6 * time.Second, contract.WorkerOffline: 20 * time.Second} {
		silent := transitionTo(t, w, state)
		t.Logf("%s %.1f s after kill -9, threshold %s after the last beat", state, silent.At.Sub(died).Seconds(), after)
		assert.False(t, silent.Since.After(died), "%s counts from the last beat", state)
		assert.False(t, silent.At.Before(silent.Since.Add(after)), "%s comes too early", state)
	}
	offline, deleted := transitionTo(t, w, contract.WorkerOffline), transitionTo(t, w, contract.WorkerDeleted)
	assert.True(t, transitionTo(t, w, contract.WorkerUnreachable).At.Before(offline.At) && offline.At.Before(deleted.At), "%+v", w.Transitions)
	b := s.await(time.Minute, "b ONLINE", "b", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOnline })
	assertKept(t, b)
	assert.Less(t, b.Skew.Std().Abs(), 2*time.Second)
}

// The server is killed and restarted in the middle of the cascade: the dead worker goes OFFLINE on time, and
// the living one stays ONLINE.
func TestServerKilledInTheMiddleOfTheCascade(t *testing.T) {
	t.Parallel()
	s := newSite(t, testsuite.WithFile(testsuite.TempFile(t)))
	killed := s.node("a", "1")
	s.node("b", "1")
	s.await(15*time.Second, "a observed", "a", observed)
	s.await(15*time.Second, "b observed", "b", observed)
	killed.kill()
	died := time.Now()
	s.awaitState(20*time.Second, "a", contract.WorkerUnreachable)
	s.server.Kill()
	s.server.Restart(t)
	w := s.awaitState(60*time.Second, "a", contract.WorkerOffline)
	offline := transitionTo(t, w, contract.WorkerOffline)
	t.Logf("OFFLINE %.1f s after kill -9", offline.At.Sub(died).Seconds())
	assert.False(t, offline.At.Before(offline.Since.Add(20*time.Second)), "%+v", offline)
	assert.False(t, offline.Since.After(died), "the time is not counted again from the server's return")
	b := s.await(20*time.Second, "b is fresh again", "b", func(w contract.WorkerDetail) bool { return w.Fresh })
	assert.Equal(t, contract.WorkerOnline, b.State)
	assertKept(t, b)
}

// The same for the control plane: with kill -9 and a new process.
func TestControlPlaneKilledInTheMiddleOfTheCascade(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	killed := s.node("a", "1")
	s.node("b", "1")
	s.await(15*time.Second, "a observed", "a", observed)
	s.await(15*time.Second, "b observed", "b", observed)
	killed.kill()
	died := time.Now()
	s.await(8*time.Second, "a is stale", "a", func(w contract.WorkerDetail) bool { return !w.Fresh })
	s.control.kill()
	s.startControl()
	w := s.awaitState(60*time.Second, "a", contract.WorkerOffline)
	offline := transitionTo(t, w, contract.WorkerOffline)
	t.Logf("OFFLINE %.1f s after kill -9 of the worker", offline.At.Sub(died).Seconds())
	assert.False(t, offline.At.Before(offline.Since.Add(20*time.Second)), "%+v", offline)
	assert.False(t, offline.Since.After(died), "the time is not counted again from the next control plane")
	b, ok := s.worker("b")
	require.True(t, ok)
	assertKept(t, b)
}

func TestStoppedProcessComesBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	stopped := s.node("a", "1")
	before := s.await(15*time.Second, "a observed", "a", observed)
	stopped.signal(syscall.SIGSTOP)
	s.awaitState(20*time.Second, "a", contract.WorkerUnreachable)
	stopped.signal(syscall.SIGCONT)
	resumed := time.Now()
	w := s.await(10*time.Second, "a is back", "a", func(w contract.WorkerDetail) bool { return w.State == contract.WorkerOnline && w.Fresh })
	t.Logf("ONLINE %.1f s after SIGCONT", time.Since(resumed).Seconds())
	assert.Equal(t, before.RegisteredAt, w.RegisteredAt, "it did not have to register")
}

func TestDuplicateIDOnTheRealServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.node("a", "1")
	s.await(15*time.Second, "a observed", "a", observed)
	second := registration("a", "2")
	verdict, err := register(t.Context(), s.client, second)
	require.NoError(t, err)
	require.NotNil(t, verdict.Refused, "the first one lives")
	assert.Equal(t, first.cmd.Process.Pid, verdict.Refused.PID)
	assert.Equal(t, "test", verdict.Refused.Host)
	assert.Positive(t, verdict.Refused.Age)

	first.kill()
	died := time.Now()
	second.Unanswered = "1"
	testsuite.WaitFor(t, 10*time.Second, "the crashed one's id is free", func() bool {
		verdict, err := register(t.Context(), s.client, second)
		return err == nil && verdict.Accepted
	})
	t.Logf("the id was free %.1f s after kill -9", time.Since(died).Seconds())

	third := registration("a", "3")
	third.TakeOver = true
	verdict, err = register(t.Context(), s.client, third)
	require.NoError(t, err)
	assert.True(t, verdict.Accepted, "taken over at once")
}

// A terminated registry starts again by itself, with the living workers and the thresholds of the control
// plane.
func TestTerminatedRegistryRebuildsItself(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.node("a", "1")
	s.node("b", "1")
	s.await(15*time.Second, "a observed", "a", observed)
	began := time.Now() // Set before it, because a worker may query again before this answer.
	require.NoError(t, s.client.TerminateWorkflow(t.Context(), contract.FleetWorkflowID, "", "test"))
	for _, id := range []string{"a", "b"} {
		s.await(20*time.Second, id+" is registered again", id, func(w contract.WorkerDetail) bool {
			return w.Fresh && w.RegisteredAt.After(began)
		})
	}
	t.Logf("rebuilt %.1f s after it was terminated (workers ask every second here, every minute in earnest)", time.Since(began).Seconds())
	killed := s.node("c", "1")
	s.await(15*time.Second, "c observed", "c", observed)
	killed.kill()
	s.awaitState(20*time.Second, "c", contract.WorkerUnreachable)
}

func TestGoodbye(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	leaving := s.node("a", "1")
	s.await(15*time.Second, "a observed", "a", observed)
	require.NoError(t, s.client.SignalWorkflow(t.Context(), contract.FleetWorkflowID, "", contract.SignalUnregisterWorker,
		contract.UnregisterWorkerInput{ID: "a", Instance: "1"}))
	w := s.awaitState(5*time.Second, "a", contract.WorkerOffline)
	assert.True(t, w.Leaving, "its process still beats")
	leaving.kill()
	s.await(10*time.Second, "a has left", "a", func(w contract.WorkerDetail) bool { return !w.Leaving })

	// Now no process creates the registry again, and its history must not answer.
	s.control.kill()
	operator, err := starter.Dial(t.Context(), starter.Options{Address: s.server.Address()})
	require.NoError(t, err)
	defer operator.Close()
	require.NoError(t, s.client.TerminateWorkflow(t.Context(), contract.FleetWorkflowID, "", "test"))
	var gone *starter.RegistryGoneError
	_, err = operator.Workers().List(t.Context(), contract.WorkersQueryInput{})
	require.ErrorAs(t, err, &gone)
	_, err = operator.Workers().Operate(t.Context(), "a", starter.ActionCordon, "ann", "")
	require.ErrorAs(t, err, &gone)
	assert.True(t, starter.Unanswered(err))
}

// An idle, healthy fleet writes no history, also across restarts of the control plane.
func TestIdleFleetWritesNoHistory(t *testing.T) {
	t.Parallel()
	// A heartbeat that a busy machine delays by seconds is no event by these thresholds.
	s := &site{t: t, server: replay.StartServer(t), thresholds: "default"}
	s.client = s.server.Client(t)
	s.startControl()
	for _, id := range []string{"a", "b", "c"} {
		s.node(id, "1")
		s.await(15*time.Second, id+" observed", id, observed)
	}
	testsuite.WaitFor(t, time.Minute, "the history is quiet", func() bool { return !s.grows(8 * time.Second) })
	before, began := s.events(), time.Now()
	s.control.kill()
	s.startControl()
	restarted := s.events()
	testsuite.WaitFor(t, 2*time.Minute, "idle time", func() bool { return time.Since(began) > 40*time.Second })
	after := s.events()
	hours := time.Since(began).Hours()
	t.Logf("idle for %.0f s: %d events by the restart of the control plane, %d others: %.0f per hour",
		time.Since(began).Seconds(), restarted-before, after-restarted, float64(after-restarted)/hours)
	assert.LessOrEqual(t, after-restarted, int64(0), "nothing happened, nothing is written")
	for _, id := range []string{"a", "b", "c"} {
		w, ok := s.worker(id)
		require.True(t, ok)
		assert.True(t, w.Fresh, id)
	}
}

// grows reports whether the history gets longer within d.
func (s *site) grows(d time.Duration) bool {
	before := s.events()
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
	return s.events() > before
}

// A watcher receives the news of a joined worker within seconds.
func TestWatchersAreToldWithinSeconds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	run, err := s.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "watcher", TaskQueue: "nobody"}, "watcher")
	require.NoError(t, err)
	require.NoError(t, s.client.SignalWorkflow(t.Context(), contract.FleetWorkflowID, "", contract.SignalWatchFleet,
		contract.WatchFleetInput{WorkflowID: "watcher", Handler: "noop"}))
	began := time.Now()
	s.node("a", "1")
	views := 0
	testsuite.WaitFor(t, 10*time.Second, "a view with the new worker", func() bool {
		views = 0
		found := false
		history := s.client.GetWorkflowHistory(t.Context(), "watcher", run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for history.HasNext() {
			event, err := history.Next()
			require.NoError(t, err)
			signal := event.GetWorkflowExecutionSignaledEventAttributes()
			if signal.GetSignalName() != contract.SignalFleetChanged {
				continue
			}
			views++
			var view contract.FleetView
			require.NoError(t, testConverter().FromPayloads(signal.GetInput(), &view))
			found = found || len(view.Workers) == 1
		}
		return found
	})
	t.Logf("told %.1f s after the process was started, in %d views", time.Since(began).Seconds(), views)
}
