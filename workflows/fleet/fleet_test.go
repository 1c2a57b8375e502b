package fleet_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/envtest"
	"github.com/roundsman/roundsman/workflows"
)

// fleetBench is the registry in the time-skipping environment with a scripted observer.
type fleetBench struct {
	*sdktest.TestWorkflowEnvironment
	audit   *auditSink
	t       *testing.T
	mu      sync.Mutex
	inputs  []contract.ObserveWorkersInput
	start   time.Time
	updates int
	sent    map[string][]contract.FleetView
	gone    map[string]bool
}

type look struct {
	after time.Duration
	// sight is the length of the gapless span before the look; 0 means an hour.
	sight   time.Duration
	changes []contract.WorkerPulse
}

func newFleetBench(t *testing.T) *fleetBench {
	t.Helper()
	b := &fleetBench{TestWorkflowEnvironment: envtest.New(), t: t, sent: map[string][]contract.FleetView{}, gone: map[string]bool{}}
	b.start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b.SetStartTime(b.start)
	workflows.Register(b.TestWorkflowEnvironment)
	b.audit = takeAudit(b.TestWorkflowEnvironment)
	b.RegisterActivityWithOptions(
		func(context.Context, contract.ObserveWorkersInput) (contract.ObserveWorkersResult, error) {
			return contract.ObserveWorkersResult{}, errors.New("not scripted")
		},
		activity.RegisterOptions{Name: contract.ObserveWorkersActivity})
	b.OnSignalExternalWorkflow(mock.Anything, mock.Anything, "", contract.SignalFleetChanged, mock.Anything).Return(
		func(_, id, _, _ string, arg any) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.gone[id] {
				return errors.New("workflow execution already completed")
			}
			view, ok := arg.(contract.FleetView)
			if !ok {
				return fmt.Errorf("a view was expected, not %T", arg)
			}
			b.sent[id] = append(b.sent[id], view)
			return nil
		})
	return b
}

func (b *fleetBench) note(in contract.ObserveWorkersInput) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inputs = append(b.inputs, in)
}

// observed returns the observer's inputs at each start.
func (b *fleetBench) observed() []contract.ObserveWorkersInput {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.inputs)
}

func (b *fleetBench) views(id string) []contract.FleetView {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sent[id])
}

func (b *fleetBench) observe(looks ...look) {
	previous := time.Duration(0)
	for _, l := range looks {
		b.OnActivity(contract.ObserveWorkersActivity, mock.Anything, mock.Anything).
			Return(func(_ context.Context, in contract.ObserveWorkersInput) (contract.ObserveWorkersResult, error) {
				b.note(in)
				return contract.ObserveWorkersResult{
					Changes: l.changes, SightSince: b.start.Add(l.after - cmp.Or(l.sight, l.after+time.Hour)), SightUntil: b.start.Add(l.after),
				}, nil
			}).After(l.after - previous).Once()
		previous = l.after
	}
	b.OnActivity(contract.ObserveWorkersActivity, mock.Anything, mock.Anything).
		Return(func(context.Context, contract.ObserveWorkersInput) (contract.ObserveWorkersResult, error) {
			return contract.ObserveWorkersResult{}, nil
		}).After(1000 * time.Hour)
}

func (b *fleetBench) pulse(id string, last time.Duration, fresh bool) contract.WorkerPulse {
	return contract.WorkerPulse{Incarnation: contract.Incarnation{ID: id, Instance: "i-" + id}, LastChange: b.start.Add(last), Fresh: fresh, Seen: true}
}

func (b *fleetBench) at(d time.Duration, f func()) { b.RegisterDelayedCallback(f, d) }

func registration(id string) contract.WorkerRegistration {
	return contract.WorkerRegistration{
		ID: id, Instance: "i-" + id, Host: "host-" + id, PID: 42, Version: "1.0", MaxDetect: 1, MaxExecute: 4,
		Labels: map[string]string{"zone": "a"},
		Capabilities: []contract.Capability{
			{Handler: "scrub", Detect: true, Execute: true, Descriptor: &jobtype.Descriptor{Name: "scrub", Help: "Find bit rot."}},
			{Handler: "command", Detect: true, Execute: true, Descriptor: &jobtype.Descriptor{Name: "command"}},
		},
	}
}

func (b *fleetBench) update(name string, arg any, done func(result any, err error)) {
	b.updates++
	b.UpdateWorkflow(name, fmt.Sprintf("%s/%d", name, b.updates), &sdktest.TestUpdateCallback{
		OnAccept: func() {}, OnReject: func(err error) { done(nil, err) }, OnComplete: done,
	}, arg)
}

func (b *fleetBench) register(r contract.WorkerRegistration) {
	b.update(contract.UpdateRegisterWorker, r, func(result any, err error) {
		require.NoError(b.t, err)
		verdict, ok := result.(contract.RegisterWorkerResult)
		require.True(b.t, ok)
		require.True(b.t, verdict.Accepted, "%+v", verdict)
	})
}

func (b *fleetBench) worker(id string) contract.WorkerDetail {
	b.t.Helper()
	value, err := b.QueryWorkflow(contract.QueryWorkers, contract.WorkersQueryInput{ID: id, Deleted: true})
	require.NoError(b.t, err)
	var result contract.WorkersQueryResult
	require.NoError(b.t, value.Get(&result))
	require.Len(b.t, result.Workers, 1)
	return result.Workers[0]
}

// run starts the registry and ends it at d with continue-as-new.
func (b *fleetBench) run(d time.Duration) contract.FleetInput {
	b.t.Helper()
	return b.play(d, contract.FleetInput{Config: &contract.FleetConfig{}})
}

// play is run with another input. It returns the next run's input.
func (b *fleetBench) play(d time.Duration, in contract.FleetInput) (next contract.FleetInput) {
	b.t.Helper()
	b.at(d, func() {
		b.SetCurrentHistoryLength(1 << 20)
		b.SignalWorkflow(contract.SignalUnwatchFleet, contract.WatchFleetInput{})
	})
	b.ExecuteWorkflow(contract.FleetWorkflow, in)
	require.True(b.t, b.IsWorkflowCompleted())
	var continued *workflow.ContinueAsNewError
	require.ErrorAs(b.t, b.GetWorkflowError(), &continued)
	require.NoError(b.t, converter.GetDefaultDataConverter().FromPayloads(continued.Input, &next))
	return next
}

func TestFleetCascade(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe(
		look{after: 2 * time.Second, changes: []contract.WorkerPulse{b.pulse("a", time.Second, true)}},
		look{after: 17 * time.Second, changes: []contract.WorkerPulse{b.pulse("a", time.Second, false)}},
		look{after: 121 * time.Second},
		look{after: 361 * time.Second},
		look{after: 24*time.Hour + time.Second},
	)
	b.at(0, func() { b.register(registration("a")) })
	expect := func(after time.Duration, state contract.WorkerState, fresh bool) {
		b.at(after, func() {
			w := b.worker("a")
			assert.Equal(t, state, w.State, "at %s", after)
			assert.Equal(t, fresh, w.Fresh, "at %s", after)
		})
	}
	expect(10*time.Second, contract.WorkerOnline, true)
	expect(20*time.Second, contract.WorkerOnline, false)
	expect(122*time.Second, contract.WorkerUnreachable, false)
	expect(362*time.Second, contract.WorkerOffline, false)
	expect(24*time.Hour+2*time.Second, contract.WorkerDeleted, false)
	b.run(25 * time.Hour)
	inputs := b.observed()
	require.GreaterOrEqual(t, len(inputs), 5)
	assert.Equal(t, b.start.Add(121*time.Second), inputs[2].WakeAt, "the observer is told the next threshold")
	assert.Equal(t, b.start.Add(361*time.Second), inputs[3].WakeAt)
	assert.Equal(t, b.start.Add(24*time.Hour+time.Second), inputs[4].WakeAt)
}

func TestFleetDuplicateAndTakeOver(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe()
	second := registration("a")
	second.Instance, second.Host = "other", "elsewhere"
	b.at(0, func() { b.register(registration("a")) })
	b.at(time.Minute, func() {
		b.update(contract.UpdateRegisterWorker, second, func(result any, err error) {
			require.NoError(t, err)
			assert.Equal(t, contract.RegisterWorkerResult{Refused: &contract.RegisteredOther{
				Host: "host-a", PID: 42, Instance: "i-a", Age: jobtype.Duration(time.Minute), SinceBeat: jobtype.Duration(15 * time.Second),
			}}, result)
		})
	})
	b.at(2*time.Minute, func() {
		takeOver := second
		takeOver.TakeOver = true
		b.register(takeOver)
	})
	b.at(3*time.Minute, func() {
		known := func(instance string) (is bool) {
			value, err := b.QueryWorkflow(contract.QueryKnown, contract.KnownInput{ID: "a", Instance: instance})
			require.NoError(t, err)
			require.NoError(t, value.Get(&is))
			return is
		}
		assert.False(t, known("i-a"), "fenced")
		assert.True(t, known("other"))
		value, err := b.QueryWorkflow(contract.QueryFleet)
		require.NoError(t, err)
		var view contract.FleetView
		require.NoError(t, value.Get(&view))
		require.Len(t, view.Workers, 1)
		assert.Equal(t, []string{"i-a"}, view.Workers[0].Fenced)
	})
	b.run(4 * time.Minute)
}

func TestFleetRefusesMalformedRegistrations(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe()
	bad := registration("a")
	bad.ID, bad.Instance, bad.MaxExecute = "No Good", "a/b", -1
	bad.Capabilities = []contract.Capability{{Handler: "Ünknown"}}
	var refusal error
	b.at(0, func() {
		b.update(contract.UpdateRegisterWorker, bad, func(_ any, err error) { refusal = err })
	})
	b.run(time.Minute)
	for _, want := range []string{"worker id", "instance", "max_execute", "handler"} {
		assert.ErrorContains(t, refusal, want, "all faults at once")
	}
}

func TestFleetOperator(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe()
	operate := func(id, action string, check func(contract.WorkerDetail, error)) {
		in := contract.OperateWorkerInput{ID: id, Action: action, By: "ann", Reason: "disks"}
		b.update(contract.UpdateOperateWorker, in, func(result any, err error) {
			detail, _ := result.(contract.WorkerDetail)
			check(detail, err)
		})
	}
	answers := 0
	shows := func(state contract.WorkerState) func(contract.WorkerDetail, error) {
		return func(d contract.WorkerDetail, err error) {
			answers++
			require.NoError(t, err)
			assert.Equal(t, state, d.State)
		}
	}
	refuses := func(text string) func(contract.WorkerDetail, error) {
		return func(_ contract.WorkerDetail, err error) {
			answers++
			assert.ErrorContains(t, err, text)
		}
	}
	b.at(0, func() { b.register(registration("a")) })
	b.at(1*time.Second, func() { operate("a", "drain", shows(contract.WorkerDraining)) })
	b.at(2*time.Second, func() { operate("a", "cordon", shows(contract.WorkerCordoned)) })
	b.at(2500*time.Millisecond, func() {
		value, err := b.QueryWorkflow(contract.QueryWorkers, contract.WorkersQueryInput{})
		require.NoError(t, err)
		var list contract.WorkersQueryResult
		require.NoError(t, value.Get(&list))
		assert.Empty(t, list.Workers[0].Transitions)
		assert.Equal(t, contract.WorkerCordoned, list.Workers[0].Kept.To, "a list tells who keeps a worker from work, and since when")
		assert.Equal(t, "ann", list.Workers[0].Kept.By)
		assert.Equal(t, list.Workers[0].Kept, list.Workers[0].Cause)
	})
	b.at(3*time.Second, func() { operate("a", "uncordon", shows(contract.WorkerOnline)) })
	b.at(4*time.Second, func() { operate("a", "remove", refuses("stop its process")) })
	b.at(5*time.Second, func() { operate("b", "drain", refuses("not registered")) })
	b.at(6*time.Second, func() { operate("a", "explode", refuses("unknown")) })
	b.at(7*time.Second, func() {
		b.SignalWorkflow(contract.SignalUnregisterWorker, contract.UnregisterWorkerInput{ID: "a", Instance: "i-a"})
	})
	b.at(8*time.Second, func() {
		assert.Equal(t, contract.WorkerOffline, b.worker("a").State, "at once")
		assert.True(t, b.worker("a").Leaving)
		b.update(contract.UpdateCleanupWorkers, contract.CleanupWorkersInput{AllOffline: true, By: "ann"}, func(result any, err error) {
			answers++
			require.NoError(t, err)
			assert.Equal(t, contract.CleanupWorkersResult{Removed: []string{"a"}}, result)
		})
	})
	b.at(9*time.Second, func() {
		w := b.worker("a")
		assert.Equal(t, contract.WorkerDeleted, w.State)
		assert.Equal(t, "ann", w.Transitions[len(w.Transitions)-1].By)
	})
	b.run(time.Minute)
	assert.Equal(t, 7, answers)
}

func TestFleetTellsWatchers(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe(look{after: 16 * time.Second, changes: []contract.WorkerPulse{b.pulse("w00", 0, false), b.pulse("w01", 0, false)}})
	watch := func(id, handler string) {
		b.SignalWorkflow(contract.SignalWatchFleet, contract.WatchFleetInput{WorkflowID: id, Handler: handler})
	}
	b.gone["group/ended"] = true
	b.at(time.Second, func() { watch("group/scrub", "scrub"); watch("group/other", "iceberg"); watch("group/ended", "scrub") })
	for i := range 30 {
		b.at(2*time.Second+time.Duration(i)*100*time.Millisecond, func() { b.register(registration(fmt.Sprintf("w%02d", i))) })
	}
	b.at(30*time.Second, func() {
		b.SignalWorkflow(contract.SignalUnwatchFleet, contract.WatchFleetInput{WorkflowID: "group/scrub"})
	})
	b.at(31*time.Second, func() { b.register(registration("late")) })
	b.run(time.Minute)

	views := b.views("group/scrub")
	require.NotEmpty(t, views)
	assert.LessOrEqual(t, len(views), 10, "30 registrations within 3 s are coalesced to two views a second")
	for i := 1; i < len(views); i++ {
		assert.Greater(t, views[i].Seq, views[i-1].Seq)
	}
	last := views[len(views)-1]
	require.Len(t, last.Workers, 30, "the newest view has all; nothing after unwatch")
	assert.False(t, last.Workers[0].Fresh)
	assert.True(t, last.Workers[2].Fresh)
	for _, w := range last.Workers {
		require.Len(t, w.Capabilities, 1, "only what the watcher uses")
		assert.Nil(t, w.Capabilities[0].Descriptor)
	}
	other := b.views("group/other")
	require.Len(t, other, 2, "no worker serves its handler: once before all have registered, and once after")
	assert.True(t, other[0].Incomplete)
	assert.False(t, other[1].Incomplete)
	assert.Empty(t, b.views("group/ended"))
}

func TestFleetAsksTheObserverForItsThresholds(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.OnActivity(contract.ObserveWorkersActivity, mock.Anything, mock.Anything).Return(
		func(_ context.Context, in contract.ObserveWorkersInput) (contract.ObserveWorkersResult, error) {
			b.note(in)
			return contract.ObserveWorkersResult{Config: &contract.FleetConfig{UnreachableAfter: jobtype.Duration(time.Minute)}}, nil
		}).Once()
	b.OnActivity(contract.ObserveWorkersActivity, mock.Anything, mock.Anything).Return(
		func(_ context.Context, in contract.ObserveWorkersInput) (contract.ObserveWorkersResult, error) {
			b.note(in)
			return contract.ObserveWorkersResult{}, nil
		}).After(20 * time.Second)
	b.at(time.Minute, func() {
		b.update(contract.UpdateConfigureFleet, contract.FleetConfig{UnreachableAfter: 1}, func(_ any, err error) {
			assert.ErrorContains(t, err, "unreachable threshold")
		})
		b.update(contract.UpdateConfigureFleet, contract.FleetConfig{}, func(before any, err error) {
			require.NoError(t, err)
			assert.Equal(t, contract.FleetConfig{UnreachableAfter: jobtype.Duration(time.Minute)}.WithDefaults(), before)
		})
	})
	b.play(2*time.Minute, contract.FleetInput{})
	inputs := b.observed()
	require.GreaterOrEqual(t, len(inputs), 2)
	assert.Nil(t, inputs[0].Config)
	assert.Equal(t, jobtype.Duration(time.Minute), inputs[1].Config.UnreachableAfter)
}

func TestFleetSaysWhyNobodyObserves(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	tries := 0
	b.OnActivity(contract.ObserveWorkersActivity, mock.Anything, mock.Anything).Return(
		func(context.Context, contract.ObserveWorkersInput) (contract.ObserveWorkersResult, error) {
			tries++
			return contract.ObserveWorkersResult{}, temporal.NewNonRetryableApplicationError("set frontend.WorkerHeartbeatsEnabled", contract.HeartbeatsUnsupportedError, nil)
		})
	b.at(time.Minute, func() {
		value, err := b.QueryWorkflow(contract.QueryWorkers, contract.WorkersQueryInput{})
		require.NoError(t, err)
		var result contract.WorkersQueryResult
		require.NoError(t, value.Get(&result))
		assert.Contains(t, result.Observer, "frontend.WorkerHeartbeatsEnabled")
	})
	b.run(21 * time.Minute)
	assert.Equal(t, 5, tries, "every five minutes")
}

// The next run has the states, modes, descriptors, watchers and thresholds of the last one.
func TestFleetContinuesAsNew(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe(look{after: 17 * time.Second, changes: []contract.WorkerPulse{b.pulse("a", time.Second, false)}}, look{after: 121 * time.Second})
	b.at(0, func() { b.register(registration("a")); b.register(registration("b")) })
	b.at(time.Second, func() {
		b.SignalWorkflow(contract.SignalWatchFleet, contract.WatchFleetInput{WorkflowID: "group/scrub", Handler: "scrub"})
		b.update(contract.UpdateOperateWorker, contract.OperateWorkerInput{ID: "b", Action: "cordon"}, func(_ any, err error) { require.NoError(t, err) })
	})
	b.at(3*time.Minute, func() { b.register(registration("c")) })
	in := b.play(3*time.Minute, contract.FleetInput{Config: &contract.FleetConfig{UnreachableAfter: jobtype.Duration(2 * time.Minute)}})
	seenBefore := b.views("group/scrub")
	require.NotEmpty(t, seenBefore)

	after := newFleetBench(t)
	after.start = b.start.Add(3 * time.Minute)
	after.SetStartTime(after.start)
	after.observe(look{after: 181 * time.Second})
	after.at(time.Second, func() {
		assert.Equal(t, contract.WorkerUnreachable, after.worker("a").State)
		assert.Equal(t, contract.WorkerCordoned, after.worker("b").State)
		assert.Equal(t, "Find bit rot.", after.worker("b").Registration.Capabilities[0].Descriptor.Help)
		value, err := after.QueryWorkflow(contract.QueryHandlers)
		require.NoError(t, err)
		var handlers contract.HandlersQueryResult
		require.NoError(t, value.Get(&handlers))
		require.Len(t, handlers.Handlers, 2, "equal descriptors are one")
		assert.Equal(t, 3, handlers.Handlers[1].Workers)
	})
	after.at(4*time.Minute, func() { assert.Equal(t, contract.WorkerOffline, after.worker("a").State, "the same timeline") })
	after.play(5*time.Minute, in)
	views := after.views("group/scrub")
	require.NotEmpty(t, views, "the watcher is still told")
	assert.Greater(t, views[0].Seq, seenBefore[len(seenBefore)-1].Seq)
	has := func(view contract.FleetView) bool {
		return slices.ContainsFunc(view.Workers, func(w contract.WorkerView) bool { return w.ID == "c" })
	}
	assert.False(t, slices.ContainsFunc(seenBefore, has), "what is sent by a run that ends with it may never arrive")
	assert.True(t, has(views[0]), "the next run says it")
}

// A registration whose worker never beats is followed by a new observation that includes it.
func TestFleetObservesAnewForWhoWasNeverSeen(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.OnActivity(contract.ObserveWorkersActivity, mock.Anything, mock.Anything).Return(
		func(_ context.Context, in contract.ObserveWorkersInput) (contract.ObserveWorkersResult, error) {
			b.note(in)
			return contract.ObserveWorkersResult{}, nil
		}).After(1000 * time.Hour)
	b.at(time.Minute, func() { b.register(registration("a")) })
	observing := 0
	b.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == contract.ObserveWorkersActivity {
			observing++
		}
	})
	b.at(74*time.Second, func() { assert.Equal(t, 1, observing) })
	b.at(76*time.Second, func() { assert.Equal(t, 2, observing) })
	b.run(2 * time.Minute)
}

// A restart in one workflow task: the registration of the new process arrives before the loop
// has applied the old one's deregistration.
func TestFleetTakesEarlierSignalsIntoAccount(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe()
	next := registration("a")
	next.Instance = "i-2"
	b.at(0, func() { b.register(registration("a")) })
	b.at(time.Minute, func() {
		b.SignalWorkflow(contract.SignalUnregisterWorker, contract.UnregisterWorkerInput{ID: "a", Instance: "i-a"})
		b.register(next)
	})
	b.at(2*time.Minute, func() {
		assert.Equal(t, contract.WorkerOnline, b.worker("a").State)
		assert.Equal(t, "i-2", b.worker("a").Registration.Instance)
	})
	b.run(3 * time.Minute)
}

// A cancellation is recorded and has no other effect. The next run has all state.
func TestFleetSurvivesACancellation(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe()
	b.at(0, func() { b.register(registration("a")) })
	b.at(time.Minute, b.CancelWorkflow)
	b.ExecuteWorkflow(contract.FleetWorkflow, contract.FleetInput{Config: &contract.FleetConfig{}})
	var continued *workflow.ContinueAsNewError
	require.ErrorAs(t, b.GetWorkflowError(), &continued)
	assert.Equal(t, []string{"fleet.cancel CANCEL_IGNORED fleet"}, b.audit.Lines())
	require.Len(t, b.audit.Records()[0].Origins, 1)
	assert.True(t, b.audit.Records()[0].Origins[0].Cancel, "who it was is read from the history")

	var in contract.FleetInput
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(continued.Input, &in))
	after := newFleetBench(t)
	after.SetStartTime(b.start.Add(2 * time.Minute))
	after.observe()
	after.at(time.Second, func() { assert.Equal(t, contract.WorkerOnline, after.worker("a").State) })
	after.play(time.Minute, in)
	assert.Empty(t, after.audit.queried, "it continues its predecessor")
}

// A registry that follows a terminated one records the sender of the termination.
func TestFleetRecordsATermination(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe()
	b.audit.ended.Entry = &contract.AuditEntry{ID: "ended|1", Kind: contract.AuditOperator, Actor: "ann", Action: "fleet.terminate", Object: "fleet"}
	b.run(time.Minute)
	assert.Equal(t, []string{contract.FleetWorkflowID}, b.audit.queried)
	assert.Equal(t, []string{"fleet.terminate fleet"}, b.audit.Lines())
	assert.Equal(t, "ann", b.audit.Entries()[0].Actor)
}

// A group that watches a rebuilt registry receives an incomplete view at once. A change for each
// worker that registers follows, and then a whole view without missing workers.
func TestFleetCallsItsViewsIncompleteAfterARebuild(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	stranger := b.pulse("b", 29*time.Second, true)
	b.observe(
		look{after: 30 * time.Second, sight: 30 * time.Second, changes: []contract.WorkerPulse{b.pulse("a", 29*time.Second, true), stranger}},
		look{after: 40 * time.Second, sight: 40 * time.Second})
	b.at(0, func() {
		b.SignalWorkflow(contract.SignalWatchFleet, contract.WatchFleetInput{WorkflowID: "group/x"})
	})
	b.at(20*time.Second, func() { b.register(registration("a")) })
	b.at(35*time.Second, func() { b.register(registration("b")) })
	b.run(2 * time.Minute)
	var seen []string
	for _, view := range b.views("group/x") {
		seen = append(seen, fmt.Sprintf("%d %t %t", len(view.Workers), view.Incomplete, view.Since == 0))
	}
	assert.Equal(t, []string{"0 true true", "1 true false", "1 true false", "2 false true"}, seen)
	inputs := b.observed()
	assert.Equal(t, b.start, inputs[0].WakeAt, "the observer reports when it has settled")
	assert.Zero(t, inputs[1].WakeAt, "and only once")
}

// Without an observer the registry is complete after the time in which every worker sends a
// request.
func TestFleetIsCompleteAfterAWhile(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe()
	incomplete := func() bool {
		value, err := b.QueryWorkflow(contract.QueryFleet)
		require.NoError(t, err)
		var view contract.FleetView
		require.NoError(t, value.Get(&view))
		return view.Incomplete
	}
	b.at(contract.RebuildTime-time.Second, func() { assert.True(t, incomplete()) })
	b.at(contract.RebuildTime+time.Second, func() { assert.False(t, incomplete()) })
	b.run(2 * time.Minute)
}

// An idle registry sets no timer: with a healthy fleet nothing is due.
func TestFleetIdleSetsNoTimer(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe(look{after: 40 * time.Second, changes: []contract.WorkerPulse{b.pulse("a", 39*time.Second, true)}})
	b.at(0, func() { b.register(registration("a")) })
	timers := 0
	b.at(2*time.Minute, func() {
		b.SetOnTimerScheduledListener(func(string, time.Duration) { timers++ })
	})
	b.run(30 * 24 * time.Hour)
	assert.Zero(t, timers)
}
