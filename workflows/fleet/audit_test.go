package fleet_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	sdktest "go.temporal.io/sdk/testsuite"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/testsuite/envtest"
)

type auditSink struct {
	*envtest.Audit
	mu sync.Mutex
	// ended is the end of the previous registry; queried lists the entities of all queries.
	ended   contract.EntityEndResult
	queried []string
}

func takeAudit(env *sdktest.TestWorkflowEnvironment) *auditSink {
	s := &auditSink{Audit: envtest.RecordAudit(env)}
	env.RegisterActivityWithOptions(func(_ context.Context, in contract.EntityEndInput) (contract.EntityEndResult, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queried = append(s.queried, in.WorkflowID)
		return s.ended, nil
	}, activity.RegisterOptions{Name: contract.EntityEndActivity})
	return s
}

// TestFleetTells: operators' actions on workers, silence and refusals are recorded; a
// deregistration is not.
func TestFleetTells(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe(look{after: 17 * time.Second, changes: []contract.WorkerPulse{b.pulse("a", time.Second, false)}}, look{after: 121 * time.Second})
	b.at(0, func() { b.register(registration("a")) })
	b.at(time.Second, func() {
		other := registration("a")
		other.Instance, other.PID = "other", 99
		b.update(contract.UpdateRegisterWorker, other, func(_ any, err error) { require.NoError(t, err) })
		other.TakeOver = true
		b.register(other)
		b.update(contract.UpdateOperateWorker, contract.OperateWorkerInput{ID: "a", Action: "cordon", By: "ann", Reason: "new disks"}, func(_ any, err error) { require.NoError(t, err) })
		b.update(contract.UpdateOperateWorker, contract.OperateWorkerInput{ID: "zebra", Action: "drain"}, func(_ any, err error) { require.Error(t, err) })
		b.update(contract.UpdateResizeWorker, contract.ResizeWorkerInput{ID: "a", MaxExecute: 9, By: "bob"}, func(_ any, err error) { require.NoError(t, err) })
		b.update(contract.UpdateCleanupWorkers, contract.CleanupWorkersInput{By: "bob"}, func(_ any, err error) { require.NoError(t, err) })
	})
	b.play(time.Hour, contract.FleetInput{Config: &contract.FleetConfig{UnreachableAfter: jobtype.Duration(2 * time.Minute)}})
	said := b.audit.Lines()
	for _, line := range []string{
		"refused WORKER_ID_TAKEN worker/a", "worker.take-over worker/a", "worker.cordon worker/a", "worker.resize worker/a", "worker.cleanup fleet",
	} {
		assert.Contains(t, said, line)
	}
	for _, e := range b.audit.Entries() {
		switch e.Action {
		case "worker.cordon":
			assert.Equal(t, []string{"ann", "ONLINE", "CORDONED", "new disks"}, []string{e.Actor, e.Before, e.After, e.Detail})
		case "worker.resize":
			assert.NotContains(t, e.Before, "(resized)")
			assert.Regexp(t, `^detect: \d; execute: 9 \(resized\)$`, e.After)
		}
	}
}

// TestTheRefusalForAStaleProcessIsRecorded once its process has answered a query, and not before.
func TestTheRefusalForAStaleProcessIsRecorded(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe(look{after: 17 * time.Second, changes: []contract.WorkerPulse{b.pulse("a", time.Second, false)}}, look{after: time.Hour})
	b.at(0, func() { b.register(registration("a")) })
	other := registration("a")
	other.Instance, other.PID = "other", 99
	refuse := func() {
		b.update(contract.UpdateRegisterWorker, other, func(result any, err error) {
			require.NoError(t, err)
			verdict, _ := result.(contract.RegisterWorkerResult)
			assert.True(t, verdict.Stale && verdict.Refused != nil, "%+v", verdict)
		})
	}
	b.at(20*time.Second, refuse)
	b.at(50*time.Second, func() { assert.Empty(t, b.audit.Lines()) })
	b.at(60*time.Second, func() { other.Answered = "i-a"; refuse() })
	b.play(90*time.Second, contract.FleetInput{Config: &contract.FleetConfig{UnreachableAfter: jobtype.Duration(2 * time.Minute)}})
	assert.Equal(t, []string{"refused WORKER_ID_TAKEN worker/a"}, b.audit.Lines())
}

// TestManyObjectsAreAddedUp: a whole fleet that goes silent does not flood the log.
func TestManyObjectsAreAddedUp(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe(look{after: time.Hour})
	const workers = 120
	b.at(0, func() {
		for i := range workers {
			b.register(registration(fmt.Sprintf("node-%d", i)))
		}
	})
	b.at(time.Second, func() {
		for i := range workers {
			other := registration(fmt.Sprintf("node-%d", i))
			other.Instance = "other"
			b.update(contract.UpdateRegisterWorker, other, func(_ any, err error) { require.NoError(t, err) })
		}
	})
	b.play(time.Minute, contract.FleetInput{Config: &contract.FleetConfig{UnreachableAfter: jobtype.Duration(2 * time.Minute)}})
	total := 0
	for _, e := range b.audit.Entries() {
		if e.Code == "WORKER_ID_TAKEN" {
			total += e.Count
		}
	}
	assert.Equal(t, workers, total)
	assert.Len(t, b.audit.Entries(), 50)
	require.Len(t, b.audit.Records(), 1)
}

func TestSilentWorkersAreTold(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe(look{after: 17 * time.Second, changes: []contract.WorkerPulse{b.pulse("a", time.Second, false)}}, look{after: 121 * time.Second}, look{after: time.Hour})
	b.at(0, func() { b.register(registration("a")); b.register(registration("z")) })
	b.at(2*time.Second, func() {
		b.SignalWorkflow(contract.SignalUnregisterWorker, contract.UnregisterWorkerInput{ID: "z", Instance: registration("z").Instance})
	})
	b.play(3*time.Minute, contract.FleetInput{Config: &contract.FleetConfig{UnreachableAfter: jobtype.Duration(2 * time.Minute)}})
	assert.Equal(t, []string{"noticed WORKER_UNREACHABLE worker/a"}, b.audit.Lines())
}

// TestWhatHappensAgainAndAgainIsToldLessOften: a process is refused every second for ten
// minutes.
func TestWhatHappensAgainAndAgainIsToldLessOften(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe(look{after: time.Hour})
	b.at(0, func() { b.register(registration("a")); b.register(registration("b")) })
	refuse := func(id string) func() {
		other := registration(id)
		other.Instance = "other"
		return func() {
			b.update(contract.UpdateRegisterWorker, other, func(_ any, err error) { require.NoError(t, err) })
		}
	}
	const times = 100
	for i := range times {
		b.at(time.Duration(i)*time.Second, refuse("a"))
	}
	b.at(times*time.Second, func() { refuse("b")() })
	b.play(20*time.Minute, contract.FleetInput{Config: &contract.FleetConfig{UnreachableAfter: jobtype.Duration(time.Hour)}})
	total, entries, news := 0, 0, time.Time{}
	for _, e := range b.audit.Entries() {
		switch e.Object {
		case "worker/a":
			total, entries = total+e.Count, entries+1
		case "worker/b":
			news = e.At
		}
	}
	assert.Equal(t, times, total)
	assert.LessOrEqual(t, entries, 5, "10, 20, 40, 80 seconds")
	assert.WithinDuration(t, b.start.Add(times*time.Second), news, time.Second)
}

// TestAnEndNotLookedUpYetTravels: a registry that must continue as new before it has learned how the one before it
// ended leaves the task to the next run.
func TestAnEndNotLookedUpYetTravels(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe(look{after: time.Hour})
	b.OnActivity(contract.EntityEndActivity, mock.Anything, mock.Anything).Return(contract.EntityEndResult{}, nil).After(time.Hour)
	b.at(0, func() { b.register(registration("a")) })
	next := b.play(time.Minute, contract.FleetInput{})
	assert.True(t, next.EndUnknown)

	second := newFleetBench(t)
	second.observe(look{after: time.Hour})
	second.audit.ended = contract.EntityEndResult{Entry: &contract.AuditEntry{Action: "fleet.terminate", Object: "fleet"}}
	last := second.play(time.Minute, next)
	assert.Contains(t, second.audit.Lines(), "fleet.terminate fleet")
	assert.False(t, last.EndUnknown)
}
