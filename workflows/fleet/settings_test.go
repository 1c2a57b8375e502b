package fleet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

func (b *fleetBench) settings(id, instance string) contract.WorkerSettings {
	b.t.Helper()
	value, err := b.QueryWorkflow(contract.QuerySettings, contract.KnownInput{ID: id, Instance: instance})
	require.NoError(b.t, err)
	var settings contract.WorkerSettings
	require.NoError(b.t, value.Get(&settings))
	if settings.Known {
		config := contract.FleetConfig{}.WithDefaults()
		assert.Equal(b.t, &config, settings.Fleet, "a worker learns what it is judged by")
	}
	settings.Fleet = nil
	return settings
}

func (b *fleetBench) resize(in contract.ResizeWorkerInput, refusal string) {
	b.t.Helper()
	b.update(contract.UpdateResizeWorker, in, func(_ any, err error) {
		if refusal == "" {
			assert.NoError(b.t, err)
			return
		}
		assert.ErrorContains(b.t, err, refusal)
	})
}

// An operator's caps are in the groups' views, outlive the worker's process, and end with a
// reset.
func TestFleetResize(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe()
	b.at(time.Second, func() { b.register(registration("a")) })
	b.at(2*time.Second, func() {
		assert.Equal(t, contract.WorkerSettings{Known: true}, b.settings("a", "i-a"))
		assert.Equal(t, contract.WorkerSettings{}, b.settings("a", "another"))
		b.SignalWorkflow(contract.SignalWatchFleet, contract.WatchFleetInput{WorkflowID: "group"})
	})
	b.at(5*time.Second, func() {
		b.resize(contract.ResizeWorkerInput{ID: "a", MaxExecute: 9, By: "me", Reason: "more memory"}, "")
		b.resize(contract.ResizeWorkerInput{ID: "nobody", MaxExecute: 9}, "not registered")
		b.resize(contract.ResizeWorkerInput{ID: "a"}, "nothing to change")
		b.resize(contract.ResizeWorkerInput{ID: "a", MaxExecute: -1}, "between 1 and 10000")
		b.resize(contract.ResizeWorkerInput{ID: "a", MaxExecute: 3, Reset: true}, "not both")
	})
	resized := &contract.WorkerCaps{MaxDetect: 1, MaxExecute: 9}
	b.at(6*time.Second, func() {
		assert.Equal(t, contract.WorkerSettings{Known: true, Resized: resized}, b.settings("a", "i-a"))
		b.resize(contract.ResizeWorkerInput{ID: "a", MaxExecute: 9, By: "again"}, "")
		w := b.worker("a")
		assert.Equal(t, "resized to 1 detect, 9 execute: more memory", w.Transitions[len(w.Transitions)-1].Reason)
		assert.Equal(t, "me", w.Transitions[len(w.Transitions)-1].By, "a repeat changes nothing")
		assert.Equal(t, 4, w.Registration.MaxExecute, "what it was started with is still known")
		b.SignalWorkflow(contract.SignalUnregisterWorker, contract.UnregisterWorkerInput{ID: "a", Instance: "i-a"})
	})
	b.at(7*time.Second, func() {
		next := registration("a")
		next.Instance = "i-2"
		b.register(next)
	})
	b.at(8*time.Second, func() {
		assert.Equal(t, contract.WorkerSettings{Known: true, Resized: resized}, b.settings("a", "i-2"), "over a restart")
		b.resize(contract.ResizeWorkerInput{ID: "a", Reset: true}, "")
		b.update(contract.UpdateOperateWorker, contract.OperateWorkerInput{ID: "a", Action: "cordon"}, func(_ any, err error) { assert.NoError(t, err) })
	})
	b.at(9*time.Second, func() {
		assert.Equal(t, contract.WorkerSettings{Known: true, Held: true, Kept: b.settings("a", "i-2").Kept}, b.settings("a", "i-2"))
	})
	b.run(20 * time.Second)
	var seen []int
	for _, view := range b.views("group") {
		for _, w := range view.Workers {
			if len(seen) == 0 || seen[len(seen)-1] != w.MaxExecute {
				seen = append(seen, w.MaxExecute)
			}
		}
	}
	assert.Equal(t, []int{4, 9, 4}, seen, "what a group was told")
}

// A terminated registry has lost the caps and cordons; the worker repeats them.
func TestFleetTakesTheWorkersWordForItsCaps(t *testing.T) {
	t.Parallel()
	b := newFleetBench(t)
	b.observe()
	cordoned := &contract.WorkerTransition{Mode: "cordoned"}
	cordoned.At, cordoned.By, cordoned.Note = b.start.Add(-time.Hour), "ann", "disks"
	b.at(time.Second, func() {
		r := registration("a")
		r.Resized = &contract.WorkerCaps{MaxDetect: 2, MaxExecute: 8}
		b.register(r)
		r = registration("b")
		r.Resized = &contract.WorkerCaps{MaxDetect: 2, MaxExecute: contract.MaxWorkerCap + 1}
		r.Kept = &contract.WorkerTransition{Mode: "bad"}
		b.register(r)
		r = registration("c")
		r.Kept = cordoned
		b.register(r)
	})
	b.at(2*time.Second, func() {
		assert.Equal(t, &contract.WorkerCaps{MaxDetect: 2, MaxExecute: 8}, b.settings("a", "i-a").Resized)
		assert.Equal(t, contract.WorkerSettings{Known: true}, b.settings("b", "i-b"), "nonsense is not believed")
		assert.Equal(t, contract.WorkerSettings{Known: true, Held: true, Kept: cordoned}, b.settings("c", "i-c"))
		assert.Equal(t, contract.WorkerCordoned, b.worker("c").State)
		assert.Equal(t, "ann", b.worker("c").Cause.By)
	})
	b.run(10 * time.Second)
}
