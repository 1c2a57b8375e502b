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
	var queue []Index
	for k, needs := range b.needs {
		at := int64(0)
		for _, d := range needs {
			if d < b.first {
				at = max(at, defs.order[d])
			}
		}
		defs.order = append(defs.order, at+growthStep)
		queue = append(queue, b.first+Index(k))
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
