package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/rollover"
	"github.com/roundsman/roundsman/jobtype"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// model is the naive reference: it carries decisions out, keeps its own records and checks the
// invariants of the package doc after every step.
type model struct {
	t   *rapid.T
	q   quiet
	e   *Engine
	cfg Config
	now time.Time

	view   map[string]contract.WorkerView
	hidden map[string]bool
	// told is the engine's current view.
	told     map[string]contract.WorkerView
	open     map[int]Decision
	ghosts   []Ended
	live     map[int]Item
	attempts map[int]int
	fences   map[int]int64
	used     map[int64]bool
	// asked are requests without an answer, granted those with one; both by item.
	asked, granted map[int]int
	admitted       []int
	probes         []Decision
	suspect        map[string]bool
	hungry         bool
	watched        bool
	paused         bool
	suspended      bool
	stopped        bool
	fence          int64
	nextID         int
	events         int
	// deferred is the earliest start of each deferred item.
	deferred map[int]time.Time
	// lonely is the time since which an item has been queued that no worker could ever serve.
	lonely map[int]time.Time

	start json.RawMessage // the state at the start of the log; nil for a new engine
	log   []logged
	twins bool
}

// quiet fails the test without a search for its callers before each check.
type quiet struct{ t *rapid.T }

func (q quiet) Errorf(format string, args ...any) { q.t.Errorf(format, args...) }
func (q quiet) FailNow()                          { q.t.FailNow() }

// logged is one step of the run, to be repeated.
type logged struct {
	at      time.Time
	op      func(*Engine, time.Time)
	roll    rollover.Rollover
	results string
}

func seconds(n int) jobtype.Duration { return jobtype.Duration(time.Duration(n) * time.Second) }

func workGen(t *rapid.T, handler, jobType string) Work {
	return Work{
		Handler: handler, JobType: jobType, Bytes: 100, PerWorker: rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "perWorker"),
		Policy: jobtype.Policy{
			RetryLimit: rapid.IntRange(0, 2).Draw(t, "retries"), RetryBackoff: seconds(rapid.SampledFrom([]int{0, 3}).Draw(t, "backoff")),
			ExecutionTimeout: seconds(rapid.SampledFrom([]int{30, 120}).Draw(t, "timeout")), HeartbeatTimeout: seconds(5),
			WorkerLossLimit: rapid.IntRange(1, 4).Draw(t, "losses"),
			OnWorkerLoss:    rapid.SampledFrom([]jobtype.OnWorkerLoss{jobtype.WorkerLossReplace, jobtype.WorkerLossFail, jobtype.WorkerLossHold}).Draw(t, "loss"),
			Routing:         rapid.SampledFrom([]jobtype.Routing{jobtype.RoutingWorker, jobtype.RoutingWorker, jobtype.RoutingWorker, jobtype.RoutingShared}).Draw(t, "routing"),
		},
	}
}

var workerIDs = []string{"a", "b", "c", "nowhere"}

func newModel(t *rapid.T) *model {
	m := &model{
		t: t, q: quiet{t}, now: epoch, view: map[string]contract.WorkerView{}, hidden: map[string]bool{}, open: map[int]Decision{}, live: map[int]Item{},
		attempts: map[int]int{}, fences: map[int]int64{}, used: map[int64]bool{}, asked: map[int]int{}, granted: map[int]int{},
		suspect: map[string]bool{}, lonely: map[int]time.Time{}, deferred: map[int]time.Time{}, fence: 1 << 61, nextID: 1,
	}
	m.cfg = Config{
		Limit:  rapid.SampledFrom([]int{0, 1, 2, 5, 20}).Draw(t, "limit"),
		Claims: rapid.Bool().Draw(t, "claims"), Admit: rapid.IntRange(0, 3).Draw(t, "admit") == 0,
		RollEvents: rapid.SampledFrom([]int{0, 40}).Draw(t, "roll"),
		Work:       map[string]Work{"x": workGen(t, "h", "jt"), "y": workGen(t, "g", ""), "z": workGen(t, "h", "other")},
	}
	if rapid.Bool().Draw(t, "ranged") {
		m.cfg.Fence, m.cfg.Fences = m.fence, int64(rapid.IntRange(1, 9).Draw(t, "fences"))
		m.fence += 1000
	}
	m.twins = rapid.Bool().Draw(t, "twins")
	for _, id := range workerIDs[:rapid.IntRange(1, 4).Draw(t, "workers")] {
		m.view[id] = m.drawWorker(id, "i1")
	}
	m.e = New(m.cfg, m.now)
	m.look()
	return m
}

func (m *model) drawWorker(id, instance string) contract.WorkerView {
	t := m.t
	w := contract.WorkerView{ID: id, Instance: instance, State: contract.WorkerOnline, Fresh: true, MaxExecute: rapid.IntRange(0, 4).Draw(t, "slots"), MaxDetect: 1}
	for _, handler := range []string{"h", "g"} {
		if rapid.IntRange(0, 5).Draw(t, "has") > 0 {
			w.Capabilities = append(w.Capabilities, contract.Capability{Handler: handler, Execute: true, MaxExecute: rapid.IntRange(0, 2).Draw(t, "cap")})
		}
	}
	if rapid.Bool().Draw(t, "labelled") {
		w.Labels = map[string]string{"disk": rapid.SampledFrom([]string{"ssd", "tape"}).Draw(t, "disk")}
	}
	if rapid.IntRange(0, 3).Draw(t, "restricted") == 0 {
		w.JobTypes = []string{"jt"}
	}
	if rapid.Bool().Draw(t, "pulls") {
		w.Shared = []string{"jt", "other", ""}
	}
	return w
}

func (m *model) seen() []contract.WorkerView {
	var list []contract.WorkerView
	for _, id := range slices.Sorted(maps.Keys(m.view)) {
		if !m.hidden[id] {
			list = append(list, m.view[id])
		}
	}
	return list
}

func (m *model) restored(cfg Config, data []byte) *Engine {
	var s Snapshot
	require.NoError(m.q, json.Unmarshal(data, &s))
	e, err := Restore(cfg, s, m.now)
	require.NoError(m.q, err)
	return e
}

func state(t require.TestingT, e *Engine) []byte {
	data, err := json.Marshal(e.Snapshot())
	require.NoError(t, err)
	return data
}

func (m *model) current() Config {
	cfg := m.cfg
	cfg.Work, cfg.Limit = maps.Clone(m.e.work), m.e.limit
	return cfg
}

// do takes one step. If twins are played, a twin goes through a snapshot before. Every decision
// is checked.
func (m *model) do(op func(*Engine, time.Time)) {
	var twin *Engine
	if m.twins && rapid.IntRange(0, 2).Draw(m.t, "twin") == 0 {
		twin = m.restored(m.current(), state(m.q, m.e))
		twin.fleet.reprobe, twin.roll = m.e.fleet.reprobe, m.e.roll
		for _, t := range m.e.timers {
			if t.kind == timerWake { // The history starts again with each workflow run.
				twin.timers.Push(t)
			}
		}
	}
	step := logged{at: m.now, op: op, roll: m.e.roll}
	op(m.e, m.now)
	if twin != nil {
		op(twin, m.now)
	}
	for range 1000 {
		decisions, reports := m.take()
		told := fmt.Sprintf("%+v %+v %+v\n", spelled(decisions), reports, m.e.Notes())
		step.results += told
		if twin != nil {
			again, same := twin.Take(m.now)
			require.Equal(m.q, told, fmt.Sprintf("%+v %+v %+v\n", spelled(again), same, twin.Notes()), "the restored engine decides alike")
		}
		for _, d := range decisions {
			m.carryOut(d)
		}
		for _, r := range reports {
			m.hear(r)
		}
		if len(reports) == 0 {
			break
		}
	}
	if twin != nil {
		if is, has := string(state(m.q, m.e)), string(state(m.q, twin)); is != has {
			require.JSONEq(m.q, is, has)
		}
		m.e.NextWake()
		twin.NextWake()
		require.Equal(m.q, fmt.Sprint(m.e.timers[:min(1, len(m.e.timers))]), fmt.Sprint(twin.timers[:min(1, len(twin.timers))]), "the restored engine wakes at the same time, for the same reason")
	}
	m.log = append(m.log, step)
	m.check()
}

func spelled(decisions []Decision) []string {
	list := make([]string, len(decisions))
	for i, d := range decisions {
		var needs Needs
		if d.Needs != nil {
			needs = *d.Needs
		}
		d.Needs = nil
		list[i] = fmt.Sprintf("%+v %+v", d, needs)
	}
	return list
}

func (m *model) repeat() {
	e := New(m.cfg, epoch)
	if m.start != nil {
		m.now = m.log[0].at
		e = m.restored(m.cfg, m.start)
	}
	for _, step := range m.log {
		e.roll = step.roll
		step.op(e, step.at)
		results := ""
		for range 1000 {
			decisions, reports := e.Take(step.at)
			results += fmt.Sprintf("%+v %+v %+v\n", spelled(decisions), reports, e.Notes())
			if len(reports) == 0 {
				break
			}
		}
		require.Equal(m.q, step.results, results, "the same inputs, the same decisions")
	}
}

func (m *model) carryOut(d Decision) {
	t := m.q
	switch d.Kind {
	case Start:
		m.started(d)
	case Cancel:
		require.Equal(t, m.open[d.Item].Attempt, d.Attempt, "only what runs is canceled")
		require.NotEmpty(t, d.Reason)
	case Forget:
		require.Equal(t, m.open[d.Item].Attempt, d.Attempt)
		delete(m.open, d.Item)
	case Abandon:
		require.Equal(t, m.open[d.Item].Attempt, d.Attempt)
		require.NotEmpty(t, d.Reason)
	case Probe:
		m.suspect[d.Worker+"/"+d.Instance] = true
		m.probes = append(m.probes, d)
	case Watch:
		require.False(t, m.watched, "it watches once")
		m.watched = true
	case Acquire:
		require.True(t, m.cfg.Claims)
		require.NotContains(t, m.asked, d.Item, "two requests")
		require.NotContains(t, m.granted, d.Item)
		require.False(t, m.paused || m.suspended)
		m.asked[d.Item] = d.Ask
	case Release:
		ask, waits := m.asked[d.Item]
		has, holds := m.granted[d.Item]
		require.True(t, waits && ask == d.Ask || holds && has == d.Ask, "item %d releases what it has not", d.Item)
		delete(m.asked, d.Item)
		delete(m.granted, d.Item)
	case MoreFences:
		require.False(t, m.hungry, "it asks for fences once")
		m.hungry = true
	}
}

func (m *model) started(d Decision) {
	t := m.q
	in, lives := m.live[d.Item]
	require.True(t, lives, "item %d starts and has settled", d.Item)
	require.NotContains(t, m.open, d.Item, "two attempts")
	require.Equal(t, m.attempts[d.Item]+1, d.Attempt)
	require.False(t, m.paused || m.suspended || m.stopped)
	require.False(t, in.NotBefore.After(m.now), "not_before")
	require.False(t, m.deferred[d.Item].After(m.now), "a deferred item starts before its time")
	require.Greater(t, d.Fence, m.fences[d.Item], "fences increase")
	require.False(t, m.used[d.Fence], "fence %d is given twice", d.Fence)
	if m.cfg.Claims && in.Needs.Some() {
		require.Contains(t, m.granted, d.Item, "it starts without its resources")
	}
	if d.Worker != "" {
		w, there := m.view[d.Worker]
		require.True(t, there && !m.hidden[d.Worker] && w.Instance == d.Instance && w.State == contract.WorkerOnline && w.Fresh)
		require.False(t, m.suspect[d.Worker+"/"+d.Instance], "suspect")
		if m.e.items[d.Item].Apart {
			require.Equal(t, 1, m.apartOn(m.e.fleet.byID[d.Worker]), "two items on one worker that are kept apart")
		}
		require.True(t, in.Want.Node == "" || in.Want.Node == d.Worker)
		for name, value := range in.Want.Labels {
			require.Equal(t, value, w.Labels[name])
		}
	}
	require.Equal(t, in.Want.Nowhere || d.Shared, d.Worker == "")
	m.open[d.Item], m.attempts[d.Item], m.fences[d.Item], m.used[d.Fence] = d, d.Attempt, d.Fence, true
}

func (m *model) hear(r Report) {
	switch r.Kind {
	case Settled:
		require.Contains(m.q, m.live, r.Item, "item %d settles twice", r.Item)
		require.NotEqual(m.q, Open, r.State)
		require.NotContains(m.q, m.asked, r.Item, "it keeps its request")
		require.NotContains(m.q, m.granted, r.Item, "it keeps its resources")
		delete(m.live, r.Item)
		delete(m.lonely, r.Item)
	case Admitted, Due:
		require.True(m.q, m.cfg.Admit)
		m.admitted = append(m.admitted, r.Item)
	case Deferred:
		require.True(m.q, m.cfg.Admit)
	case AttemptFailed:
		require.LessOrEqual(m.q, r.Attempt, m.attempts[r.Item])
	}
}

// TestItemsKeepTheirInvariants plays at least 1,000 runs.
func TestItemsKeepTheirInvariants(t *testing.T) {
	t.Parallel()
	for part := range 10 {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := newModel(t)
				for range rapid.SampledFrom([]int{10, 30, 80}).Draw(t, "steps") {
					m.act()
				}
				m.finish()
				m.repeat()
			})
		})
	}
}
