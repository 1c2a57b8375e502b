package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
)

func (m *model) draw(n int, name string) int { return rapid.IntRange(0, n-1).Draw(m.t, name) }

func (m *model) apply(event Event) {
	m.do(func(e *Engine, now time.Time) { e.Apply(now, event) })
}

func (m *model) act() {
	switch m.draw(24, "act") {
	case 0, 1, 2, 3:
		for range m.draw(4, "offers") + 1 {
			m.offer()
		}
	case 4, 5, 6, 7, 8:
		m.end(rapid.SampledFrom(failures).Draw(m.t, "failure"))
	case 9, 10:
		m.answer(m.draw(8, "answer"))
	case 11, 12:
		m.pass(time.Duration(m.draw(20_000, "ms")) * time.Millisecond)
	case 13, 14:
		m.flip()
	case 15:
		m.answerProbe(m.draw(3, "alive") > 0)
	case 16, 17:
		m.deliver()
	case 18:
		m.load()
	case 19, 20:
		m.operate()
	case 21:
		m.rest()
	case 22:
		m.change()
	case 23:
		m.observe(m.draw(30, "events"))
	}
}

func (m *model) offer() {
	t := m.t
	in := Item{
		ID: m.nextID, Work: rapid.SampledFrom([]string{"x", "x", "y", "z"}).Draw(t, "work"), Order: int64(m.draw(4, "order")),
		Estimate: time.Duration(rapid.SampledFrom([]int{0, 0, 5, 60}).Draw(t, "estimate")) * time.Second, Bytes: 10,
	}
	if again := m.draw(8, "again"); again == 0 && m.nextID > 1 {
		in.ID = 1 + m.draw(m.nextID-1, "id")
		in.Attempt = m.attempts[in.ID]
	}
	switch m.draw(9, "want") {
	case 0, 1:
		in.Want.Node = rapid.SampledFrom(workerIDs).Draw(t, "node")
	case 2:
		in.Want.Labels = map[string]string{"disk": rapid.SampledFrom([]string{"ssd", "tape"}).Draw(t, "disk")}
	case 3:
		in.Want = Want{Nowhere: true, Idle: rapid.Bool().Draw(t, "idle")}
	}
	switch m.draw(8, "needs") {
	case 0:
		in.Needs.Pools = map[string]int{"db": 1}
	case 1:
		in.Needs.Exclusive = []string{"volume/1"}
	case 2:
		in.Needs.Shared = []string{"volume/1"}
	}
	switch m.draw(10, "times") {
	case 0:
		in.NotBefore = m.now.Add(time.Duration(m.draw(30, "in")-5) * time.Second)
	case 1:
		in.ExpiresAt = m.now.Add(time.Duration(m.draw(30, "until")) * time.Second)
	case 2:
		in.Timeout = time.Duration(1+m.draw(40, "timeout")) * time.Second
	case 3:
		in.Retry = &Retry{Limit: m.draw(4, "limit"), Backoff: time.Second, MaxBackoff: time.Duration(m.draw(6, "most")) * time.Second}
	case 4:
		in.Checkpoint, in.Done = json.RawMessage(`{"at":0}`), float64(m.draw(110, "done"))
	}
	if _, lives := m.live[in.ID]; !lives {
		m.live[in.ID] = in
		m.attempts[in.ID] = in.Attempt
		delete(m.fences, in.ID)
		delete(m.deferred, in.ID)
	}
	m.nextID = max(m.nextID, in.ID+1)
	m.do(func(e *Engine, now time.Time) { e.Offer(now, in) })
}

var failures = []Failure{
	"", "", "", contract.FailureFailed, contract.FailureFailed, contract.FailurePermanent, contract.FailureStale, contract.FailureTimeout,
	contract.FailureCanceled, contract.FailureAtCapacity, contract.FailureAtCapacity, contract.FailureDraining, contract.FailureUnsupported,
	contract.FailureWorkerLost, contract.FailureWorkerLost, contract.FailureNotTaken, contract.FailureCannotStart, contract.FailureCannotStart,
	contract.FailureNotInstalled, contract.FailureDeferred, contract.FailureDeferred, contract.FailureGuard, "of a later version",
}

func (m *model) ending(failure Failure, of Decision) Ending {
	end := Ending{
		Failure: failure, Message: "because " + string(failure), Duration: time.Duration(m.draw(800, "took")) * time.Millisecond,
		Delay:      time.Duration(1+m.draw(9, "delay")) * time.Second,
		Unreported: failure == contract.FailureTimeout && rapid.Bool().Draw(m.t, "unreported"),
	}
	if m.draw(3, "checkpoint") == 0 {
		end.Checkpoint, end.Done = json.RawMessage(fmt.Sprintf(`{"at":%d}`, m.draw(3, "at"))), float64(m.draw(100, "done"))
	}
	if rapid.Bool().Draw(m.t, "loaded") {
		end.Load = m.drawLoad()
	}
	end.Worker, end.Instance = of.Worker, of.Instance
	if of.Shared && len(m.view) > 0 {
		end.Worker = rapid.SampledFrom(slices.Sorted(maps.Keys(m.view))).Draw(m.t, "taker")
		end.Instance = m.view[end.Worker].Instance
	}
	return end
}

func (m *model) drawLoad() LoadReport {
	others := m.draw(4, "others")
	return LoadReport{At: m.now.Add(-time.Duration(m.draw(3, "ago")) * time.Second), Others: others, OfHandler: m.draw(others+1, "ofHandler")}
}

// end ends one of the attempts, and reports it twice.
func (m *model) end(failure Failure) {
	if len(m.ghosts) > 0 && m.draw(3, "ghost") == 0 {
		ghost := m.ghosts[0]
		m.ghosts = m.ghosts[1:]
		m.unchanged(func(e *Engine, now time.Time) { e.Apply(now, ghost) })
		return
	}
	if len(m.open) == 0 {
		return
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.open))).Draw(m.t, "item")
	ended := Ended{Item: id, Attempt: m.open[id].Attempt, Ending: m.ending(failure, m.open[id])}
	if m.draw(8, "mistaken") == 0 {
		other := ended
		other.Attempt--
		m.unchanged(func(e *Engine, now time.Time) { e.Apply(now, other) })
	}
	delete(m.open, id)
	delete(m.deferred, id)
	before := *m.e.items[id]
	m.apply(ended)
	if failure == contract.FailureDeferred || failure == contract.FailureGuard {
		m.deferredAs(before, ended.Ending)
	}
	m.unchanged(func(e *Engine, now time.Time) { e.Apply(now, ended) })
}

// deferredAs checks an item after a deferral: it holds nothing, has lost no retry, and waits.
func (m *model) deferredAs(before item, end Ending) {
	it := m.e.items[before.ID]
	if it == nil || before.Canceling != "" || before.Attempt != it.Attempt {
		return
	}
	m.deferred[it.ID] = m.now.Add(end.Delay)
	require.Contains(m.q, []Phase{PhaseWaiting, PhaseLate}, it.Phase)
	require.Equal(m.q, []int{before.Retries, len(before.Losses), before.Charged}, []int{it.Retries, len(it.Losses), it.Charged}, "it has cost something")
	require.NotContains(m.q, m.granted, it.ID, "it keeps its resources")
}

func (m *model) unchanged(op func(*Engine, time.Time)) {
	before, decided := string(state(m.q, m.e)), len(m.log)
	m.do(op)
	require.Equal(m.q, before, string(state(m.q, m.e)))
	require.Equal(m.q, "[] [] []\n", m.log[decided].results)
}

// deliver delivers the end of some attempt out of band, and again.
func (m *model) deliver() {
	if m.nextID == 1 {
		return
	}
	id := 1 + m.draw(m.nextID-1, "item")
	it := m.e.items[id]
	d := Delivered{Item: id, Attempt: m.attempts[id] - m.draw(2, "before")}
	of, running := m.open[id]
	d.Ending = m.ending(rapid.SampledFrom(failures).Draw(m.t, "failure"), of)
	switch m.draw(4, "fence") {
	case 0:
		d.Fence = m.fences[id]
	case 1:
		d.Fence = m.fences[id] + 1
	}
	if it != nil && !it.inFlight() {
		d.Ending.Worker, d.Ending.Instance = it.Worker, it.Instance
	}
	accepted := it != nil && d.Attempt == it.Attempt && it.Sent > 0 && (d.Fence == 0 || d.Fence == it.Sent) && it.Reported != it.Attempt &&
		(it.Charged != it.Attempt || d.Ending.Failure == "") && !m.fenced(d.Ending.Worker, d.Ending.Instance) && d.Attempt > 0
	if !accepted && d.Attempt > 0 {
		m.unchanged(func(e *Engine, now time.Time) { e.Apply(now, d) })
		return
	}
	if d.Attempt == 0 {
		return
	}
	if running { // The server ended the attempt, and its report follows later.
		delete(m.open, id)
		m.ghosts = append(m.ghosts, Ended{Item: id, Attempt: of.Attempt, Ending: Ending{Failure: contract.FailureWorkerLost}})
	}
	m.apply(d)
	m.unchanged(func(e *Engine, now time.Time) { e.Apply(now, d) })
}

func (m *model) fenced(id, instance string) bool {
	w, there := m.view[id]
	return there && !m.hidden[id] && instance != "" && slices.Contains(w.Fenced, instance)
}

// answer answers requests: for resources, fences, and to proceed.
func (m *model) answer(verdict int) {
	if m.hungry && verdict%2 == 0 {
		m.hungry = false
		m.fence += 1000
		m.apply(FencesGranted{Fence: m.fence, Fences: int64(1 + m.draw(9, "fences"))})
	}
	if len(m.admitted) > 0 && verdict%2 == 0 {
		id := m.admitted[0]
		m.admitted = m.admitted[1:]
		if verdict == 4 {
			m.do(func(e *Engine, now time.Time) { e.End(now, id, Completed, "") })
			return
		}
		m.do(func(e *Engine, now time.Time) { e.Proceed(now, id) })
	}
	if verdict == 7 && len(m.granted) > 0 {
		id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.granted))).Draw(m.t, "item")
		m.apply(Revoked{Item: id, Ask: m.granted[id], Reason: "another has it"})
		return
	}
	if len(m.asked) == 0 {
		return
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.asked))).Draw(m.t, "item")
	ask := m.asked[id]
	m.apply(Granted{Item: id, Ask: ask - 1, Fence: 1, Fences: 1}) // Of a request that was withdrawn.
	if verdict == 6 {
		m.apply(Waits{Item: id, Ask: ask})
		return
	}
	delete(m.asked, id)
	if verdict == 0 {
		m.apply(Refused{Item: id, Ask: ask, Reason: "too large"})
		return
	}
	m.granted[id] = ask
	m.fence += 1000
	granted := Granted{Item: id, Ask: ask, Fence: m.fence, Fences: int64(verdict)}
	m.apply(granted)
	m.unchanged(func(e *Engine, now time.Time) { e.Apply(now, granted) })
}

// pass advances the time: the engine is woken at its time, or later.
func (m *model) pass(d time.Duration) {
	until := m.now.Add(d)
	late := m.draw(4, "late") == 0
	for range 1000 {
		wake := m.e.NextWake()
		if late || wake.IsZero() || wake.After(until) {
			m.now = until
			m.apply(Tick{})
			return
		}
		m.now = wake
		m.apply(Tick{})
	}
	m.t.Fatalf("it wakes for ever")
}

// flip changes a worker as operators, accidents and the registry do.
func (m *model) flip() {
	id := rapid.SampledFrom(workerIDs).Draw(m.t, "worker")
	w, known := m.view[id]
	key := id + "/" + w.Instance
	kind := m.draw(11, "change")
	if !known {
		kind = 0
	}
	switch kind {
	case 0: // A new process.
		next := m.drawWorker(id, fmt.Sprintf("%sx", w.Instance))
		next.Beat = w.Beat + 1
		if known && rapid.Bool().Draw(m.t, "fences") {
			next.Fenced = []string{w.Instance}
		}
		w = next
	case 1:
		w.State, w.Leaving = contract.WorkerOffline, rapid.Bool().Draw(m.t, "leaving")
	case 2, 3:
		w.State, w.Leaving, w.Fresh = contract.WorkerOnline, false, true
	case 4:
		w.State = rapid.SampledFrom([]contract.WorkerState{contract.WorkerCordoned, contract.WorkerDraining}).Draw(m.t, "state")
	case 5:
		w.Fresh = !w.Fresh
	case 6, 7:
		w.Beat++
		w.Fresh = true
		delete(m.suspect, key)
	case 8, 9:
		next := m.drawWorker(id, w.Instance)
		w.Labels, w.Capabilities, w.MaxExecute, w.JobTypes, w.Shared = next.Labels, next.Capabilities, next.MaxExecute, next.JobTypes, next.Shared
	case 10: // A rebuilt registry does not list it yet, or lists it again.
		m.hidden[id] = !m.hidden[id]
		delete(m.suspect, key)
	}
	m.view[id] = w
	m.look()
}

// look passes the registry's view to the engine, whole or partial. The reference always gets it
// whole: there is no difference.
func (m *model) look() {
	whole, changed, told := WorkersChanged{Workers: m.seen()}, WorkersChanged{Partial: true}, map[string]contract.WorkerView{}
	for _, w := range whole.Workers {
		if told[w.ID] = w; !assert.ObjectsAreEqual(m.told[w.ID], w) {
			changed.Workers = append(changed.Workers, w)
		}
	}
	for _, id := range workerIDs {
		if _, known := told[id]; !known {
			changed.Gone = append(changed.Gone, id) // Whether it was there or not.
		}
	}
	m.told = told
	main, partial := m.e, rapid.Bool().Draw(m.t, "partial")
	m.do(func(e *Engine, now time.Time) {
		if partial && e == main {
			e.Apply(now, changed)
			return
		}
		e.Apply(now, whole)
	})
}

func (m *model) answerProbe(alive bool) {
	if len(m.probes) == 0 {
		return
	}
	p := m.probes[0]
	m.probes = m.probes[1:]
	w := m.view[p.Worker]
	if alive && w.Instance == p.Instance && !m.hidden[p.Worker] {
		delete(m.suspect, p.Worker+"/"+p.Instance)
	}
	probed := WorkerProbed{ID: p.Worker, Instance: p.Instance, Alive: alive}
	if rapid.Bool().Draw(m.t, "beat") {
		probed.BeatAt, probed.Used = m.now, m.draw(5, "used")
	}
	m.apply(probed)
}

func (m *model) load() {
	if len(m.view) == 0 {
		return
	}
	w := m.view[rapid.SampledFrom(slices.Sorted(maps.Keys(m.view))).Draw(m.t, "worker")]
	m.apply(WorkerHasRoom{ID: w.ID, Instance: w.Instance, Handler: "h", Load: m.drawLoad()})
}
