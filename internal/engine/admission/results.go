package admission

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/contract"
)

const (
	// Results of tasks with a key yield to holders and waiters, the oldest first.
	maxResults       = 1000
	maxResultsWeight = 512 << 10
	resultWeight     = 160
	// resultsFor is the longest life of a result: spec.MaxKeyValid.
	resultsFor = 24 * time.Hour
)

// results holds the last result of each key, by object. The run that receives a result decides whether it is still valid.
type results struct {
	of     map[string]*result
	order  *sorted[*result]
	seq    int64
	weight int
}

type result struct {
	contract.KeyResult

	seq int64
}

func newResults() results {
	return results{of: map[string]*result{}, order: newSorted(func(a, b *result) int { return cmp.Compare(a.seq, b.seq) })}
}

func (r *result) size() int {
	return resultWeight + len(r.Object) + len(r.Digest) + len(r.Result) + len(r.By) + len(r.Task)
}

func (rs *results) put(kept contract.KeyResult) {
	if known := rs.of[kept.Object]; known != nil {
		if !kept.At.After(known.At) {
			return
		}
		rs.drop(known)
	}
	rs.seq++
	r := &result{kept, rs.seq}
	rs.of[kept.Object] = r
	rs.order.add(r)
	rs.weight += r.size()
	rs.fit(maxResultsWeight)
}

func (rs *results) drop(r *result) {
	delete(rs.of, r.Object)
	rs.order.remove(r)
	rs.weight -= r.size()
}

func (rs *results) fit(most int) {
	for r := rs.order.first(); r != nil && (rs.weight > max(most, 0) || rs.order.len() > maxResults); r = rs.order.first() {
		rs.drop(r)
	}
}

func (rs *results) expire(now time.Time) {
	for r := rs.order.first(); r != nil && now.Sub(r.At) > resultsFor; r = rs.order.first() {
		rs.drop(r)
	}
}

func (rs *results) keepResults(e Requested) {
	for _, kept := range e.Results {
		if kept.Object == "" || len(kept.Result) > contract.MaxKeyResult {
			continue
		}
		kept.By = e.Holder.WorkflowID
		rs.put(kept)
	}
}

// resultFor returns the last result of a task that held an object which the request holds exclusively.
func (rs *results) resultFor(r *request) *contract.KeyResult {
	for _, object := range r.Objects {
		if known := rs.of[object.Name]; known != nil && !object.Shared {
			return &known.KeyResult
		}
	}
	return nil
}

func (rs *results) save() []contract.KeyResult {
	list := make([]contract.KeyResult, 0, rs.order.len())
	for r := range rs.order.all() {
		list = append(list, r.KeyResult)
	}
	return list
}

func (rs *results) restore(list []contract.KeyResult) {
	for _, kept := range list {
		rs.put(kept)
	}
}
