package dag

// order assigns each task a number larger than those of its dependencies. A growth closes no cycle if
// its tasks fit between the numbers of their dependencies and dependants; no search is then needed.
// Equal numbers imply nothing. It is derived, so it is not part of a snapshot.
type order []int64

// Numbers leave room: a million successive growths fit between two levels of the graph before a number
// must be raised.
const (
	levelStep  = 1 << 32
	growthStep = 1 << 12
)

// ensureOrder numbers every task by its level, once per run.
func (r *Run) ensureOrder() order {
	if r.order != nil {
		return r.order
	}
	r.order = make(order, len(r.nodes))
	wait := make([]int32, len(r.nodes))
	queue := make([]Index, 0, len(r.nodes))
	for i := range r.nodes {
		wait[i] = int32(len(r.Needs(Index(i))))
		if wait[i] == 0 {
			queue = append(queue, Index(i))
		}
	}
	for head := 0; head < len(queue); head++ {
		level := r.order[queue[head]] + levelStep
		base, more := r.dependants(queue[head])
		for _, row := range [2][]Index{base, more} {
			for _, d := range row {
				r.order[d] = max(r.order[d], level)
				if wait[d]--; wait[d] == 0 {
					queue = append(queue, d)
				}
			}
		}
	}
	return r.order
}

// number extends the order by an inserted batch, raising dependants if there is no room.
func (r *Run) number(b batch) {
	if r.order == nil {
		return
	}
	var queue []Index
	for k, needs := range b.needs {
		at := int64(0)
		for _, d := range needs {
			if d < b.first {
				at = max(at, r.order[d])
			}
		}
		r.order = append(r.order, at+growthStep)
		queue = append(queue, b.first+Index(k))
	}
	for head := 0; head < len(queue); head++ {
		least := r.order[queue[head]] + growthStep
		base, more := r.dependants(queue[head])
		for _, row := range [2][]Index{base, more} {
			for _, d := range row {
				if r.order[d] < least {
					r.order[d] = least
					queue = append(queue, d)
				}
			}
		}
	}
}
