package dag

// order assigns each task a larger number than its dependencies have. A growth that fits between the numbers closes
// no cycle, and needs no search. Order is derived, so it is not part of a snapshot.
type order []int64

// A million successive growths fit between two levels of the graph before a number must be raised.
const (
	levelStep  = 1 << 32
	growthStep = 1 << 12
)

func (defs *definitions) ensureOrder() order {
	if defs.order == nil {
		defs.order = order{} // Not nil in a run without tasks.
		defs.assign(defs.sorted(0), levelStep)
	}
	return defs.order
}

// assign numbers tasks that follow their dependencies in the list.
func (defs *definitions) assign(tasks []Index, step int64) {
	defs.order = append(defs.order, make(order, defs.Len()-len(defs.order))...)
	for _, i := range tasks {
		for _, d := range defs.Needs(i) {
			defs.order[i] = max(defs.order[i], defs.order[d]+step)
		}
	}
}

func (defs *definitions) number(b batch) {
	if defs.order == nil {
		return
	}
	queue := defs.sorted(b.first)
	defs.assign(queue, growthStep)
	for head := 0; head < len(queue); head++ {
		least := defs.order[queue[head]] + growthStep
		for _, d := range defs.Dependants(queue[head]) {
			if defs.order[d] < least {
				defs.order[d] = least
				queue = append(queue, d)
			}
		}
	}
}

// sorted returns the tasks from first on, each after its dependencies among them. Tasks on a cycle are missing.
func (defs *definitions) sorted(first Index) []Index {
	wait := make([]int32, defs.Len()-int(first))
	queue := make([]Index, 0, len(wait))
	for k := range wait {
		for _, d := range defs.Needs(first + Index(k)) {
			if d >= first {
				wait[k]++
			}
		}
		if wait[k] == 0 {
			queue = append(queue, first+Index(k))
		}
	}
	for head := 0; head < len(queue); head++ {
		for _, d := range defs.Dependants(queue[head]) {
			if d < first {
				continue
			}
			if wait[d-first]--; wait[d-first] == 0 {
				queue = append(queue, d)
			}
		}
	}
	return queue
}
