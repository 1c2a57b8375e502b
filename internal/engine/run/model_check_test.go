package run

import (
	"cmp"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/instant"
	"github.com/roundsman/roundsman/internal/engine/run/attempt"
	"github.com/roundsman/roundsman/jobtype"
)

// take is [Engine.Take], with every choice compared to a full search of all items and workers.
func (m *model) take() ([]Decision, []Report) {
	e := m.e
	e.begin()
	e.fireTimers(m.now)
	for {
		e.look(m.now)
		if !e.mayStart() || e.limit > 0 && e.running() >= e.limit {
			break
		}
		c, best := e.next(), m.best()
		if c != nil && c.crowd == nil && c.asks && e.crowdOf(c.head()).full(&e.rules) {
			decided := len(e.decisions)
			e.place(c, m.now)
			require.Len(m.q, e.decisions, decided, "it is only set aside")
			continue
		}
		if c == nil {
			require.Nil(m.q, best, "an item is left that could start")
			break
		}
		require.NotNil(m.q, best, "nothing could start")
		require.Equal(m.q, best.ID, c.head().ID, "another item is first")
		want := m.bestWorker(best)
		before := len(e.decisions)
		e.place(c, m.now)
		for _, d := range e.decisions[before:] {
			if d.Kind == Start && d.Worker != "" {
				require.NotNil(m.q, want)
				require.Equal(m.q, want.ID, d.Worker, "another worker is better")
			}
			if d.Kind == Start {
				require.True(m.q, m.fits(best), "it does not end before the closing")
			}
		}
	}
	decisions, reports := e.decisions, e.reports
	e.decisions, e.reports = nil, nil
	return decisions, reports
}

func (m *model) fits(it *item) bool { return m.fitsAt(it, m.now) }

func (m *model) fitsAt(it *item, at time.Time) bool {
	c := m.e.closing
	if c.At.IsZero() {
		return true
	}
	takes := it.Estimate
	if takes == 0 {
		takes = c.Learned
	}
	if len(it.Checkpoint) > 0 && it.Done > 0 {
		takes = time.Duration(float64(takes) * (100 - min(it.Done, 99)) / 100)
	}
	return at.Before(c.At) && !at.Add(takes).After(c.At)
}

func (m *model) best() *item {
	var best *item
	for _, it := range m.e.items {
		if it.Phase != PhaseQueued || !m.able(it) {
			continue
		}
		if best == nil || cmp.Or(compareBool(best.Granted, it.Granted), cmp.Compare(it.Order, best.Order), cmp.Compare(it.ID, best.ID)) < 0 {
			best = it
		}
	}
	return best
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (m *model) able(it *item) bool {
	e := m.e
	if m.cfg.Claims && it.Needs.Some() && !it.Granted {
		coming, alike := 0, 0
		for _, o := range e.items {
			switch {
			case o.Waits && o.Needs.Key() == it.Needs.Key():
				alike++
			case o.Waits:
			case o.Phase == PhaseAsking || o.Granted && !o.inFlight():
				coming++
			}
		}
		if e.limit > 0 && (coming >= e.limit-len(e.flight) || alike >= e.limit) || alike >= maxAlike {
			return false
		}
	} else if !it.Granted && e.fenceEnd > 0 && e.fence >= e.fenceEnd {
		return false
	}
	return it.Want.Nowhere || m.bestWorker(it) != nil
}

func (m *model) isShared(it *item) bool {
	return m.e.work[it.Work].Policy.Routing == jobtype.RoutingShared && !it.Want.Nowhere && it.Want.Node == "" && len(it.Want.Labels) == 0 && it.Pin == "" && !it.Direct && !apart(it)
}

func apart(it *item) bool { return len(it.Losses) >= 2 && !it.Want.Nowhere }

// seat is the rank of a worker for an item.
type seat struct {
	possible, usable bool
	tier             tier
	room             int
	waits            time.Time
}

func (m *model) seat(w *worker, it *item) seat {
	work := m.e.work[it.Work]
	if it.Want.Node != "" && it.Want.Node != w.ID || it.Pin != "" && it.Pin != w.ID || slices.Contains(it.Lacks, w.Instance) {
		return seat{}
	}
	for name, value := range it.Want.Labels {
		if w.Labels[name] != value {
			return seat{}
		}
	}
	slots := 0
	for _, c := range w.Capabilities {
		if c.Handler == work.Handler && c.Execute {
			slots = w.MaxExecute
			if c.MaxExecute > 0 {
				slots = min(slots, c.MaxExecute)
			}
			break
		}
	}
	if len(w.JobTypes) > 0 && !slices.Contains(w.JobTypes, work.JobType) || slots == 0 {
		return seat{}
	}
	if w.State != contract.WorkerOnline || !w.Fresh || w.suspect || slices.Contains(w.unsupported, work.Handler) {
		return seat{}
	}
	if m.isShared(it) {
		pulls := slices.Contains(w.Shared, work.JobType)
		return seat{possible: pulls, usable: pulls}
	}
	all, same := m.there(w, work.Handler)
	free := min(w.MaxExecute-all-w.load.Others, slots-same-w.load.Handlers[work.Handler])
	most := min(w.MaxExecute-all, slots-same)
	ahead := w.ahead(work.Handler, free)
	if work.PerWorker > 0 {
		free, ahead, most = min(free, work.PerWorker-all), min(ahead, work.PerWorker-all), min(most, work.PerWorker-all)
	}
	s := seat{possible: true, tier: tierNone}
	if apart(it) && m.apartOn(w) > 0 {
		return s
	}
	cool, pressing := w.coolUntil, len(it.Lacks) > 0 && w.starts.Failed >= attempt.MaxCannotStart && w.starts.Missing
	if pressing {
		cool = time.Time{}
	}
	cools := cool.After(m.now)
	switch {
	case w.starts.Probing && !pressing: // One program is tried there.
	case free > 0 && !cools:
		s.usable, s.tier, s.room = true, tierFree, free
	case free <= 0 && ahead > 0 && !cools:
		s.usable, s.tier, s.room = true, tierSoon, ahead
	case free <= 0 && ahead <= 0 && most > 0:
		s.tier, s.waits = tierTrial, instant.Later(w.load.TryAt, cool)
		s.usable = !s.waits.After(m.now)
	}
	return s
}

// apartOn counts the attempts there that are kept apart.
func (m *model) apartOn(w *worker) (n int) {
	for _, it := range m.e.items {
		if it.inFlight() && it.Apart && it.Worker == w.ID && it.Instance == w.Instance {
			n++
		}
	}
	return n
}

func (m *model) there(w *worker, handler string) (all, same int) {
	for _, it := range m.e.items {
		if it.inFlight() && it.Worker == w.ID && it.Instance == w.Instance {
			all++
			if m.e.work[it.Work].Handler == handler {
				same++
			}
		}
	}
	return all, same
}

func (m *model) bestWorker(it *item) *worker {
	var best *worker
	var how seat
	for _, w := range m.e.fleet.byID {
		s := m.seat(w, it)
		if !s.usable {
			continue
		}
		order := -1
		if best != nil {
			order = cmp.Or(
				cmp.Compare(s.tier, how.tier), compareBool(w.ID == it.Avoid, best.ID == it.Avoid), cmp.Compare(how.room, s.room),
				s.waits.Compare(how.waits), cmp.Compare(w.used, best.used), cmp.Compare(w.ID, best.ID),
			)
		}
		if order < 0 {
			best, how = w, s
		}
	}
	return best
}

func (m *model) check() {
	t, e := m.q, m.e
	require.Empty(t, e.dirty)
	require.Empty(t, e.freed)
	wake := e.NextWake()
	require.True(t, wake.IsZero() || wake.After(m.now), "it wakes at once again: %s, it is %s", wake, m.now)
	require.Len(t, e.items, len(m.live))
	flight, gate, idle, late, lost := 0, 0, 0, 0, 0
	for id, it := range e.items {
		_, lives := m.live[id]
		require.True(t, lives)
		_, open := m.open[id]
		require.Equal(t, open, it.Phase == PhaseRunning, "item %d: %v", id, it.Phase)
		switch it.Phase {
		case PhaseRunning, PhaseGrace:
			flight++
			if it.Want.Idle {
				idle++
			}
		case PhaseLate:
			late++
			require.False(t, m.fitsAt(it, instant.Later(m.now, it.ReadyAt)))
		case PhaseLost:
			lost++
			require.Same(t, it, e.lost.Get(id))
		case PhaseWaiting:
			require.True(t, it.ReadyAt.After(m.now))
		case PhaseDue:
			require.True(t, m.cfg.Admit && it.Deferral != "")
			require.Contains(t, m.admitted, id)
		case PhaseQueued, PhaseAsking, PhaseGranted:
		default:
			require.Fail(t, "no phase", "item %d: %d", id, it.Phase)
		}
		m.checkHolds(it)
		if it.Phase == PhaseAsking || it.Granted && !it.inFlight() {
			gate++
			require.Same(t, it, e.gate.Get(id))
		}
		if !it.inFlight() {
			require.True(t, it.Ran || it.ExpiresAt.IsZero() || it.ExpiresAt.After(m.now), "item %d has expired", id)
		}
		if it.Phase == PhaseQueued || it.Phase == PhaseAsking || it.Phase == PhaseGranted {
			require.True(t, m.fitsAt(it, m.now.Add(-time.Millisecond)), "item %d does not fit", id)
		}
		require.False(t, m.stopped && !it.inFlight(), "the run is stopped")
		m.checkWait(it)
		m.checkLonely(it)
	}
	waits := map[string]int{}
	for id := range m.asked {
		if it := e.items[id]; it.Waits {
			waits[it.Needs.Key()]++
			waits[""]++
		}
	}
	require.Equal(t, waits[""], e.waits)
	for key, k := range e.crowds {
		require.Equal(t, waits[key], k.waiting)
		require.Positive(t, k.waiting+len(k.classes))
	}
	require.Equal(t, []int{flight, gate, idle, late, lost}, []int{len(e.flight), e.gate.Len(), e.idle, e.late, e.lost.Len()})
	m.checkClasses()
	m.checkWorkers()
}

// checkHolds: an item holds exactly the recorded resources, and none while it needs none.
func (m *model) checkHolds(it *item) {
	ask, asked := m.asked[it.ID]
	grant, granted := m.granted[it.ID]
	require.Equal(m.q, asked, it.Asking)
	require.Equal(m.q, asked, it.Phase == PhaseAsking)
	require.Equal(m.q, granted, it.Granted)
	require.True(m.q, !asked && !granted || it.Ask == ask+grant)
	switch it.Phase {
	case PhaseWaiting, PhaseLate, PhaseLost:
		require.False(m.q, granted, "item %d keeps its resources in phase %d", it.ID, it.Phase)
	case PhaseNone, PhaseQueued, PhaseAsking, PhaseGranted, PhaseRunning, PhaseGrace:
	}
	require.False(m.q, (m.paused || m.suspended) && granted && !it.inFlight(), "a paused run keeps resources")
}

func (m *model) checkWait(it *item) {
	wait := m.e.WaitOf(it.ID, m.now)
	switch it.Phase {
	case PhaseRunning, PhaseGranted, PhaseNone:
		require.Zero(m.q, wait)
		return
	case PhaseWaiting:
		require.Equal(m.q, it.ReadyAt, wait.Until)
	case PhaseQueued, PhaseAsking, PhaseGrace, PhaseLost, PhaseLate:
	}
	require.NotEmpty(m.q, wait.Code)
	require.False(m.q, wait.Since.IsZero() || wait.Since.After(m.now), "item %d: %+v", it.ID, wait)
}

// checkLonely: an item that no worker can serve waits for its timeout and no longer; one pinned
// to an OFFLINE worker does not wait.
func (m *model) checkLonely(it *item) {
	rests := m.paused || m.suspended
	if it.Phase != PhaseQueued || it.Want.Nowhere || rests {
		delete(m.lonely, it.ID)
		return
	}
	for _, w := range m.e.fleet.byID {
		if m.seat(w, it).possible {
			delete(m.lonely, it.ID)
			return
		}
	}
	require.True(m.q, it.Pin == "" || m.e.returned(it), "item %d is held for a worker that is gone, in a queue", it.ID)
	node := it.Want.Node
	require.False(m.q, node != "" && m.view[node].State == contract.WorkerOffline && !m.hidden[node], "item %d is pinned to an OFFLINE worker", it.ID)
	since, known := m.lonely[it.ID]
	if !known {
		m.lonely[it.ID] = m.now
		return
	}
	limit := m.e.timeout(it)
	require.Less(m.q, m.now.Sub(since), limit+time.Second, "item %d waits for a worker since %s, its timeout is %s", it.ID, since, limit)
	require.NotZero(m.q, m.e.NextWake())
	require.LessOrEqual(m.q, m.e.NextWake().Sub(since), limit+time.Second, "item %d is not looked at in time", it.ID)
}

// checkClasses: the records of the classes match a full search.
func (m *model) checkClasses() {
	e := m.e
	queued := 0
	for key, c := range e.classes {
		require.Equal(m.q, key, c.key)
		require.False(m.q, c.dirty)
		require.True(m.q, c.node == "" && c.crowd == nil || len(c.items) > 0, "a pinned class without items")
		queued += len(c.items)
		for i, it := range c.items {
			require.Same(m.q, c, it.class)
			require.Equal(m.q, i, it.at)
			require.Equal(m.q, key, string(e.keyOf(it)))
			require.Equal(m.q, it.Aside, c.crowd != nil)
			require.False(m.q, i > 0 && c.items[i].Before(c.items[(i-1)/2]), "heap")
		}
		if c.nowhere {
			require.Empty(m.q, c.workers)
			continue
		}
		possible := 0
		for i, d := range c.workers {
			require.Same(m.q, e.fleet.byID[d.w.ID], d.w, "a worker that is gone is a candidate")
			require.True(m.q, slices.Contains(d.w.candidates, d))
			require.Equal(m.q, i, d.at)
			stored := *d
			d.rank(m.now)
			require.Equal(m.q, stored, *d, "a rank is out of date")
			require.False(m.q, i > 0 && c.workers[i].Before(c.workers[(i-1)/2]), "heap")
			if d.possible {
				possible++
			}
		}
		require.Equal(m.q, possible, c.possible)
		fitting := 0
		for _, w := range e.fleet.byID {
			if w.fits(c.node, c.labels) && !slices.Contains(c.lacks, w.Instance) {
				fitting++
			}
		}
		require.Len(m.q, c.workers, fitting)
	}
	inPhase := 0
	for _, it := range e.items {
		if it.Phase == PhaseQueued {
			inPhase++
		}
	}
	require.Equal(m.q, inPhase, queued)
}

// checkAnnounced: an attempt on a worker that leaves is marked, an attempt that began on it later is not.
func (m *model) checkAnnounced(w *worker) {
	for id, it := range m.e.flight {
		if it.Worker == w.ID && it.Instance == w.Instance && (w.Leaving || w.reserved()) {
			require.True(m.q, it.Announced, "item %d", id)
		}
	}
}

// checkWorkers: slots in use are those of the attempts in flight.
func (m *model) checkWorkers() {
	for id, w := range m.e.fleet.byID {
		require.Equal(m.q, m.view[id], w.WorkerView)
		require.Equal(m.q, m.suspect[id+"/"+w.Instance], w.suspect)
		all, _ := m.there(w, "")
		require.Equal(m.q, all, w.inFlight, "worker %s", id)
		require.Equal(m.q, m.apartOn(w), w.apart, "worker %s", id)
		m.checkAnnounced(w)
		sum := 0
		for handler, n := range w.own {
			_, same := m.there(w, handler)
			require.Equal(m.q, same, n)
			sum += n
		}
		require.Equal(m.q, all, sum)
	}
	for _, w := range m.e.fleet.absent {
		all, _ := m.there(w, "")
		require.Equal(m.q, all, w.inFlight)
		require.Positive(m.q, all)
	}
}
