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
	if defs.order != nil {
		return defs.order
	}
	defs.order = make(order, defs.Len())
	wait := make([]int32, defs.Len())
	queue := make([]Index, 0, defs.Len())
	for i := range defs.Len() {
		wait[i] = int32(len(defs.Needs(Index(i))))
		if wait[i] == 0 {
			queue = append(queue, Index(i))
		}
	}
	for head := 0; head < len(queue); head++ {
		level := defs.order[queue[head]] + levelStep
		base, more := defs.dependants(queue[head])
		for _, row := range [2][]Index{base, more} {
			for _, d := range row {
				defs.order[d] = max(defs.order[d], level)
				if wait[d]--; wait[d] == 0 {
					queue = append(queue, d)
				}
			}
		}
	}
	return defs.order
}

func (defs *definitions) number(b batch) {
	if defs.order == nil {
		return
	}
	queue := defs.sorted(b)
	defs.order = append(defs.order, make(order, len(b.needs))...)
	for _, i := range queue {
		for _, d := range defs.Needs(i) {
			defs.order[i] = max(defs.order[i], defs.order[d])
		}
		defs.order[i] += growthStep
	}
	for head := 0; head < len(queue); head++ {
		least := defs.order[queue[head]] + growthStep
		base, more := defs.dependants(queue[head])
		for _, row := range [2][]Index{base, more} {
			for _, d := range row {
				if defs.order[d] < least {
					defs.order[d] = least
					queue = append(queue, d)
				}
			}
		}
	}
}

// sorted returns the tasks of a batch after their dependencies among each other, so that each is numbered once.
func (defs *definitions) sorted(b batch) []Index {
	wait := make([]int32, len(b.needs))
	queue := make([]Index, 0, len(b.needs))
	for k := range wait {
		for _, d := range defs.Needs(b.first + Index(k)) {
			if d >= b.first {
				wait[k]++
			}
		}
		if wait[k] == 0 {
			queue = append(queue, b.first+Index(k))
		}
	}
	for head := 0; head < len(queue); head++ {
		for _, d := range defs.Dependants(queue[head]) {
			if k := d - b.first; k >= 0 {
				if wait[k]--; wait[k] == 0 {
					queue = append(queue, d)
				}
			}
		}
	}
	return queue
}
