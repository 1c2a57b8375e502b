package admission

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/jobtype"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// world is the naive reference: it records the grants and checks them for contradictions after
// every step.
type world struct {
	t           *rapid.T
	d           *Core
	now         time.Time
	restore     bool
	asked       map[name]Requested
	granted     map[name]grantOf
	closed      map[Holder]time.Time
	sizes, used map[string]int
	last        int64
	ids         int
	// over is the use of a pool when it was made smaller, or the use asserted by reset holders.
	over map[string]int
	// past holds the releases by name: a reset holder may assert them. resetting is the holder
	// being reset; believed holds its assertions.
	past      map[name]Request
	resetting Holder
	believed  map[name]Request
	believing bool
}

type grantOf struct {
	Granted

	request Request
	// settled are keys whose jobs have ended, by index.
	settled map[int]bool
	until   time.Time
	// forgotten: its holder was reset, and has no record of it.
	forgotten bool
}

const grace = 30 * time.Second

func newWorld(t *rapid.T, restore bool) *world {
	w := &world{
		t: t, now: epoch, restore: restore, asked: map[name]Requested{}, granted: map[name]grantOf{},
		closed: map[Holder]time.Time{}, sizes: map[string]int{}, used: map[string]int{},
		over: map[string]int{}, past: map[name]Request{},
	}
	w.d = New(w.now, Durable{})
	w.step(Expected{Final: true})
	return w
}

func (w *world) step(event Event) []Decision {
	var twin *Core
	if recovering, _ := w.d.Recovering(); w.restore && !recovering { // A core that recovers asks again.
		data, err := json.Marshal(w.d.Snapshot())
		require.NoError(w.t, err)
		var s Snapshot
		require.NoError(w.t, json.Unmarshal(data, &s))
		twin, err = Restore(s)
		require.NoError(w.t, err)
	}
	decisions := append([]Decision(nil), w.d.Next(w.now, event)...)
	if twin != nil {
		again := twin.Next(w.now, event)
		require.Len(w.t, again, len(decisions))
		for i := range decisions {
			require.Equal(w.t, decisions[i], again[i], "the restored desk decides alike")
		}
		require.Equal(w.t, w.d.View(everything{}), twin.View(everything{}))
		require.Equal(w.t, w.d.NextDeadline(), twin.NextDeadline())
		w.d = twin
	}
	w.noteSizes()
	for _, decision := range decisions {
		w.note(decision)
	}
	w.check()
	return decisions
}

func (w *world) note(decision Decision) {
	switch d := decision.(type) {
	case Granted:
		w.noteGrant(d)
	case Refused:
		delete(w.asked, name{d.Holder, d.ID})
	case Lost:
		require.Equal(w.t, w.resetting, d.Holder, "only who was reset can lose something")
		delete(w.granted, name{d.Holder, d.ID})
	case Waits:
		_, known := w.asked[name{d.Holder, d.ID}]
		require.True(w.t, known, "%v does not wait", d)
	case Stopped:
		w.t.Fatalf("nothing is ever held back here: %+v", d)
	}
}

func (w *world) noteGrant(d Granted) {
	n := name{d.Holder, d.ID}
	if w.resetting == d.Holder {
		w.noteRenewal(n, d)
		return
	}
	if before, known := w.granted[n]; known {
		require.Equal(w.t, before.Fence, d.Fence, "a repeat gets the same grant")
		return
	}
	asked, known := w.asked[n]
	require.True(w.t, known, "%v was not asked for", n)
	delete(w.asked, n)
	require.Greater(w.t, d.Fence, w.last, "fences only grow")
	w.last = d.Fence + d.Fences - 1
	w.grant(n, grantOf{Granted: d, request: asked.Items[0]})
}

// grant notes a grant. It takes the keys over that its holder has forgotten.
func (w *world) grant(n name, g grantOf) {
	taken := takenOf(g.AdmissionGrant)
	for i, key := range keysOf(g.request) {
		for m, other := range w.granted {
			for at, same := range keysOf(other.request) {
				if same == key && !taken[i] && m.holder == n.holder && other.forgotten {
					other.settle(at)
					w.granted[m] = other
				}
			}
		}
	}
	w.granted[n] = g
}

func (g *grantOf) settle(i int) {
	if g.settled == nil {
		g.settled = map[int]bool{}
	}
	g.settled[i] = true
}

func (w *world) check() {
	lanes, keys, used := map[string]name{}, map[uint64]name{}, map[string]int{}
	exclusive, shared := map[string]int{}, map[string]int{}
	for n, g := range w.granted {
		if g.request.Lane != "" {
			other, twice := lanes[g.request.Lane]
			require.False(w.t, twice, "lane %s has %v and %v", g.request.Lane, other, n)
			lanes[g.request.Lane] = n
		}
		taken := takenOf(g.AdmissionGrant)
		for i, key := range keysOf(g.request) {
			taken[i] = taken[i] || g.settled[i]
			other, twice := keys[key]
			require.False(w.t, twice && !taken[i], "key %d has %v and %v", key, other, n)
			if !taken[i] {
				keys[key] = n
			}
		}
		for _, amount := range g.request.Pools {
			used[amount.Pool] += amount.N
		}
		for _, o := range united(g.request.Objects) {
			if o.Shared {
				shared[o.Name]++
			} else {
				exclusive[o.Name]++
			}
		}
	}
	for pool, n := range used {
		if w.believing {
			w.over[pool] = max(w.over[pool], n)
		}
		w.over[pool] = min(w.over[pool], n)
		require.LessOrEqual(w.t, n, max(w.sizes[pool], w.over[pool]), "pool %s", pool)
	}
	w.used = used
	for object, n := range exclusive {
		require.LessOrEqual(w.t, n, 1, "object %s", object)
		require.Zero(w.t, shared[object], "object %s is exclusive and shared", object)
	}
}

func (w *world) holder() Holder {
	h := Holder{WorkflowID: fmt.Sprintf("g%d", rapid.IntRange(0, 7).Draw(w.t, "holder")), FirstRunID: "r"}
	for {
		if _, closed := w.closed[h]; !closed {
			return h
		}
		h.FirstRunID += "x"
	}
}

func requestGen() *rapid.Generator[Request] {
	return rapid.Custom(func(t *rapid.T) Request {
		r := Request{Fences: int64(rapid.IntRange(0, 5).Draw(t, "fences"))}
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			r.Lane = rapid.SampledFrom([]string{"default", "night"}).Draw(t, "lane")
			r.Distinct = rapid.Bool().Draw(t, "distinct")
		case 1:
			var keys []uint64
			for range rapid.IntRange(1, 4).Draw(t, "keys") {
				keys = append(keys, uint64(len(keys)*10+rapid.IntRange(0, 3).Draw(t, "key")))
			}
			r.Keys = PackKeys(keys)
		case 2, 3:
			r.Priority = rapid.IntRange(0, 3).Draw(t, "priority")
			for _, pool := range []string{"db", "net"} {
				if n := rapid.IntRange(0, 3).Draw(t, pool); n > 0 {
					r.Pools = append(r.Pools, Amount{Pool: pool, N: n, Size: map[string]int{"db": 3, "net": 2}[pool]})
				}
			}
			for i := range rapid.IntRange(0, 2).Draw(t, "objects") {
				r.Objects = append(r.Objects, Object{Name: fmt.Sprintf("volume/%d", i+rapid.IntRange(0, 1).Draw(t, "volume")), Shared: rapid.Bool().Draw(t, "shared")})
			}
		}
		return r
	})
}

func (w *world) ask() {
	h := w.holder()
	w.ids++
	r := requestGen().Draw(w.t, "request")
	r.ID = fmt.Sprintf("q%d", w.ids)
	asked := Requested{Holder: h, JobType: "type-" + h.WorkflowID, Grace: jobtype.Duration(grace), DeclaredAt: epoch, Items: []Request{r}}
	w.asked[name{h, r.ID}] = asked
	w.step(asked)
}

func some[V any](t *rapid.T, m map[name]V) (name, bool) {
	var names []string
	byText := map[string]name{}
	for n := range m {
		text := n.id
		names, byText[text] = append(names, text), n
	}
	if len(names) == 0 {
		return name{}, false
	}
	lowest := names[0]
	offset := rapid.IntRange(0, 1<<20).Draw(t, "which")
	order := map[int]string{}
	for _, text := range names {
		var id int
		_, err := fmt.Sscanf(text, "q%d", &id)
		require.NoError(t, err)
		order[id] = text
	}
	for i := range 1 << 12 {
		if text, ok := order[(offset+i)%(1<<12)]; ok {
			return byText[text], true
		}
	}
	return byText[lowest], true
}

func (w *world) giveBack(n name) {
	g := w.granted[n]
	if !g.until.IsZero() {
		return
	}
	delete(w.granted, n)
	w.past[n] = g.request
	w.step(Requested{Holder: n.holder, Release: []string{n.id}})
}

func (w *world) withdraw(n name) {
	delete(w.asked, n)
	w.step(Requested{Holder: n.holder, Release: []string{n.id}})
}

// endJobs reports the end of the jobs of some keys, and may repeat the report.
func (w *world) endJobs(n name) {
	g := w.granted[n]
	if len(g.request.Keys) == 0 || !g.until.IsZero() {
		return
	}
	key := keysOf(g.request)[rapid.IntRange(0, len(keysOf(g.request))-1).Draw(w.t, "ended")]
	for other, g := range w.granted {
		for i, k := range keysOf(g.request) {
			if k != key || other.holder != n.holder {
				continue
			}
			g.settle(i)
			w.granted[other] = g
		}
	}
	w.step(Requested{Holder: n.holder, Endings: []Endings{{At: w.now, Settled: keyBytes(key)}}})
	if by := w.d.claims.holder(key); by != nil {
		require.NotEqual(w.t, n.holder, by.Holder)
	}
}

// close ends a holder: its lanes and requests are dropped at once, the rest later.
func (w *world) close(h Holder) {
	w.closed[h] = w.now
	for n := range w.asked {
		if n.holder == h {
			delete(w.asked, n)
		}
	}
	for n, g := range w.granted {
		switch {
		case n.holder != h:
		case g.request.Lane != "":
			delete(w.granted, n)
		case !g.until.IsZero(): // It was reset, and had forgotten this.
		default:
			g.until = w.now.Add(grace)
			w.granted[n] = g
		}
	}
	w.step(Closed{Holder: h})
}

func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	for n, g := range w.granted {
		if !g.until.IsZero() && !g.until.After(w.now) {
			delete(w.granted, n)
		}
	}
	w.step(Tick{})
}

func (w *world) act() {
	switch rapid.IntRange(0, 14).Draw(w.t, "act") {
	case 11:
		w.resize()
	case 12:
		w.redeclare()
	case 13:
		w.reset(w.holder())
	case 14:
		w.recover()
	case 0, 1, 2, 3:
		w.ask()
	case 4, 5:
		if n, ok := some(w.t, w.granted); ok {
			w.giveBack(n)
		}
	case 6:
		if n, ok := some(w.t, w.asked); ok {
			w.withdraw(n)
		}
	case 7:
		if n, ok := some(w.t, w.asked); ok {
			w.step(w.asked[n]) // A repeated request changes nothing.
		} else if n, ok := some(w.t, w.granted); ok && w.granted[n].until.IsZero() {

			decisions := w.step(Requested{Holder: n.holder, Items: []Request{w.granted[n].request}})
			require.Len(w.t, decisions, 1)
			again, ok := decisions[0].(Granted)
			require.True(w.t, ok)
			require.Equal(w.t, w.granted[n].Fence, again.Fence, "a repeat gets the same grant")
		}
	case 8:
		w.close(w.holder())
	case 10:
		if n, ok := some(w.t, w.granted); ok {
			w.endJobs(n)
		}
	case 9:
		w.pass(time.Duration(rapid.IntRange(1, 40).Draw(w.t, "seconds")) * time.Second)
	}
}

// settle releases everything until nothing waits: there is no deadlock.
func (w *world) settle() {
	for range 4000 {
		if len(w.asked) == 0 {
			w.allIsFree()
			return
		}
		w.pass(grace)
		n, ok := some(w.t, w.granted)
		if !ok {
			w.t.Fatalf("nothing is held and still there wait %v", w.asked)
		}
		w.giveBack(n)
	}
	w.t.Fatalf("they wait for ever: %v", w.asked)
}

func simulate(t *rapid.T, restore bool) {
	w := newWorld(t, restore)
	for range rapid.IntRange(0, 150).Draw(t, "steps") {
		w.act()
	}
	w.settle()
}

func TestDeskKeepsItsInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { simulate(t, false) })
}

func TestDeskSurvivesSnapshotAtEveryStep(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { simulate(t, true) })
}
