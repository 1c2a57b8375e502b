package dag

// Parked returns the length of each collection of parked tasks, in a fixed order.
func (r *Run) Parked() (lengths []int) {
	add := func(of *parking) {
		for kind := range of {
			lengths = append(lengths, of[kind].Len())
		}
	}
	for _, c := range r.chains.list {
		add(&c.parked)
	}
	for _, f := range r.FanOuts() {
		add(&r.fanOuts[f.Name].parked)
		add(&r.fanOuts[f.Name].unbegun)
	}
	return lengths
}
