package admission

import (
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/jobtype"
)

// Actions of operators on the core, its holders and the configuration, for the model of
// model_test.go.

// noteSizes copies the sizes of pools. A smaller pool may keep its former use.
func (w *world) noteSizes() {
	for _, pool := range w.d.View(everything{}).Pools {
		if pool.Size < w.sizes[pool.Name] {
			w.over[pool.Name] = max(w.over[pool.Name], w.used[pool.Name])
		}
		w.sizes[pool.Name] = pool.Size
	}
}

// resize sets a pool's size above or below the waiting requests. Requests beyond the size are
// refused, so that none waits for ever.
func (w *world) resize() {
	pool := rapid.SampledFrom([]string{"db", "net"}).Draw(w.t, "pool")
	size := rapid.IntRange(1, 4).Draw(w.t, "size")
	w.step(Resized{Pool: pool, Size: size})
}

func (w *world) redeclare() {
	w.pass(time.Second)
	h := w.holder()
	w.ids++
	r := Request{ID: "q" + itoa(w.ids)}
	for _, pool := range []string{"db", "net"} {
		size := rapid.IntRange(1, 4).Draw(w.t, "declared")
		r.Pools = append(r.Pools, Amount{Pool: pool, N: 1, Size: size})
	}
	asked := Requested{Holder: h, JobType: "type-" + h.WorkflowID, Grace: jobtype.Duration(grace), DeclaredAt: w.now, Items: []Request{r}}
	w.asked[name{h, r.ID}] = asked
	w.step(asked)
}

func itoa(n int) string {
	var digits []byte
	for ; n > 0; n /= 10 {
		digits = append(digits, byte('0'+n%10))
	}
	slices.Reverse(digits)
	return string(digits)
}

func of[V any](m map[name]V, h Holder) []name {
	var list []name
	for n := range m {
		if n.holder == h {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b name) int {
		if len(a.id) != len(b.id) {
			return len(a.id) - len(b.id)
		}
		return strings.Compare(a.id, b.id)
	})
	return list
}

// reset resets a holder. It remembers some of its grants, requests some again, and has forgotten
// the rest. It also asserts some of its releases. Each assertion is answered, and no two holders
// get the same grant.
func (w *world) reset(h Holder) {
	asked := Requested{Holder: h, JobType: "type-" + h.WorkflowID, Grace: jobtype.Duration(grace), DeclaredAt: epoch, Reassert: true, Reset: true}
	w.believed = map[name]Request{}
	hold := func(n name, r Request) {
		asked.Held = append(asked.Held, Held{AdmissionItem: r, Fence: w.granted[n].Fence})
		w.believed[n] = r
	}
	for _, n := range of(w.granted, h) {
		g := w.granted[n]
		switch rapid.IntRange(0, 2).Draw(w.t, "remembers") {
		case 0:
			hold(n, w.stillIts(g))
		case 1:
			asked.Items = append(asked.Items, g.request)
			w.believed[n] = g.request
		default:
			w.orphan(n)
		}
	}
	for _, n := range of(w.past, h) {
		if rapid.Bool().Draw(w.t, "believes") {
			hold(n, w.past[n])
			delete(w.past, n)
		}
	}
	for _, n := range of(w.asked, h) {
		if rapid.Bool().Draw(w.t, "asks") {
			asked.Items = append(asked.Items, w.asked[n].Items[0])
		} else {
			delete(w.asked, n)
		}
	}
	for n := range w.believed {
		delete(w.granted, n) // Until it is answered.
	}
	for _, n := range of(w.believed, h) {
		if slices.ContainsFunc(asked.Items, func(r Request) bool { return r.ID == n.id }) {
			w.asked[n] = Requested{Holder: h, JobType: asked.JobType, Grace: jobtype.Duration(grace), DeclaredAt: epoch, Items: []Request{w.believed[n]}}
		}
	}
	w.resetting, w.believing = h, true
	decisions := w.step(asked)
	w.resetting, w.believing = Holder{}, false
	for _, held := range asked.Held {
		require.True(w.t, slices.ContainsFunc(decisions, func(d Decision) bool { return answers(d, h, held.ID) }), "%s has no answer", held.ID)
	}
}

func answers(d Decision, h Holder, id string) bool {
	switch d := d.(type) {
	case Granted:
		return d.Holder == h && d.ID == id
	case Lost:
		return d.Holder == h && d.ID == id
	}
	return false
}

// stillIts returns a request without the keys that are free again.
func (w *world) stillIts(g grantOf) Request {
	r := g.request
	r.Fences = g.Fences
	taken := takenOf(g.AdmissionGrant)
	var keys []uint64
	for i, key := range keysOf(g.request) {
		if !g.settled[i] && !taken[i] {
			keys = append(keys, key)
		}
	}
	r.Keys = PackKeys(keys)
	return r
}

// orphan is a grant that its holder has forgotten: free after the grace, a lane at once.
func (w *world) orphan(n name) {
	g := w.granted[n]
	if g.request.Lane != "" {
		delete(w.granted, n)
		return
	}
	if g.until.IsZero() {
		g.until = w.now.Add(grace)
	}
	g.forgotten = true
	w.granted[n] = g
}

func (w *world) noteRenewal(n name, d Granted) {
	require.Greater(w.t, d.Fence, w.last, "fences only grow, also for who was reset")
	w.last = d.Fence + d.Fences - 1
	request, known := w.believed[n]
	if asked, waits := w.asked[n]; waits {
		request, known = asked.Items[0], true
		delete(w.asked, n)
	}
	require.True(w.t, known, "%v was not asked for", n)
	w.grant(n, grantOf{Granted: d, request: request})
}

// recover resets or loses the core. All holders report their grants, and nothing is granted
// before. The new core has no record of ended holders.
func (w *world) recover() {
	var ids []string
	holders := map[string]Holder{}
	gather := func(n name) {
		if _, ended := w.closed[n.holder]; !ended && !slices.Contains(ids, n.holder.WorkflowID) {
			ids, holders[n.holder.WorkflowID] = append(ids, n.holder.WorkflowID), n.holder
		}
	}
	for n, g := range w.granted {
		if !g.until.IsZero() {
			delete(w.granted, n)
			continue
		}
		gather(n)
	}
	for n := range w.asked {
		gather(n)
	}
	slices.Sort(ids)
	w.believing = true
	defer func() { w.believing = false }()
	w.step(Recover{Durable: Durable{Fence: fenceFloor(w.now)}})
	w.step(Expected{IDs: ids, Final: true})
	for at, id := range ids {
		h := holders[id]
		asked := Requested{Holder: h, JobType: "type-" + h.WorkflowID, Grace: jobtype.Duration(grace), DeclaredAt: epoch, Reassert: true}
		for _, n := range of(w.granted, h) {
			g := w.granted[n]
			asked.Held = append(asked.Held, Held{AdmissionItem: w.stillIts(g), Fence: g.Fence})
			g.request, g.Taken, g.settled = w.stillIts(g), nil, nil // The holder has these already.
			w.granted[n] = g
		}
		for _, n := range of(w.asked, h) {
			asked.Items = append(asked.Items, w.asked[n].Items[0])
		}
		granted := len(w.granted)
		w.step(asked)
		if at < len(ids)-1 {
			require.Len(w.t, w.granted, granted, "nothing is granted while somebody is still to be heard")
		}
	}
	recovering, _ := w.d.Recovering()
	require.False(w.t, recovering)
}

func (w *world) allIsFree() {
	for _, h := range w.d.Holders() {
		w.close(h)
	}
	w.pass(grace)
	view := w.d.View(everything{})
	require.Empty(w.t, view.Lanes)
	require.Empty(w.t, view.Objects)
	require.Zero(w.t, view.Keys)
	for _, pool := range view.Pools {
		require.Zero(w.t, pool.Used)
		require.NotZero(w.t, pool.Operator, "pool %s is not known any more", pool.Name)
	}
}
