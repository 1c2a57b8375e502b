package dag

// origins remembers, for a resumed run, which earlier run produced each imported
// task. The zero value is a run that imported nothing.
type origins struct {
	runs []string // distinct run ids
	of   []uint16 // per task: 1 + index into runs, 0 for "this run"; nil when nothing was imported
}

// maxOrigins bounds how many earlier runs one run can have imported from.
const maxOrigins = 1<<16 - 2

// maxRunIDLength bounds the id of an earlier run.
const maxRunIDLength = 1024

func (o *origins) get(i Index) string {
	if o.of == nil || o.of[i] == 0 {
		return ""
	}
	return o.runs[o.of[i]-1]
}

// extend makes room for n more tasks, which belong to this run.
func (o *origins) extend(n int) {
	if o.of != nil {
		o.of = append(o.of, make([]uint16, n)...)
	}
}

// clear forgets that task i was imported, because it runs again.
func (o *origins) clear(i Index) {
	if o.of != nil {
		o.of[i] = 0
	}
}

// From returns the id of the run that produced the state of task i; empty when it
// is this run.
func (r *Run) From(i Index) string { return r.origins.get(i) }
