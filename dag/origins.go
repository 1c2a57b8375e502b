package dag

// origins stores the earlier run that produced each imported task. The zero value is a run without
// imports.
type origins struct {
	runs []string // distinct run ids
	of   []uint16 // per task: 1 + index into runs, 0 for this run; nil without imports
}

// maxOrigins bounds the number of earlier runs of one run.
const maxOrigins = 1<<16 - 2

// maxRunIDLength bounds the id of an earlier run, in bytes.
const maxRunIDLength = 1024

func (o *origins) get(i Index) string {
	if o.of == nil || o.of[i] == 0 {
		return ""
	}
	return o.runs[o.of[i]-1]
}

func (o *origins) extend(n int) {
	if o.of != nil {
		o.of = append(o.of, make([]uint16, n)...)
	}
}

func (o *origins) clear(i Index) {
	if o.of != nil {
		o.of[i] = 0
	}
}

// From returns the id of the run that produced the state of task i; empty for this run.
func (r *Run) From(i Index) string { return r.origins.get(i) }
