package run

import (
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
)

func (m *model) operate() {
	if m.nextID == 1 {
		return
	}
	id := 1 + m.draw(m.nextID-1, "item")
	it := m.e.items[id]
	flies := it != nil && it.inFlight()
	switch m.draw(6, "operation") {
	case 0, 1:
		m.do(func(e *Engine, now time.Time) { e.Cancel(now, id, "not this one") })
	case 2:
		m.do(func(e *Engine, now time.Time) { e.Expire(now, id, "too late") })
		require.NotContains(m.q, m.live, id)
	case 3:
		done := rapid.Bool().Draw(m.t, "done")
		m.do(func(e *Engine, now time.Time) { e.Bar(now, id, "disabled", done) })
	case 4:
		if it != nil && !flies {
			delete(m.live, id)
			delete(m.lonely, id)
		}
		m.do(func(e *Engine, _ time.Time) { e.Withdraw(id) })
	case 5:
		m.do(func(e *Engine, now time.Time) { e.End(now, id, Canceled, "by the source") })
		require.True(m.q, it == nil || flies || m.e.items[id] == nil)
	}
}

func (m *model) rest() {
	switch m.draw(8, "rest") {
	case 0:
		m.paused = true
		m.do(func(e *Engine, now time.Time) { e.Pause(now, "ann", "") })
	case 1, 2:
		m.paused = false
		m.do(func(e *Engine, _ time.Time) { e.Resume() })
	case 3:
		if !m.stopped {
			m.suspended = true
			m.do(func(e *Engine, now time.Time) { e.Suspend(now) })
		}
	case 4, 5:
		m.suspended = false
		m.do(func(e *Engine, now time.Time) { e.Unsuspend(now) })
	case 6:
		m.do(func(e *Engine, now time.Time) { e.CancelRunning(now, "the window has closed") })
	case 7:
		if m.draw(6, "really") == 0 {
			m.stopped, m.suspended = true, false
			m.do(func(e *Engine, now time.Time) { e.Stop(now, NotStarted, "it is over") })
		}
	}
}

func (m *model) change() {
	switch m.draw(9, "what") {
	case 0, 1:
		closing := Closing{At: m.now.Add(time.Duration(m.draw(90, "closes")-5) * time.Second), Learned: time.Duration(m.draw(15, "learned")) * time.Second}
		m.do(func(e *Engine, now time.Time) { e.SetClosing(now, closing) })
	case 2:
		m.do(func(e *Engine, now time.Time) { e.SetClosing(now, Closing{}) })
	case 3, 4:
		name := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(m.t, "work")
		old := m.e.work[name]
		work := workGen(m.t, old.Handler, old.JobType)
		// Since then an item waits for the current time.
		m.do(func(e *Engine, now time.Time) { e.SetWork(now, name, work) })
	case 5:
		limit := rapid.SampledFrom([]int{0, 1, 3, 20}).Draw(m.t, "limit")
		m.do(func(e *Engine, _ time.Time) { e.SetLimit(limit) })
	case 6:
		m.do(func(e *Engine, now time.Time) { e.RenewFences(now) })
	case 7:
		if id := rapid.SampledFrom(workerIDs).Draw(m.t, "worker"); m.view[id].ID != "" {
			instance := m.view[id].Instance
			m.do(func(e *Engine, now time.Time) { e.Cool(now, id, instance, CoolDown) })
		}
	case 8:
		if id := rapid.SampledFrom(workerIDs).Draw(m.t, "worker"); m.view[id].ID != "" {
			instance := m.view[id].Instance
			m.do(func(e *Engine, now time.Time) { e.Suspect(now, id, instance) })
		}
	}
}

// observe lets the history grow, and continues as new if the engine requests it.
func (m *model) observe(events int) {
	m.events += events
	n := m.events
	m.do(func(e *Engine, now time.Time) { e.Observe(now, n, 0, 0) })
	if m.e.ShouldContinueAsNew() {
		m.roll()
	}
}

// roll continues as new: the state goes through JSON.
func (m *model) roll() {
	for id, d := range m.open {
		require.True(m.q, m.live[id].Want.Idle, "item %d cannot travel: %+v", id, d)
	}
	data := state(m.q, m.e)
	m.cfg = m.current()
	m.e = m.restored(m.cfg, data)
	m.start, m.log, m.events, m.probes, m.ghosts = data, nil, 0, nil, nil
	m.apply(Tick{})
	for id := range m.e.fleet.byID {
		w := m.e.fleet.byID[id]
		require.Equal(m.q, w.suspect, slices.ContainsFunc(m.probes, func(d Decision) bool { return d.Worker == id }), "a probe was lost")
	}
}

// finish plays without failures until all items have ended: they must.
func (m *model) finish() {
	m.paused = false
	m.do(func(e *Engine, _ time.Time) { e.Resume() })
	m.do(func(e *Engine, now time.Time) { e.SetClosing(now, Closing{}) })
	m.suspended = false
	m.do(func(e *Engine, now time.Time) { e.Unsuspend(now) })
	for _, id := range slices.Sorted(maps.Keys(m.view)) {
		// A new process also ends the wait for one that has lost the handler.
		w := node(id, 2)
		w.Instance, w.Beat = m.view[id].Instance+"y", m.view[id].Beat+1
		w.Capabilities = append(w.Capabilities, contract.Capability{Handler: "g", Execute: true})
		w.Fenced = []string{m.view[id].Instance}
		m.view[id] = w
	}
	clear(m.hidden)
	clear(m.suspect)
	m.look()
	for range 2000 {
		switch {
		case m.e.Len() == 0:
			m.checkEmpty()
			return
		case m.e.ShouldContinueAsNew():
			m.roll()
		case len(m.probes) > 0:
			m.answerProbe(true)
		case len(m.open) > 0:
			m.end("")
		case m.hungry || len(m.admitted) > 0 || len(m.asked) > 0:
			m.answer(2)
		default:
			wake := m.e.NextWake()
			if wake.IsZero() && m.relabel() {
				continue
			}
			if wake.IsZero() {
				m.t.Fatalf("nothing runs, nothing is waited for, and items are left: %s", state(m.q, m.e))
			}
			m.now = wake
			m.apply(Tick{})
		}
	}
	m.t.Fatalf("it does not end: %s", state(m.q, m.e))
}

// relabel gives a worker the labels that an item waits for, which is held for that worker.
func (m *model) relabel() bool {
	for _, it := range m.e.lost.Sorted() {
		if w := m.view[it.Worker]; !maps.Equal(w.Labels, it.Want.Labels) {
			w.Labels = it.Want.Labels
			m.view[w.ID] = w
			m.look()
			return true
		}
	}
	return false
}

// checkEmpty: an engine without items holds nothing.
func (m *model) checkEmpty() {
	e := m.e
	require.Empty(m.q, m.asked)
	require.Empty(m.q, m.granted)
	require.Empty(m.q, m.open)
	require.Empty(m.q, e.fleet.absent)
	require.Empty(m.q, e.pinned)
	require.Empty(m.q, e.ready)
	require.Empty(m.q, e.asking)
	for _, w := range e.fleet.byID {
		require.Zero(m.q, w.inFlight)
	}
}
