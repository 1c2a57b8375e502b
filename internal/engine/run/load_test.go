package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/trial"
	"github.com/roundsman/roundsman/jobtype"
)

func capped(id string, slots int, caps map[string]int) contract.WorkerView {
	w := node(id, slots)
	w.Capabilities = nil
	for _, handler := range []string{"g", "h"} {
		w.Capabilities = append(w.Capabilities, contract.Capability{Handler: handler, Execute: true, MaxExecute: caps[handler]})
	}
	return w
}

func count(t *testing.T, decisions []Decision) int {
	t.Helper()
	got := starts(decisions)
	n := strings.Count(got, "@")
	require.Equal(t, n, strings.Count(got, "@a"), got)
	return n
}

func TestWhatOthersUseIsNotFree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		others, ofHandler, placed int
	}{
		"nobody else is there":       {0, 0, 4},
		"others of another handler":  {1, 0, 4},
		"others use the cap":         {1, 1, 3},
		"others use all but one":     {5, 2, 1},
		"others use the whole cap":   {4, 4, 0},
		"others use all slots":       {6, 0, 0},
		"others use more than there": {9, 9, 0},
		"a negative number is none":  {-3, -1, 4},
	} {
		s := play(t, Config{}, jobtype.Policy{PerWorkerExecutionConcurrency: 10}, capped("a", 6, map[string]int{"h": 4}))
		s.step(WorkerHasRoom{ID: "a", Instance: "i1", Handler: "h", Load: s.said(c.others, c.ofHandler)})
		assert.Equal(t, c.placed, count(t, s.plain(10)), name)
	}
}

func TestEachHandlerHasItsOwnCap(t *testing.T) {
	t.Parallel()
	s := play(t, Config{Work: map[string]Work{"h": {Handler: "h"}, "g": {Handler: "g"}}}, jobtype.Policy{}, capped("a", 6, map[string]int{"h": 2, "g": 3}))
	s.step(WorkerHasRoom{ID: "a", Instance: "i1", Handler: "h", Load: s.said(1, 1)})
	var items []Item
	for id := range 10 {
		items = append(items, Item{ID: id, Work: []string{"h", "g"}[id%2]})
	}
	assert.Equal(t, "0@a 1@a 3@a 5@a", starts(s.offer(items...)), "what h runs counts against all slots, not against the cap of g")
}

func TestOlderReportsChangeNothing(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{PerWorkerExecutionConcurrency: 10}, node("a", 4))
	others := func() int { return s.e.Workers("", s.now)[0].Others }
	room := func(instance string, after time.Duration, n int) int {
		s.step(WorkerHasRoom{ID: "a", Instance: instance, Handler: "h", Load: LoadReport{At: epoch.Add(after), Others: n}})
		return others()
	}
	assert.Equal(t, 3, room("i1", time.Second, 3))
	assert.Equal(t, 3, room("i1", 0, 0), "older")
	assert.Equal(t, 3, room("i0", time.Hour, 0), "of another process")
	s.step(WorkerProbed{ID: "a", Instance: "i1", BeatAt: epoch, Used: 0})
	assert.Equal(t, 3, others(), "an older heartbeat")
	assert.Equal(t, 1, room("i1", 2*time.Second, 1))
	require.Equal(t, 3, count(t, s.plain(10)))
	s.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true, BeatAt: epoch.Add(3 * time.Second), Used: 3})
	assert.Zero(t, others(), "three in use, and they are the run's")
	assert.Equal(t, "4@a", starts(s.last))
}

// Other runs fill a: a refused item is sent there again only as a rare trial, while b does the
// work.
func TestItemsKeepAwayFromAWorkerThatOthersFill(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{PerWorkerExecutionConcurrency: 10}, node("a", 2), node("b", 1))
	require.Equal(t, "1@a 2@b 3@a", starts(s.plain(20)))
	for _, id := range []int{1, 3} {
		assert.Empty(t, starts(s.endSaying(id, contract.FailureAtCapacity, s.said(2, 0))))
	}
	assert.Empty(t, starts(s.wait(CoolDown+time.Second)), "the cool-down is over, and a is known to be full")
	wait := s.e.WaitOf(4, s.now)
	assert.Equal(t, []any{contract.CodeSlots, "all slots (max_execute) of the fitting workers are taken; others use 2 slots of a"}, []any{wait.Code, wait.Detail})
	assert.Equal(t, "1@b", starts(s.end(2, "")), "what came back goes first")
	assert.Equal(t, "3@a", starts(s.wait(trial.Pause)), "one item to try it")
	assert.Empty(t, starts(s.wait(time.Second)), "one")
	s.endSaying(3, contract.FailureAtCapacity, s.said(2, 0))
	assert.Empty(t, starts(s.wait(2*trial.Pause-time.Second)), "twice as long")
	require.Equal(t, "3@a", starts(s.wait(2*time.Second)))
	s.reload()
	assert.Equal(t, "4@a 5@a", starts(s.endSaying(3, "", s.said(0, 0))), "the neighbour has gone")
}

func TestTrialsGrowWhileTheyAreTaken(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{PerWorkerExecutionConcurrency: 100}, node("a", 16))
	s.step(WorkerHasRoom{ID: "a", Instance: "i1", Handler: "h", Load: s.said(16, 0)})
	require.Empty(t, starts(s.plain(50)))
	var sizes []int
	for range 4 {
		at := s.e.NextWake()
		assert.LessOrEqual(t, at.Sub(s.now), trial.Wait+time.Second)
		s.now = at
		sizes = append(sizes, count(t, s.step(Tick{})))
	}
	assert.Equal(t, []int{1, 2, 4, 8}, sizes)
}

func TestRefusedTrialsBecomeRare(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 2))
	s.plain(1)
	var pauses []time.Duration
	for range 6 {
		s.endSaying(1, contract.FailureAtCapacity, s.said(2, 0))
		s.reload()
		s.step(Tick{})
		pauses = append(pauses, s.e.NextWake().Sub(s.now).Round(5*time.Second))
		for starts(s.last) == "" {
			s.now = s.e.NextWake()
			s.step(Tick{})
		}
	}
	assert.Equal(t, []time.Duration{trial.Pause, 2 * trial.Pause, 4 * trial.Pause, 8 * trial.Pause, trial.PauseMost, trial.PauseMost}, pauses)
}

// A worker that refuses but looks free, because of a recent report, must cool down: otherwise
// the same item would be sent there for ever.
func TestARefusalThatWasNotExpectedCools(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1))
	s.plain(1)
	assert.Empty(t, starts(s.end(1, contract.FailureAtCapacity)))
	assert.Empty(t, starts(s.wait(CoolDown-time.Millisecond)))
	s.reload()
	assert.Equal(t, "1@a", starts(s.wait(time.Millisecond)))
}

func TestAWorkerThatHasRoomIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{PerWorkerExecutionConcurrency: 10}, node("a", 3))
	s.plain(9)
	for _, id := range []int{1, 2, 3} {
		s.endSaying(id, contract.FailureAtCapacity, s.said(3, 3))
	}
	s.now = s.now.Add(time.Second)
	room := WorkerHasRoom{ID: "a", Instance: "i1", Handler: "h", Load: s.said(1, 1)}
	assert.Equal(t, "1@a 2@a", starts(s.step(room)), "in its cool-down")
	assert.Empty(t, starts(s.step(room)), "told twice, heard once")
	room.Instance, room.Load.Others = "i0", 0
	assert.Empty(t, starts(s.step(room)), "another process")
}

func TestUncordonEndsACoolDown(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{}, node("a", 1))
	s.plain(1)
	s.end(1, contract.FailureDraining)
	assert.Empty(t, starts(s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 1)}})), "a view that tells nothing new ends nothing")
	kept := node("a", 1)
	kept.State = contract.WorkerCordoned
	s.step(WorkersChanged{Workers: []contract.WorkerView{kept}})
	assert.Equal(t, contract.CodeNoWorker, s.e.WaitOf(1, s.now).Code)
	assert.Equal(t, "1@a", starts(s.step(WorkersChanged{Workers: []contract.WorkerView{node("a", 1)}})))
}

// A worker that did not answer gets no more than it has, until its next report.
func TestASilentWorkerIsFull(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{PerWorkerExecutionConcurrency: 10}, node("a", 4))
	s.plain(10)
	s.end(1, contract.FailureNotTaken)
	s.end(2, contract.FailureNotTaken)
	use := s.e.Workers("", s.now)[0]
	assert.Equal(t, []int{2, 2}, []int{use.InFlight, use.Others})
	assert.Equal(t, "1@a", starts(s.step(WorkerProbed{ID: "a", Instance: "i1", Alive: true, BeatAt: s.now, Used: 3})))
	assert.Empty(t, starts(s.wait(time.Second)))
}

// At most two trials a second happen in any fleet.
func TestAFullFleetIsNotTriedAllTheTime(t *testing.T) {
	t.Parallel()
	var workers []contract.WorkerView
	for n := range 200 {
		workers = append(workers, node(fmt.Sprintf("w%03d", n), 1))
	}
	s := play(t, Config{}, jobtype.Policy{}, workers...)
	refuse := func(decisions []Decision) (n int) {
		for len(decisions) > 0 {
			var more []Decision
			for _, d := range decisions {
				if d.Kind == Start {
					n++
					more = append(more, s.endSaying(d.Item, contract.FailureAtCapacity, s.said(1, 0))...)
				}
			}
			decisions = more
		}
		return n
	}
	assert.GreaterOrEqual(t, refuse(s.plain(300)), 200, "nothing is known of any of them")
	trials := 0
	for end := s.now.Add(10 * time.Minute); s.now.Before(end); {
		s.now = s.now.Add(time.Second)
		trials += refuse(s.step(Tick{}))
	}
	assert.LessOrEqual(t, trials, 2*600)
	assert.GreaterOrEqual(t, trials, 200)
}

func paced(t *testing.T, slots, perWorker int, pace time.Duration, others int) *script {
	t.Helper()
	s := play(t, Config{}, jobtype.Policy{PerWorkerExecutionConcurrency: 1000}, node("a", slots))
	s.offer(Item{ID: 1000})
	s.step(Ended{Item: 1000, Attempt: 1, Ending: Ending{Duration: pace, Load: s.said(others, others)}})
	work := s.e.work[""]
	work.PerWorker = perWorker
	s.e.SetWork(s.now, "", work)
	return s
}

func TestHowMuchIsPrefetched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slots, others, perWorker int
		pace                     time.Duration
		placed                   int
	}{
		"nothing is known yet":                   {slots: 4, placed: 4},
		"as many as end within the window":       {slots: 4, pace: 100 * time.Millisecond, placed: 6},
		"at most so many":                        {slots: 4, pace: time.Millisecond, placed: 8},
		"one slot, quick":                        {slots: 1, pace: 50 * time.Millisecond, placed: 2},
		"one slot, not quick enough":             {slots: 1, pace: 51 * time.Millisecond, placed: 1},
		"many slots end quickly together":        {slots: 25, pace: 400 * time.Millisecond, placed: 28},
		"slow":                                   {slots: 100, pace: 401 * time.Millisecond, placed: 100},
		"what others use ends who knows when":    {slots: 4, others: 3, pace: 25 * time.Millisecond, placed: 3},
		"others use all":                         {slots: 4, others: 4, pace: time.Millisecond, placed: 0},
		"the run's limit counts what is sent":    {slots: 4, perWorker: 5, pace: time.Millisecond, placed: 5},
		"the run's limit is below what there is": {slots: 4, perWorker: 3, pace: time.Millisecond, placed: 3},
	} {
		assert.Equal(t, c.placed, count(t, paced(t, c.slots, c.perWorker, c.pace, c.others).plain(200)), name)
	}
}

func TestAPrefetchIsTheSecondChoice(t *testing.T) {
	t.Parallel()
	s := play(t, Config{}, jobtype.Policy{PerWorkerExecutionConcurrency: 100}, node("a", 2), node("b", 2), node("c", 2))
	pace := map[string]time.Duration{"a": 50 * time.Millisecond, "b": 100 * time.Millisecond}
	for i, id := range []string{"a", "b"} {
		s.offer(Item{ID: 100 + i, Want: Want{Node: id}})
		s.step(Ended{Item: 100 + i, Attempt: 1, Ending: Ending{Duration: pace[id]}})
	}
	s.step(WorkerHasRoom{ID: "c", Instance: "i1", Handler: "h", Load: s.said(2, 0)})
	s.now = s.now.Add(trial.Pause)
	assert.Equal(t, "1@a 2@b 3@a 4@b 5@a 6@b 7@a 8@c", starts(s.plain(50)), "free slots, then those that end soon, then a trial")
}

// A prefetched item without a slot ends the prefetch, until another item ends there.
func TestNothingIsPrefetchedAfterARefusal(t *testing.T) {
	t.Parallel()
	s := paced(t, 2, 0, time.Millisecond, 0)
	require.Equal(t, 6, count(t, s.plain(20)))
	assert.Empty(t, starts(s.end(6, contract.FailureAtCapacity)), "it is known to be full: no need to cool it")
	assert.Empty(t, starts(s.step(Ended{Item: 1, Attempt: 1, Ending: Ending{Duration: 50 * time.Millisecond}})), "two run and two still wait")
	assert.Equal(t, "6@a", starts(s.step(Ended{Item: 2, Attempt: 1, Ending: Ending{Duration: 50 * time.Millisecond}})))
}

// An item that has its pool and a full worker releases the pool while it waits, unless another
// worker can serve it.
func TestAnItemWithoutRoomGivesItsResourcesBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		workers  []contract.WorkerView
		others   int
		givesUp  bool
		restarts string
	}{
		"none is left":       {[]contract.WorkerView{node("a", 1)}, 1, true, ""},
		"slots looked free":  {[]contract.WorkerView{node("a", 3)}, 3, true, ""},
		"another has a slot": {[]contract.WorkerView{node("a", 2), node("b", 1)}, 2, false, "1@b"},
	} {
		s := play(t, Config{Claims: true, Fence: 1, Fences: 100}, jobtype.Policy{PerWorkerExecutionConcurrency: 10}, c.workers...)
		require.Equal(t, "watch acquire", kinds(s.offer(Item{ID: 1, Needs: Needs{Pools: map[string]int{"db": 1}}})), name)
		require.Equal(t, "1@a", starts(s.step(Granted{Item: 1, Ask: s.last[1].Ask, Fence: 200, Fences: 10})), name)
		full := s.endSaying(1, contract.FailureAtCapacity, s.said(c.others, 0))
		assert.Equal(t, c.restarts, starts(full), name)
		if !c.givesUp {
			assert.Equal(t, "start", kinds(full), name)
			continue
		}
		assert.Equal(t, "release", kinds(full), name)
		s.now = s.now.Add(time.Second)
		room := s.step(WorkerHasRoom{ID: "a", Instance: "i1", Handler: "h", Load: s.said(0, 0)})
		require.Equal(t, "acquire", kinds(room), name)
		s.step(Granted{Item: 1, Ask: room[0].Ask, Fence: 300, Fences: 10})
		assert.Equal(t, "1@a", starts(s.last), name)
		assert.EqualValues(t, 300, s.last[0].Fence)
	}
}

// A busy machine may delay the beats and the answer of a probe. The registry sends no view of a worker that stayed fresh.
func TestAWorkerThatAProbeFoundSilentIsProbedAgain(t *testing.T) {
	t.Parallel()
	silent, back := node("a", 2), node("a", 2)
	silent.Fresh, back.Beat = false, 1
	probed := WorkerProbed{ID: "a", Instance: "i1"}
	alive := WorkerProbed{ID: "a", Instance: "i1", Alive: true, BeatAt: epoch}
	for _, seen := range []bool{false, true} {
		s := play(t, Config{}, jobtype.Policy{}, node("a", 2))
		require.Equal(t, "1@a", starts(s.plain(1)))
		require.Equal(t, "probe", kinds(s.end(1, contract.FailureNotTaken)))
		for range 3 {
			require.Equal(t, "probe", kinds(s.step(probed)), "it is fresh for the registry")
		}
		if !seen {
			assert.Equal(t, "1@a", starts(s.step(alive)))
			assert.Empty(t, kinds(s.step(probed)), "the answer to an earlier probe")
			continue
		}
		s.step(WorkersChanged{Workers: []contract.WorkerView{silent}})
		assert.Empty(t, kinds(s.step(probed)), "the registry will report its next beat")
		s.step(WorkersChanged{Workers: []contract.WorkerView{back}})
		assert.Equal(t, "1@a", starts(s.wait(trial.Pause+time.Second)))
	}
}
