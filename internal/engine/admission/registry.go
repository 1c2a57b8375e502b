package admission

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/contract"
)

// registry has the waiting and granted requests, by holder, job type and task.
type registry struct {
	holders  map[contract.AdmissionHolder]*holder
	order    *sorted[*holder]
	ofType   map[string]*sorted[*request]
	ofTask   map[uint64]*sorted[*request]
	expiring *sorted[*request]
	weight   int
}

func newRegistry() *registry {
	return &registry{
		holders: map[contract.AdmissionHolder]*holder{},
		order:   newSorted(compareHolders),
		ofType:  map[string]*sorted[*request]{},
		ofTask:  map[uint64]*sorted[*request]{},
		expiring: newSorted(func(a, b *request) int {
			return cmp.Or(a.FreeAt.Compare(b.FreeAt), cmp.Compare(a.Seq, b.Seq))
		}),
	}
}

func (g *registry) holderWeightOf(r *request) int {
	if g.holders[r.Holder] != nil {
		return 0
	}
	return (&holder{AdmissionHolder: r.Holder}).weight()
}

func (g *registry) add(r *request) {
	h := g.holderOf(r)
	h.requests.add(r)
	h.byID[r.ID] = r
	if r.FreeAt.IsZero() {
		h.live++
	} else {
		g.expiring.add(r)
		h.ending++
	}
	ofType := g.ofType[r.JobType]
	if ofType == nil {
		ofType = newSorted(bySeq)
		g.ofType[r.JobType] = ofType
	}
	ofType.add(r)
	g.addOfTask(r)
	g.weight += r.weight()
}

// setFreeAt: a request is freed because its holder has ended or has forgotten it.
func (g *registry) setFreeAt(r *request, at time.Time) {
	if r.FreeAt.Equal(at) {
		return
	}
	h := g.holders[r.Holder]
	switch {
	case r.FreeAt.IsZero():
		h.live--
		h.ending++
	case at.IsZero():
		g.expiring.remove(r)
		h.live++
		h.ending--
	default:
		g.expiring.remove(r)
	}
	if r.FreeAt = at; !at.IsZero() {
		g.expiring.add(r)
	}
}

func (g *registry) holderOf(r *request) *holder {
	h := g.holders[r.Holder]
	if h == nil {
		h = &holder{AdmissionHolder: r.Holder, requests: newSorted(bySeq), byID: map[string]*request{}}
		g.holders[r.Holder] = h
		g.order.add(h)
		g.weight += h.weight()
	}
	return h
}

func (g *registry) requestsOf(id contract.AdmissionHolder) []*request {
	if h := g.holders[id]; h != nil {
		return h.requests.list()
	}
	return nil
}

func (g *registry) known(id contract.AdmissionHolder, name string) *request {
	if h := g.holders[id]; h != nil {
		return h.byID[name]
	}
	return nil
}

// Holders lists the holders and waiters that have not ended, by id.
func (g *registry) Holders() []contract.AdmissionHolder {
	list := make([]contract.AdmissionHolder, 0, g.order.len())
	for h := range g.order.all() {
		if h.live > 0 {
			list = append(list, h.AdmissionHolder)
		}
	}
	return list
}

func (g *registry) holdersNamed(id string) []*holder {
	var list []*holder
	for h := range g.order.from(&holder{AdmissionHolder: contract.AdmissionHolder{WorkflowID: id}}) {
		if h.WorkflowID != id {
			break
		}
		list = append(list, h)
	}
	return list
}

func (g *registry) addOfTask(r *request) {
	if r.Budget == nil {
		return
	}
	hash := taskHash(*r.Budget)
	of := g.ofTask[hash]
	if of == nil {
		of = newSorted(bySeq)
		g.ofTask[hash] = of
	}
	of.add(r)
}

func (g *registry) removeOfTask(r *request) {
	if r.Budget == nil {
		return
	}
	hash := taskHash(*r.Budget)
	of := g.ofTask[hash]
	if of.remove(r); of.len() == 0 {
		delete(g.ofTask, hash)
	}
}

func (g *registry) uses(requests *sorted[*request], filter contract.AdmissionFilter, use func(*request) contract.AdmissionUse) []contract.AdmissionUse {
	if requests.len() == 0 {
		return nil
	}
	list := make([]contract.AdmissionUse, 0, min(filter.Limit, requests.len()))
	var last *request
	for r := range requests.all() {
		if len(list) == filter.Limit {
			break
		}
		list, last = append(list, use(r)), r
	}
	if filter.WorkflowID == "" || requests.len() <= filter.Limit {
		return list
	}
	for _, h := range g.holdersNamed(filter.WorkflowID) {
		for r := range h.requests.from(last) {
			if r != last && requests.has(r) {
				list = append(list, use(r))
			}
			if len(list) == 2*filter.Limit {
				return list
			}
		}
	}
	return list
}

func (g *registry) forgetRequest(r *request) {
	h := g.holders[r.Holder]
	g.setFreeAt(r, time.Time{})
	g.weight -= r.weight()
	delete(h.byID, r.ID)
	h.requests.remove(r)
	h.live--
	if h.requests.len() == 0 {
		g.weight -= h.weight()
		delete(g.holders, r.Holder)
		g.order.remove(h)
	}
	ofType := g.ofType[r.JobType]
	if ofType.remove(r); ofType.len() == 0 {
		delete(g.ofType, r.JobType)
	}
	g.removeOfTask(r)
}
