package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	sdktest "go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/roundsman/roundsman/contract"
	engine "github.com/roundsman/roundsman/internal/engine/run"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/envtest"
	"github.com/roundsman/roundsman/workflows/run"
)

type bench struct {
	*sdktest.TestWorkflowEnvironment
	t        *testing.T
	requests []contract.AdmissionRequest
	watches  []time.Time
	seen     []int64 // with each of them
	ensured  []contract.AdmissionRequest
	audit    *envtest.Audit
	// refuse is the server's error for a signal to admission.
	refuse func(in contract.AdmissionRequest) error
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{TestWorkflowEnvironment: envtest.New(), t: t}
	b.OnSignalExternalWorkflow(mock.Anything, contract.AdmissionWorkflowID, "", contract.SignalAdmissionRequest, mock.Anything).Return(
		func(_, _, _, _ string, arg any) error {
			in, ok := arg.(contract.AdmissionRequest)
			require.True(t, ok)
			if b.refuse != nil {
				if err := b.refuse(in); err != nil {
					return err
				}
			}
			b.requests = append(b.requests, in)
			return nil
		}).Maybe()
	register := func(name string, f any) { b.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name}) }
	register(contract.EnsureAdmissionActivity, func(_ context.Context, in contract.EnsureAdmissionInput) error {
		b.ensured = append(b.ensured, *in.Request)
		return nil
	})
	register(contract.EnsureFleetActivity, func(_ context.Context, in contract.EnsureFleetInput) error {
		b.watches, b.seen = append(b.watches, b.Now()), append(b.seen, in.Watch.Seq)
		return nil
	})
	b.audit = envtest.RecordAudit(b.TestWorkflowEnvironment)
	return b
}

// play runs a workflow that calls begin first, and then collects for lasts; see gets every
// answer of admission.
func (b *bench) play(lasts time.Duration, begin func(*run.Runner), see func(*run.Runner, run.Answer)) {
	b.t.Helper()
	b.ExecuteWorkflow(func(ctx workflow.Context) error {
		r := run.New(ctx, run.Options{JobType: "scrub"})
		fleet := engine.New(engine.Config{}, r.Now())
		begin(r)
		for until := r.Now().Add(lasts); r.Now().Before(until); {
			if err := r.Wait(until, true, r.Ready); err != nil {
				return err
			}
			r.Collect()
			for _, view := range r.Fleet() {
				fleet.Apply(r.Now(), view)
				r.Viewed(fleet.Deserted())
			}
			for _, answer := range r.Answers(nil) {
				if see != nil {
					see(r, answer)
				}
			}
		}
		return r.Close()
	})
	require.NoError(b.t, b.GetWorkflowError())
}

func pool(ask int) engine.Decision {
	return engine.Decision{Kind: engine.Acquire, Ask: ask, Needs: &engine.Needs{Pools: map[string]int{"net": 1}}}
}

// TestAWaitCostsNoHistory: in 90 days of waiting, a run's repeats of its request and its
// subscription cost far less than 5,000 events.
func TestAWaitCostsNoHistory(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.play(90*24*time.Hour, func(r *run.Runner) {
		r.Watch()
		r.Acquire(pool(1), "job-00001", jobtype.PriorityNormal, nil)
	}, nil)
	last := b.requests[len(b.requests)-1]
	assert.True(t, last.ReleaseAll)
	for _, repeated := range b.requests[:len(b.requests)-1] {
		require.Len(t, repeated.Items, 1)
		assert.Equal(t, "job-00001.1", repeated.Items[0].ID)
	}
	// A repeated request is a timer (2 events), a signal (2) and two workflow tasks (6); a
	// subscription is an activity (3) instead of the signal.
	assert.Greater(t, len(b.requests), 90)
	assert.Less(t, 10*len(b.requests)+11*len(b.watches), 5000)
	assert.LessOrEqual(t, b.requests[0].Items[0].Fences, int64(run.FencesPerItem))
}

// TestAnEmptyViewIsDoubted: a rebuilt registry has no workers yet, and may have no subscription,
// so a run with an empty view subscribes again within seconds.
func TestAnEmptyViewIsDoubted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	began := b.Now()
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(contract.SignalFleetChanged, contract.FleetView{Seq: 7})
	}, time.Minute)
	b.play(3*time.Minute, func(r *run.Runner) { r.Watch() }, nil)
	require.GreaterOrEqual(t, len(b.watches), 3)
	assert.WithinDuration(t, began.Add(75*time.Second), b.watches[1], 2*time.Second)
}

// TestAMissingViewIsRequested: changes since a missing view are useless, so the run requests a
// whole view, once.
func TestAMissingViewIsRequested(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	began := b.Now()
	online := []contract.WorkerView{{ID: "a", Instance: "1", State: contract.WorkerOnline}}
	for at, view := range []contract.FleetView{
		{Seq: 7, Workers: online}, {Seq: 8, Since: 7, Workers: online}, {Seq: 12, Since: 10, Workers: online}, {Seq: 13, Since: 12, Gone: []string{"a"}},
	} {
		b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalFleetChanged, view) }, time.Duration(at+1)*time.Second)
	}
	b.play(time.Minute, func(r *run.Runner) { r.Watch() }, nil)
	require.Len(t, b.watches, 2)
	assert.WithinDuration(t, began.Add(3*time.Second), b.watches[1], time.Second)
	assert.Equal(t, []int64{0, 0}, b.seen)
}

// TestAReleaseThatFailedIsRepeated: an undelivered release would otherwise be lost for ever.
func TestAReleaseThatFailedIsRepeated(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.refuse = func(in contract.AdmissionRequest) error {
		if len(in.Release) > 0 {
			return temporal.NewApplicationError("too many signals", "")
		}
		return nil
	}
	b.play(5*time.Minute, func(r *run.Runner) {
		r.Acquire(pool(1), "job-00001", jobtype.PriorityNormal, nil)
		require.NoError(t, r.Wait(time.Time{}, true, func() bool { return true }))
		r.CarryOut(engine.Decision{Kind: engine.Release, Ask: 1}, "job-00001")
	}, nil)
	require.Len(t, b.ensured, 1)
	assert.Equal(t, []string{"job-00001.1"}, b.ensured[0].Release)
}

// TestWhatIsReleasedIsNotAsserted: an item that ends in the workflow task in which admission
// requests an assertion is released, not asserted.
func TestWhatIsReleasedIsNotAsserted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.RegisterDelayedCallback(func() {
		b.SignalWorkflow(contract.SignalAdmissionAnswer, contract.AdmissionAnswer{
			Holder:  b.requests[0].Holder,
			Granted: []contract.AdmissionGrant{{ID: "job-00001.1", Fence: 5, Fences: 9}, {ID: "job-00002.2", Fence: 14, Fences: 9}},
		})
	}, time.Second)
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalReassert, nil) }, 2*time.Second)
	granted := 0
	b.ExecuteWorkflow(func(ctx workflow.Context) error {
		r := run.New(ctx, run.Options{JobType: "scrub"})
		r.Acquire(pool(1), "job-00001", jobtype.PriorityNormal, nil)
		r.Acquire(pool(2), "job-00002", jobtype.PriorityNormal, nil)
		for until := r.Now().Add(3 * time.Second); r.Now().Before(until); {
			if err := r.Wait(until, true, r.Ready); err != nil {
				return err
			}
			r.Collect()
			reasserts := r.Now().After(until.Add(-1500 * time.Millisecond))
			granted += len(r.Answers(nil))
			if reasserts && granted == 2 {
				granted++
				r.CarryOut(engine.Decision{Kind: engine.Release, Ask: 1}, "job-00001")
			}
		}
		return r.Close()
	})
	require.NoError(t, b.GetWorkflowError())
	require.Equal(t, 3, granted)
	var asserted *contract.AdmissionRequest
	for i := range b.requests {
		if b.requests[i].Reassert {
			asserted = &b.requests[i]
		}
	}
	require.NotNil(t, asserted)
	require.Len(t, asserted.Held, 1)
	assert.Equal(t, "job-00002.2", asserted.Held[0].ID)
	assert.Equal(t, []string{"job-00001.1"}, asserted.Release)
}

// TestResultsTravelWithTheirKeys: results beyond one message are sent with the next one, and a
// new admission receives the last ones again.
func TestResultsTravelWithTheirKeys(t *testing.T) {
	t.Parallel()
	const many = 100
	b := newBench(t)
	large := json.RawMessage(`"` + strings.Repeat("x", contract.MaxKeyResult-2) + `"`)
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalReassert, nil) }, time.Minute)
	b.play(2*time.Minute, func(r *run.Runner) {
		for i := range many {
			r.Acquire(pool(i+1), fmt.Sprintf("t%d", i), jobtype.PriorityNormal, nil)
		}
		require.NoError(t, r.Wait(time.Time{}, true, func() bool { return true }))
		for i := range many {
			name := fmt.Sprintf("t%d", i)
			r.Admission.ReleaseKey(contract.AskID(name, i+1), contract.KeyResult{Object: "key:" + name, Result: large, Task: name})
		}
	}, nil)
	results, released, again := map[string]bool{}, 0, 0
	for _, in := range b.requests {
		size := 0
		for _, result := range in.Results {
			size += len(result.Result)
			results[result.ID] = true
		}
		assert.LessOrEqual(t, size, 256<<10)
		if in.Reassert {
			again = len(in.Results)
		}
		for _, id := range in.Release {
			assert.True(t, results[id], "%s is given back without its result", id)
			released++
		}
	}
	assert.Len(t, results, many)
	assert.Equal(t, many, released)
	assert.Greater(t, again, 50)
}

// TestKeysAreListedOnlyForAnAssertion: a list of the keys costs all open jobs of a group. Only
// an admission that has lost the keys needs it.
func TestKeysAreListedOnlyForAnAssertion(t *testing.T) {
	t.Parallel()
	const answers = 20
	b := newBench(t)
	answer := func(grant contract.AdmissionGrant) func() {
		return func() {
			b.SignalWorkflow(contract.SignalAdmissionAnswer, contract.AdmissionAnswer{
				Holder: b.requests[0].Holder, Granted: []contract.AdmissionGrant{grant},
			})
		}
	}
	b.RegisterDelayedCallback(answer(contract.AdmissionGrant{ID: run.ClaimsPrefix, Fence: 1, Fences: 9}), time.Second)
	for i := range answers {
		b.RegisterDelayedCallback(answer(contract.AdmissionGrant{ID: contract.AskID("job-00001", i)}), time.Minute+time.Duration(i)*time.Second)
	}
	b.RegisterDelayedCallback(func() { b.SignalWorkflow(contract.SignalReassert, nil) }, 2*time.Minute)
	passes, listed := 0, 0
	keys := func() run.Keys {
		listed++
		return func(string) []byte { return []byte("12345678") }
	}
	b.ExecuteWorkflow(func(ctx workflow.Context) error {
		r := run.New(ctx, run.Options{JobType: "scrub"})
		r.Admission.Request(contract.AdmissionItem{ID: run.ClaimsPrefix, Keys: []byte("12345678")})
		for until := r.Now().Add(3 * time.Minute); r.Now().Before(until); passes++ {
			if err := r.Wait(until, true, r.Ready); err != nil {
				return err
			}
			r.Collect()
			r.WasReset(keys)
			r.Answers(keys)
		}
		return r.Close()
	})
	require.NoError(t, b.GetWorkflowError())
	assert.Greater(t, passes, answers)
	assert.Equal(t, 1, listed)
}

// TestARefusalThatIsAnsweredTwiceCountsOnce: a call without an answer in time is repeated as a signal, and both are answered.
func TestARefusalThatIsAnsweredTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.RegisterDelayedCallback(func() {
		refused := contract.AdmissionAnswer{Holder: b.requests[0].Holder, Refused: []contract.AdmissionRefusal{{ID: "job-00001.1", Code: contract.RefusedFull}}}
		b.SignalWorkflow(contract.SignalAdmissionAnswer, refused)
		b.SignalWorkflow(contract.SignalAdmissionAnswer, refused)
	}, time.Second)
	b.play(time.Minute, func(r *run.Runner) { r.Acquire(pool(1), "job-00001", jobtype.PriorityNormal, nil) }, nil)
	assert.Equal(t, []string{"refused FULL default-test-workflow-id"}, b.audit.Lines())
}

// TestARunEndsAfterItsReports: the server drops an undelivered signal of an ended run, so a run whose last item clears a
// worker waits for the delivery.
func TestARunEndsAfterItsReports(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	closing := make(chan struct{})
	var delivered atomic.Bool
	b.OnSignalExternalWorkflow(mock.Anything, contract.FleetWorkflowID, "", contract.SignalWorkerTrouble, mock.Anything).Return(
		func(_, _, _, _ string, _ any) error {
			<-closing
			delivered.Store(true)
			return nil
		})
	b.ExecuteWorkflow(func(ctx workflow.Context) error {
		r := run.New(ctx, run.Options{JobType: "scrub"})
		r.CarryOut(engine.Decision{Kind: engine.ClearTrouble, Worker: "node-a", Instance: "i"}, "")
		assert.False(t, r.Idle(), "a run that continues as new would lose it, too")
		close(closing)
		err := r.Close()
		assert.True(t, delivered.Load())
		assert.True(t, r.Idle())
		return err
	})
	require.NoError(t, b.GetWorkflowError())
}
