package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

func TestALostItemIsReplacedAfterItsGrace(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1), node("b", 1))
	require.Equal(t, "1@a", starts(s.plain(1)))
	assert.Equal(t, "probe", kinds(s.end(1, contract.FailureWorkerLost)))
	assert.Equal(t, contract.CodeOutcome, s.e.WaitOf(1, s.now).Code)
	assert.Empty(t, starts(s.wait(Grace-time.Millisecond)))
	assert.Equal(t, "1@b", starts(s.wait(time.Millisecond)))
}

// TestAReportedLossIsReplacedAtOnce: the worker itself reports that nothing runs any more.
func TestAReportedLossIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{WorkerLossLimit: 1, RetryLimit: 9}, node("a", 1), node("b", 1))
	require.Equal(t, "1@a", starts(s.plain(1)))
	gone := Ending{Failure: contract.FailureWorkerLost, Message: "the stream ended", Gone: true}
	assert.Equal(t, "1@b", starts(s.step(Ended{Item: 1, Attempt: 1, Ending: gone})))
	s.step(Ended{Item: 1, Attempt: 2, Ending: gone})
	assert.Equal(t, "1 failed LOSES_WORKERS: lost with a, b within 3 days (worker_loss_limit is 1): the stream ended", s.ended())
}

func TestASuspectWorkerGetsWorkAfterASignOfLife(t *testing.T) {
	t.Parallel()
	beat, next := node("a", 1), node("a", 1)
	beat.Beat, next.Instance = 1, "i2"
	for name, event := range map[string]Event{
		"probe": WorkerProbed{ID: "a", Instance: "i1", Alive: true}, "beat": WorkersChanged{Workers: []contract.WorkerView{beat}}, "process": WorkersChanged{Workers: []contract.WorkerView{next}},
	} {
		s := play(t, Config{}, jobtype.Policy{}, node("a", 1))
		s.plain(1)
		s.end(1, contract.FailureWorkerLost)
		assert.Empty(t, starts(s.wait(time.Minute)), name)
		assert.Equal(t, contract.CodeUnreachable, s.e.WaitOf(1, s.now).Code)
		assert.Empty(t, starts(s.step(WorkerProbed{ID: "a", Instance: "i1"})), "a silent probe changes nothing")
		assert.Empty(t, starts(s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 1)}})), "the same beat shows nothing")
		s.reload()
		assert.Equal(t, "probe", kinds(s.step(Tick{})), "the probe went with the workflow run before")
		assert.Equal(t, "1@a", starts(s.step(event)), name)
	}
}

func TestOnWorkerLoss(t *testing.T) {
	t.Parallel()
	lose := func(policy jobtype.Policy, times int) *script {
		s := play(t, Config{}, policy, node("a", 1), node("b", 1))
		s.plain(1)
		for range times {
			s.end(1, contract.FailureWorkerLost)
			s.wait(Grace)
		}
		return s
	}
	assert.Equal(t, "1 failed because worker_lost (on_worker_loss is fail)", lose(jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossFail}, 1).ended())
	often := lose(jobtype.Policy{WorkerLossLimit: 1, RetryLimit: 9}, 2)
	assert.Equal(t, "1 failed LOSES_WORKERS: lost with a, b within 3 days (worker_loss_limit is 1): because worker_lost", often.ended())
	assert.Equal(t, []string{"1.1@a", "1.2@b"}, often.failed, "each loss counts against the retry budget")
	hold := lose(jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, 1)
	assert.Empty(t, starts(hold.wait(time.Minute)), "b must not get it")
	wait := hold.e.WaitOf(1, hold.now)
	assert.Equal(t, []any{contract.CodeUnreachable, "a"}, []any{wait.Code, wait.Object})
	hold.reload()
	hold.step(Tick{})
	assert.Equal(t, "1@a", starts(hold.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true})))
}

// An item fails if it was lost more often than its limit within the window, however long it runs.
func TestLossesCountWithinTheirWindow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.IntRange(0, 4).Draw(r, "limit")
		s := play(t, Config{Work: map[string]Work{"": {Handler: "h", Policy: jobtype.Policy{WorkerLossLimit: limit, ExecutionTimeout: seconds(3600)}}}}, jobtype.Policy{}, node("a", 1), node("b", 1), node("c", 1))
		s.plain(1)
		var at []time.Time
		var workers, failed []string
		for attempt := 1; len(s.settled) == 0 && attempt <= 20; attempt++ {
			s.wait(time.Duration(rapid.IntRange(0, 40).Draw(r, "hours")) * time.Hour)
			require.Equal(r, PhaseRunning, s.e.items[1].Phase)
			worker := s.e.items[1].Worker
			at, workers, failed = append(at, s.now), append(workers, worker), append(failed, fmt.Sprintf("1.%d@%s", attempt, worker))
			s.step(Ended{Item: 1, Attempt: attempt, Ending: Ending{Failure: contract.FailureWorkerLost, Gone: true, Message: "gone"}})
			s.step(WorkerProbed{ID: worker, Instance: "i1", Alive: true})
			first := slices.IndexFunc(at, func(lost time.Time) bool { return s.now.Sub(lost) <= 72*time.Hour })
			if recent := len(at) - first; recent > limit {
				require.Equal(r, fmt.Sprintf("1 failed LOSES_WORKERS: lost with %s within 3 days (worker_loss_limit is %d): gone", strings.Join(workers[first:], ", "), limit), s.ended())
				require.Equal(r, failed[first:], s.failed)
				return
			}
			require.Empty(r, s.settled)
			require.Empty(r, s.failed, "a lost worker alone is no failure")
			s.reload()
		}
	})
}

// An item that kills its worker each time fails, and no other item fails with it.
func TestOneDeadlyItemFailsAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		slots := rapid.IntRange(1, 6).Draw(r, "slots")
		views := make([]contract.WorkerView, rapid.IntRange(1, 4).Draw(r, "workers"))
		for i := range views {
			views[i] = node(workerIDs[i], slots)
		}
		s := play(t, Config{}, jobtype.Policy{}, views...)
		n := rapid.IntRange(1, 12).Draw(r, "items")
		deadly := rapid.IntRange(1, n).Draw(r, "deadly")
		s.plain(n)
		for kills := 0; s.e.items[deadly] != nil; {
			it := s.e.items[deadly]
			if it.Phase != PhaseRunning { // Another item makes room.
				require.NotEmpty(r, s.e.flight, "nothing runs")
				s.end(slices.Sorted(maps.Keys(s.e.flight))[0], "")
				continue
			}
			kills++
			dead := slices.IndexFunc(views, func(w contract.WorkerView) bool { return w.ID == it.Worker })
			for _, id := range slices.Sorted(maps.Keys(s.e.flight)) {
				if other := s.e.items[id]; other.Worker == views[dead].ID && other.Instance == views[dead].Instance {
					s.e.Apply(s.now, Ended{Item: id, Attempt: other.Attempt, Ending: Ending{Failure: contract.FailureWorkerLost, Gone: true, Message: "gone"}})
				}
			}
			views[dead].Instance += "x"
			s.step(WorkersChanged{Workers: slices.Clone(views)})
			require.Equal(r, s.e.items[deadly] == nil, kills == 4)
		}
		for _, r1 := range s.settled {
			require.Equal(r, r1.Item == deadly, r1.State == Failed, "%+v", r1)
		}
	})
}

func TestAnItemThatIsKeptApartWaits(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 4))
	s.plain(2)
	for i := range 2 {
		for id := 1; id <= 2; id++ {
			s.e.Apply(s.now, Ended{Item: id, Attempt: i + 1, Ending: Ending{Failure: contract.FailureWorkerLost, Gone: true, Message: "gone"}})
		}
		s.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true})
	}
	assert.Equal(t, "1@a", starts(s.last))
	wait := s.e.WaitOf(2, s.now)
	assert.Equal(t, []any{contract.CodeLosesWorkers, "a"}, []any{wait.Code, wait.Object})
	assert.Equal(t, "lost with a, a: it waits for a worker without another such job, because one of them may kill workers", wait.Detail)
	assert.Equal(t, "3@a", starts(s.offer(Item{ID: 3})), "others are not kept apart")
	assert.Equal(t, "2@a", starts(s.end(1, "")))
}

// A drain, a refusal and a worker that did not take the job are no losses.
func TestOnlyARunningAttemptIsLost(t *testing.T) {
	t.Parallel()
	for _, failure := range []Failure{contract.FailureDraining, contract.FailureAtCapacity, contract.FailureNotTaken} {
		s := play(t, Config{}, jobtype.Policy{WorkerLossLimit: 1}, node("a", 1), node("b", 1))
		s.plain(1)
		for range 5 {
			w := s.e.items[1].Worker
			s.end(1, failure)
			s.step(WorkerProbed{ID: w, Instance: "i1", Alive: true})
			s.wait(time.Minute)
		}
		assert.Empty(t, s.ended(), failure)
		assert.Empty(t, s.e.items[1].Losses, failure)
	}
}

// A job of months survives a rolling upgrade: its workers announce their stops, or an operator does.
func TestAnAnnouncedStopIsNoLoss(t *testing.T) {
	t.Parallel()
	for _, state := range []contract.WorkerState{contract.WorkerOffline, contract.WorkerDraining, contract.WorkerCordoned} {
		views := []contract.WorkerView{node("a", 1), node("b", 1)}
		s := play(t, Config{}, jobtype.Policy{}, views...)
		s.plain(1)
		lose := func() {
			it := s.e.items[1]
			s.step(Ended{Item: 1, Attempt: it.Attempt, Ending: Ending{Failure: contract.FailureWorkerLost, Gone: true, Message: "gone"}})
		}
		announce := func() (at int) {
			require.Equal(t, PhaseRunning, s.e.items[1].Phase)
			at = slices.IndexFunc(views, func(w contract.WorkerView) bool { return w.ID == s.e.items[1].Worker })
			seen := slices.Clone(views)
			seen[at].State, seen[at].Leaving = state, state == contract.WorkerOffline
			s.step(WorkersChanged{Workers: seen})
			return at
		}
		for range 9 {
			at := announce()
			s.reload()
			views[at].Instance += "x"
			s.step(WorkersChanged{Workers: slices.Clone(views)})
			lose()
		}
		assert.Empty(t, s.settled, state)
		assert.Empty(t, s.e.items[1].Losses, state)
		at := announce()
		s.step(WorkersChanged{Workers: slices.Clone(views)})
		views[at].Instance += "x"
		s.step(WorkersChanged{Workers: slices.Clone(views)})
		lose()
		assert.Len(t, s.e.items[1].Losses, 1, "it works again")
	}
}

func TestAHeldItem(t *testing.T) {
	t.Parallel()
	held := func() *script {
		s := play(t, Config{}, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, node("a", 1), node("b", 1))
		s.plain(1)
		s.end(1, contract.FailureWorkerLost)
		s.wait(time.Minute)
		return s
	}
	late := held()
	late.deliver(1, 1, "")
	assert.Equal(t, "1 completed", late.ended(), "its outcome counts whenever it comes")
	freed := held()
	work := freed.e.work[""]
	work.Policy.OnWorkerLoss = jobtype.WorkerLossReplace
	freed.e.SetWork(freed.now, "", work)
	assert.Equal(t, "1@b", starts(freed.take()), "what was held before continues")
	windowed := held()
	windowed.e.SetClosing(windowed.now, Closing{At: windowed.now.Add(time.Minute)})
	windowed.wait(2 * time.Minute)
	windowed.e.SetClosing(windowed.now, Closing{})
	assert.Empty(t, starts(windowed.take()), "the end of a window does not send it elsewhere")
	assert.Equal(t, "1@a", starts(windowed.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true})))
	canceled := held()
	canceled.e.Cancel(canceled.now, 1, "enough")
	canceled.take()
	assert.Equal(t, "1 canceled enough", canceled.ended())
}

func TestAHeldItemGoesNowhereElse(t *testing.T) {
	t.Parallel()
	back := func(policy jobtype.Policy) *script {
		policy.OnWorkerLoss = jobtype.WorkerLossHold
		s := play(t, Config{}, policy, node("a", 1), node("b", 1))
		require.Equal(t, "1@a", starts(s.plain(1)))
		s.end(1, contract.FailureWorkerLost)
		s.wait(time.Minute)
		require.Equal(t, "1@a", starts(s.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true})))
		return s
	}
	beat := func(n int64) WorkersChanged {
		a := node("a", 1)
		a.Beat = n
		return WorkersChanged{Workers: []contract.WorkerView{a, node("b", 1)}}
	}
	for _, refusal := range []Failure{contract.FailureAtCapacity, contract.FailureDraining, contract.FailureNotTaken, contract.FailureCannotStart, contract.FailureGuard} {
		s := back(jobtype.Policy{})
		again := starts(s.end(1, refusal))
		s.reload()
		again += starts(s.step(beat(1)))
		assert.Equal(t, "1@a", again+starts(s.wait(10*time.Minute)), refusal)
	}
	for failure, ran := range map[Failure]time.Duration{contract.FailureDeferred: time.Hour, contract.FailureDraining: time.Hour} {
		s := back(jobtype.Policy{})
		gone := s.step(Ended{Item: 1, Attempt: s.e.items[1].Attempt, Ending: Ending{Failure: failure, Duration: ran, Delay: time.Minute, Worker: "a", Instance: "i1"}})
		again := starts(gone) + starts(s.step(WorkersChanged{Workers: []contract.WorkerView{offline("a", false), node("b", 1)}}))
		assert.Equal(t, "1@b", again+starts(s.wait(10*time.Minute)), "%s: it ran; %s", failure, s.ended())
	}
	failed := back(jobtype.Policy{RetryLimit: 1})
	failed.end(1, contract.FailureFailed)
	assert.Equal(t, "1@b", starts(failed.wait(time.Hour)), "an attempt has ended: nothing is half done")
	replaced := back(jobtype.Policy{})
	replaced.end(1, contract.FailureAtCapacity)
	work := replaced.e.work[""]
	work.Policy.OnWorkerLoss = jobtype.WorkerLossReplace
	replaced.e.SetWork(replaced.now, "", work)
	replaced.take()
	assert.Equal(t, "1@b", starts(replaced.step(WorkersChanged{Workers: []contract.WorkerView{offline("a", false), node("b", 1)}})))
}

// TestAHeldItemWaitsForAWorkerThatCanRunIt: the worker came back without the handler or the program.
func TestAHeldItemWaitsForAWorkerThatCanRunIt(t *testing.T) {
	t.Parallel()
	for _, lack := range []Failure{contract.FailureUnsupported, contract.FailureNotInstalled} {
		s := play(t, Config{}, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold, ExecutionTimeout: seconds(3600)}, node("a", 1), node("b", 1))
		s.plain(1)
		s.end(1, contract.FailureWorkerLost)
		s.wait(time.Minute)
		require.Equal(t, "1@a", starts(s.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true})))
		assert.Empty(t, starts(s.end(1, lack)), lack)
		s.reload()
		a := node("a", 1)
		a.Beat = 1
		assert.Empty(t, starts(s.step(WorkersChanged{Workers: []contract.WorkerView{a, node("b", 1)}})), lack)
		assert.Empty(t, starts(s.wait(72*time.Hour)), lack)
		require.Empty(t, s.ended(), lack)
		wait := s.e.WaitOf(1, s.now)
		assert.Equal(t, []any{contract.CodeUnreachable, "a"}, []any{wait.Code, wait.Object}, lack)
		assert.Contains(t, wait.Detail, "worker a is back, but cannot run it (because "+string(lack)+")")
		a.Instance = "i2"
		assert.Equal(t, "1@a", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{a, node("b", 1)}})), lack)
	}
}

// TestAHeldItemWaitsForItsHandler: the fleet of a DAG also has workers without the handler, its label or its job type.
func TestAHeldItemWaitsForItsHandler(t *testing.T) {
	t.Parallel()
	for name, unfit := range map[string]func(*contract.WorkerView){
		"without the handler":    func(w *contract.WorkerView) { w.Capabilities = nil },
		"that cannot execute it": func(w *contract.WorkerView) { w.Capabilities[0].Execute = false },
		"without its label":      func(w *contract.WorkerView) { w.Labels = nil },
		"for other job types":    func(w *contract.WorkerView) { w.JobTypes = []string{"other"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fit := func(instance string) contract.WorkerView {
				w := node("a", 1)
				w.Instance, w.Labels = instance, map[string]string{"rack": "1"}
				return w
			}
			s := play(t, Config{}, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold, ExecutionTimeout: seconds(3600)}, fit("i1"), node("b", 1))
			require.Equal(t, "1@a", starts(s.offer(Item{ID: 1, Want: Want{Labels: map[string]string{"rack": "1"}}})))
			s.end(1, contract.FailureWorkerLost)
			s.wait(time.Minute)
			back := fit("i2")
			unfit(&back)
			assert.Empty(t, starts(s.step(WorkersChanged{Workers: []contract.WorkerView{back, node("b", 1)}})))
			s.reload()
			assert.Empty(t, starts(s.wait(72*time.Hour)))
			require.Empty(t, s.ended())
			assert.Contains(t, s.e.WaitOf(1, s.now).Detail, "worker a is back, but cannot run it")
			assert.Equal(t, "1@a", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{fit("i3"), node("b", 1)}})))
		})
	}
}

// TestAHeldItemWaitsAgain: the worker came back, and goes before the item has started.
func TestAHeldItemWaitsAgain(t *testing.T) {
	t.Parallel()
	unreachable := node("a", 1)
	unreachable.Fresh = false
	for name, gone := range map[string]contract.WorkerView{"offline": offline("a", false), "unreachable": unreachable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, Config{}, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold, ExecutionTimeout: seconds(3600)}, node("a", 1), node("b", 1))
			s.plain(1)
			s.end(1, contract.FailureWorkerLost)
			s.wait(time.Minute)
			s.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true})
			s.end(1, contract.FailureAtCapacity)
			require.Equal(t, PhaseQueued, s.e.items[1].Phase)
			for range 2 {
				s.step(WorkersChanged{Workers: []contract.WorkerView{gone, node("b", 1)}})
				s.reload()
				assert.Empty(t, starts(s.wait(72*time.Hour)))
				assert.Empty(t, s.ended(), "it waits as long as its run may last")
				wait := s.e.WaitOf(1, s.now)
				assert.Equal(t, []any{contract.CodeUnreachable, "a"}, []any{wait.Code, wait.Object})
			}
			a := node("a", 1)
			a.Instance = "i2"
			assert.Equal(t, "1@a", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{a, node("b", 1)}})))
		})
	}
}

// TestAHeldItemWaitsAgainThoughAnotherWorkerLacksItsProgram: its worker goes, also while the run is paused.
func TestAHeldItemWaitsAgainThoughAnotherWorkerLacksItsProgram(t *testing.T) {
	t.Parallel()
	for _, paused := range []bool{false, true} {
		b := node("b", 1)
		b.Instance = "i2"
		s := play(t, Config{}, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, node("a", 1), b)
		require.Equal(t, "1@a", starts(s.plain(1)))
		require.Equal(t, "1@b", starts(s.end(1, contract.FailureNotInstalled)))
		s.end(1, contract.FailureWorkerLost)
		s.wait(time.Minute)
		s.e.Pause(s.now, "ann", "")
		s.step(WorkerProbed{ID: "b", Instance: "i2", Alive: true})
		require.Equal(t, PhaseQueued, s.e.items[1].Phase)
		if !paused {
			s.e.Resume()
		}
		gone := b
		gone.State, gone.Fresh = contract.WorkerOffline, false
		s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 1), gone}})
		s.e.Resume()
		assert.Empty(t, starts(s.wait(72*time.Hour)))
		require.Empty(t, s.ended())
		b.Instance = "i3"
		assert.Equal(t, "1@b", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 1), b}})))
	}
}

// TestALateEndFreesAHeldItem: the lost attempt has run, and reports its end to a run that waits for its worker.
func TestALateEndFreesAHeldItem(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{false, true} {
		s := play(t, Config{}, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, node("a", 1), node("b", 1))
		require.Equal(t, "1@a", starts(s.plain(1)))
		s.end(1, contract.FailureWorkerLost)
		s.wait(time.Minute)
		s.e.Pause(s.now, "ann", "")
		if back {
			s.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true})
			require.Equal(t, PhaseQueued, s.e.items[1].Phase)
		}
		s.step(Delivered{Item: 1, Attempt: 1, Ending: Ending{Failure: contract.FailureDraining, Duration: time.Hour, Worker: "a", Instance: "i1"}})
		s.step(WorkersChanged{Workers: []contract.WorkerView{offline("a", false), node("b", 1)}})
		s.e.Resume()
		assert.Equal(t, "1@b", starts(s.step(Tick{})), s.ended())
	}
}

// TestARefusalFreesNoHeldItem: a late refusal of the lost attempt does not release its item.
func TestARefusalFreesNoHeldItem(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, node("a", 1), node("b", 1))
	s.plain(1)
	s.end(1, contract.FailureWorkerLost)
	s.wait(time.Minute)
	s.deliver(1, 1, contract.FailureDraining)
	assert.Empty(t, starts(s.wait(time.Hour)))
	assert.Equal(t, PhaseLost, s.e.items[1].Phase)
}

// TestAHeldItemThatOnlyWaitedStaysBound: its window closes while the program of the lost attempt still runs.
func TestAHeldItemThatOnlyWaitedStaysBound(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold}, node("a", 1), node("b", 1))
	s.plain(1)
	s.end(1, contract.FailureWorkerLost)
	s.wait(time.Minute)
	require.Equal(t, "1@a", starts(s.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true})))
	s.e.Suspend(s.now)
	s.e.CancelRunning(s.now, "the window has closed")
	s.step(Ended{Item: 1, Attempt: 2, Ending: Ending{Failure: contract.FailureAtCapacity, Duration: 20 * time.Second, Worker: "a", Instance: "i1"}})
	s.reload()
	a := node("a", 1)
	a.Fresh = false
	s.step(WorkersChanged{Workers: []contract.WorkerView{a, node("b", 1)}})
	s.e.Unsuspend(s.now)
	assert.Empty(t, starts(s.wait(time.Hour)), "b must not get it")
	a.Fresh = true
	assert.Equal(t, "1@a", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{a, node("b", 1)}})))
}

// TestAnItemThatNeverBeganExpires: its windows closed while it was in its guard, or its worker drained before its start.
func TestAnItemThatNeverBeganExpires(t *testing.T) {
	t.Parallel()
	for _, failure := range []Failure{contract.FailureAtCapacity, contract.FailureDraining} {
		s := play(t, Config{}, jobtype.Policy{}, node("a", 1))
		s.offer(Item{ID: 1, ExpiresAt: s.now.Add(24 * time.Hour)})
		for range maxCuts + 1 {
			require.Equal(t, PhaseRunning, s.e.items[1].Phase, failure)
			s.e.Suspend(s.now)
			s.e.CancelRunning(s.now, "the window has closed")
			ending := Ending{Failure: failure, Worker: "a", Instance: "i1"}
			if failure == contract.FailureAtCapacity {
				ending.Duration = 20 * time.Second
			}
			s.step(Ended{Item: 1, Attempt: s.e.items[1].Attempt, Ending: ending})
			s.reload()
			s.wait(time.Minute)
			require.Empty(t, s.ended(), failure)
			s.e.Unsuspend(s.now)
			s.take()
			s.wait(time.Minute)
		}
		s.e.Suspend(s.now)
		s.e.CancelRunning(s.now, "the window has closed")
		s.step(Ended{Item: 1, Attempt: s.e.items[1].Attempt, Ending: Ending{Failure: failure, Worker: "a", Instance: "i1"}})
		s.wait(24 * time.Hour)
		s.e.Unsuspend(s.now)
		s.wait(time.Minute)
		assert.Contains(t, s.ended(), "1 expired", failure)
	}
}

// TestADrainedItemExpiresOnlyBeforeItBegan: its worker returned it before or after its start.
func TestADrainedItemExpiresOnlyBeforeItBegan(t *testing.T) {
	t.Parallel()
	for ran, expires := range map[time.Duration]bool{0: true, time.Second: false} {
		s := play(t, Config{}, jobtype.Policy{}, node("a", 1))
		require.Equal(t, "1@a", starts(s.offer(Item{ID: 1, ExpiresAt: s.now.Add(time.Hour)})))
		s.e.Suspend(s.now)
		s.step(Ended{Item: 1, Attempt: 1, Ending: Ending{Failure: contract.FailureDraining, Duration: ran, Worker: "a", Instance: "i1"}})
		s.wait(2 * time.Hour)
		s.e.Unsuspend(s.now)
		again := starts(s.take())
		assert.Equal(t, []bool{expires, !expires}, []bool{strings.Contains(s.ended(), "1 expired"), again == "1@a"}, "%s %s", ran, again)
	}
}

// TestACanceledItemThatDidNotBeginCoolsNoWorker: its worker has room for the next one.
func TestACanceledItemThatDidNotBeginCoolsNoWorker(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1))
	s.plain(2)
	require.True(t, s.e.Cancel(s.now, 1, "ann"))
	assert.Equal(t, "2@a", starts(s.end(1, contract.FailureAtCapacity)))
}

// TestAHeldItemDoesNotWaitForAnUnfitWorker: the worker is back, and will never take the item.
func TestAHeldItemDoesNotWaitForAnUnfitWorker(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold, ExecutionTimeout: seconds(3600)}, node("a", 1))
	s.plain(1)
	s.end(1, contract.FailureWorkerLost)
	s.wait(time.Minute)
	a := node("a", 0)
	a.Instance = "i2"
	s.step(WorkersChanged{Workers: []contract.WorkerView{a}})
	s.wait(time.Hour)
	assert.Contains(t, s.ended(), "1 failed NO_WORKER")
}

func TestNothingIsHeldOnASharedQueue(t *testing.T) {
	t.Parallel()
	a := node("a", 1)
	a.Shared = []string{"jt"}
	s := play(t, Config{}, jobtype.Policy{OnWorkerLoss: jobtype.WorkerLossHold, Routing: jobtype.RoutingShared}, a)
	s.plain(1)
	s.end(1, contract.FailureWorkerLost)
	assert.Equal(t, "1@", starts(s.wait(Grace)))
}

func TestAnOfflineWorkerLosesWhatRuns(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1), node("b", 1))
	require.Equal(t, "1@a", starts(s.plain(1)))
	assert.Empty(t, s.step(WorkersChanged{Workers: []contract.WorkerView{offline("a", true), node("b", 1)}}), "one that said goodbye still ends its work")
	assert.Empty(t, s.step(WorkersChanged{Workers: []contract.WorkerView{node("b", 1)}}), "an unknown worker is no news")
	gone := WorkersChanged{Workers: []contract.WorkerView{offline("a", false), node("b", 1)}}
	require.Equal(t, "abandon", kinds(s.step(gone)))
	assert.Equal(t, "worker a is OFFLINE", s.last[0].Reason)
	assert.Empty(t, s.step(gone), "once is enough")
	assert.Equal(t, "1@b", starts(s.end(1, contract.FailureWorkerLost)), "no grace")
	s.step(Ended{Item: 1, Attempt: 1})
	assert.Empty(t, s.ended(), "the late end of the lost attempt is ignored")
	s.step(Ended{Item: 1, Attempt: 2})
	assert.Equal(t, "1 completed", s.ended())
}

func TestTheGraceEndsWithTheWorker(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1), node("b", 1))
	s.plain(1)
	s.end(1, contract.FailureWorkerLost)
	assert.Equal(t, "1@b", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{offline("a", false), node("b", 1)}})))
}

func TestAFencedProcessIsIgnored(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1))
	s.plain(1)
	next := node("a", 0)
	next.Instance, next.Fenced = "i2", []string{"i1"}
	assert.Equal(t, "abandon", kinds(s.step(WorkersChanged{Workers: []contract.WorkerView{next}})))
	s.end(1, contract.FailureWorkerLost)
	s.step(Delivered{Item: 1, Attempt: 1, Ending: Ending{Worker: "a", Instance: "i1"}})
	assert.Empty(t, s.ended())
	next.MaxExecute = 1
	assert.Equal(t, "1@a", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{next}})))
}

// A killed server may have accepted the end of an attempt without an answer: its worker then
// reports it again.
func TestAnEndingToldTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	for _, first := range []Failure{contract.FailureFailed, contract.FailureTimeout, contract.FailureStale, contract.FailureAtCapacity, contract.FailureDraining} {
		s := play(t, Config{}, jobtype.Policy{RetryLimit: 1}, node("a", 1))
		s.plain(1)
		s.end(1, first)
		for range 3 {
			require.Empty(t, starts(s.deliver(1, 1, first)))
		}
		require.Equal(t, "1@a", starts(s.wait(time.Minute)), first)
		s.deliver(1, 2, "")
		assert.Equal(t, "1 completed", s.ended(), first)
	}
}

func TestOfATimeoutOnlyASuccessIsNews(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{RetryLimit: 2, RetryBackoff: seconds(10)}, node("a", 1))
	s.plain(1)
	s.step(Ended{Item: 1, Attempt: 1, Ending: Ending{Failure: contract.FailureTimeout, Unreported: true}})
	s.deliver(1, 1, contract.FailureTimeout)
	view, _ := s.e.View(1)
	assert.Equal(t, 1, view.Retries, "the attempt has cost its retry")
	s.deliver(1, 1, "")
	assert.Equal(t, "1 completed", s.ended())
}

func TestLimitsHoldWhenTheRegistryIsRebuilt(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{PerWorkerExecutionConcurrency: 2}, node("a", 4))
	require.Equal(t, "1@a 2@a", starts(s.plain(6)))
	s.step(WorkersChanged{})
	s.end(1, "")
	assert.Equal(t, "3@a", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 4)}})), "one still runs there")
	s.step(WorkersChanged{})
	s.reload()
	assert.Empty(t, starts(s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 4)}})))
	s.step(WorkersChanged{})
	next := node("a", 4)
	next.Instance = "i2"
	assert.Equal(t, "4@a 5@a", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{next}})), "another process")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{HeartbeatTimeout: seconds(5), RetryLimit: 9}, node("a", 2))
	s.plain(3)
	for id := 1; id <= 3; id++ {
		assert.True(t, s.e.Cancel(s.now, id, "enough"))
		assert.Equal(t, id < 3, s.e.Cancel(s.now, id, "again"))
	}
	assert.Equal(t, "cancel cancel", kinds(s.take()))
	assert.Equal(t, "3 canceled enough", s.ended())
	s.end(1, contract.FailureFailed)
	assert.Equal(t, "forget", kinds(s.wait(5*time.Second+CancelWait)))
	assert.Equal(t, "3 canceled enough; 1 canceled enough; 2 canceled enough; its handler on a did not stop and may still run", s.ended())
	assert.False(t, s.e.Cancel(s.now, 1, "again"))

	s = play(t, Config{}, jobtype.Policy{}, node("a", 1))
	s.plain(1)
	s.e.Cancel(s.now, 1, "enough")
	s.end(1, "")
	assert.Equal(t, "1 completed", s.ended(), "it ended well nevertheless")

	pulls := node("a", 1)
	pulls.Shared = []string{"jt"}
	s = play(t, Config{}, jobtype.Policy{HeartbeatTimeout: seconds(5), Routing: jobtype.RoutingShared}, pulls)
	s.plain(1)
	s.e.Cancel(s.now, 1, "enough")
	s.wait(5*time.Second + CancelWait)
	assert.Equal(t, "1 canceled enough; its handler did not stop and may still run", s.ended(), "an attempt of a shared queue has no worker")
}

func TestExpire(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1), node("b", 1))
	s.plain(3)
	s.end(2, contract.FailureWorkerLost)
	for id := 1; id <= 3; id++ {
		assert.True(t, s.e.Expire(s.now, id, "too late"))
		assert.False(t, s.e.Expire(s.now, id, "again"))
	}
	assert.Equal(t, "cancel forget", kinds(s.take()))
	assert.Equal(t, "1 stale too late; its handler on a may still run; 2 stale too late; its handler on b may still run; 3 expired too late", s.ended())
	s.deliver(1, 1, "")
	assert.Len(t, s.settled, 3, "what comes late is not heard")
}

func TestBar(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{RetryLimit: 2}, node("a", 2), node("b", 1))
	s.plain(5)
	s.end(1, contract.FailureFailed)
	for id := 1; id <= 3; id++ {
		s.e.Bar(s.now, id, "disabled", false)
	}
	s.e.Bar(s.now, 5, "disabled", true)
	s.take()
	s.end(2, contract.FailureFailed)
	assert.Equal(t, "1 failed disabled; 5 canceled disabled; 2 failed because failed; not tried again: disabled", s.ended())
	s.end(3, "")
	assert.Contains(t, s.ended(), "3 completed")
}

func TestStop(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{RetryLimit: 2}, node("a", 3))
	s.plain(4)
	s.e.Stop(s.now, NotStarted, "over")
	s.offer(Item{ID: 5})
	assert.Equal(t, "4 not started over; 5 not started over", s.ended())
	s.end(1, contract.FailureFailed)
	s.end(2, contract.FailureDraining)
	s.end(3, "")
	assert.Equal(t, "4 not started over; 5 not started over; 1 failed because failed; 2 not started over; 3 completed", s.ended())
	assert.True(t, s.settled[2].Cut, "only the end of the run kept it from another attempt")
}

// An item that only its window has stopped continues in the next one, but not for ever.
func TestCutsWithoutProgressEnd(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1))
	s.plain(1)
	cut := func(checkpoint string) string {
		s.e.CancelRunning(s.now, "the window has closed")
		s.e.Suspend(s.now)
		require.Equal(t, "cancel", kinds(s.take()))
		s.step(Ended{Item: 1, Attempt: s.e.items[1].Attempt, Ending: Ending{Failure: contract.FailureCanceled, Checkpoint: json.RawMessage(checkpoint)}})
		s.e.Unsuspend(s.now)
		return starts(s.take())
	}
	for at := range 5 {
		assert.Equal(t, "1@a", cut(fmt.Sprint(at)))
	}
	for range maxCuts - 1 {
		assert.Equal(t, "1@a", cut("4"))
	}
	assert.Empty(t, cut("4"))
	assert.Contains(t, s.ended(), "1 canceled the window has closed; it was stopped so 3 times without a new checkpoint")
}
