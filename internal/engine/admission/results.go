package admission

import (
	"cmp"
	"time"

	"github.com/roundsman/roundsman/contract"
)

const (
	// maxResults and maxResultsWeight bound the results of tasks with a key. They give
	// way to what is held and waited for, the oldest first.
	maxResults       = 1000
	maxResultsWeight = 512 << 10
	resultWeight     = 160
	// resultsFor is how long a result is kept at most: spec.MaxKeyValid.
	resultsFor = 24 * time.Hour
)

// results has the last result of each key, as the object that its task held. Whether a
// result still counts is decided by the run that gets it with its grant.
type results struct {
	of map[string]*result
	// order has them in the order in which they came.
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

// put keeps a result, unless a newer one of its key is known: a message may be repeated.
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

// fit drops the oldest results until the others are few enough and weigh no more than
// that.
func (rs *results) fit(most int) {
	for r := rs.order.first(); r != nil && (rs.weight > max(most, 0) || rs.order.len() > maxResults); r = rs.order.first() {
		rs.drop(r)
	}
}

// expire drops what nobody may take over any more.
func (rs *results) expire(now time.Time) {
	for r := rs.order.first(); r != nil && now.Sub(r.At) > resultsFor; r = rs.order.first() {
		rs.drop(r)
	}
}

// keepResults takes in what the tasks returned that give back their keys.
func (c *Core) keepResults(e Requested) {
	for _, kept := range e.Results {
		if kept.Object == "" || len(kept.Result) > contract.MaxKeyResult {
			continue
		}
		kept.By = e.Holder.WorkflowID
		c.results.put(kept)
	}
}

// resultFor is what the last task returned that held an object which the request holds
// alone; nil: nothing is known.
func (c *Core) resultFor(r *request) *contract.KeyResult {
	for _, object := range r.Objects {
		if known := c.results.of[object.Name]; known != nil && !object.Shared {
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
