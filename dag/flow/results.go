package flow

import (
	"fmt"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
)

// Bounds of what tasks hand to each other. They travel with the state by
// continue-as-new.
const (
	// MaxResult bounds the result of one task that others refer to.
	MaxResult = 2 << 10
	// MaxResults bounds all that are kept at one moment.
	MaxResults = 1 << 20
)

// results are those that some task still refers to.
type results struct {
	of    map[dag.Index]*kept
	bytes int
}

type kept struct {
	data []byte
	// wanted counts the tasks that refer to it and have neither succeeded nor
	// been skipped: a failed one may be retried and then needs it again.
	wanted int
}

func (r *results) get(i dag.Index) []byte {
	if k := r.of[i]; k != nil {
		return k.data
	}
	return nil
}

func (r *results) drop(i dag.Index) {
	if k := r.of[i]; k != nil {
		r.bytes -= len(k.data)
		delete(r.of, i)
	}
}

func (r *results) put(i dag.Index, k *kept) {
	r.drop(i)
	r.of[i] = k
	r.bytes += len(k.data)
}

// satisfied reports whether a task in this state does not need its dependencies'
// results any more.
func satisfied(s dag.State) bool { return s == dag.Succeeded || s == dag.Skipped }

// keep stores the result of a task if some other still wants it.
func (f *Flow) keep(i dag.Index, data []byte) error {
	referrers, err := f.program.Referrers(i)
	if err != nil {
		return err
	}
	wanted := 0
	for _, r := range referrers {
		if !satisfied(f.run.State(r)) {
			wanted++
		}
	}
	f.results.drop(i)
	if wanted == 0 || len(data) == 0 {
		return nil
	}
	if len(data) > MaxResult {
		return fmt.Errorf("its result has %d bytes and %d tasks refer to it, the limit is %d: return a reference instead of the data", len(data), wanted, MaxResult)
	}
	if f.results.bytes+len(data) > MaxResults {
		return fmt.Errorf("the results that are still referred to have %d bytes, the limit is %d: return less, or refer to fewer results at a time", f.results.bytes, MaxResults)
	}
	f.results.put(i, &kept{data: data, wanted: wanted})
	return nil
}

// followResults counts, after every step of dag.Run, who still wants results.
func (f *Flow) followResults() {
	for _, m := range f.run.Transitions() {
		if satisfied(m.From) == satisfied(m.To) {
			continue
		}
		needs, err := f.program.Referred(m.Task)
		if err != nil {
			continue // The task fails with this error when it begins.
		}
		for _, n := range needs {
			k := f.results.of[n]
			switch {
			case k == nil:
			case satisfied(m.From):
				k.wanted++
			default:
				if k.wanted--; k.wanted == 0 {
					f.results.drop(n)
				}
			}
		}
	}
}

// gone lists the results that task i refers to and that were dropped, by id. The
// ones of tasks that will be executed again are not missed.
func gone(run *dag.Run, program *spec.Program, i dag.Index, has func(dag.Index) bool) ([]dag.Index, error) {
	needs, err := program.Referred(i)
	if err != nil {
		return nil, err
	}
	var missing []dag.Index
	for _, n := range needs {
		if run.State(n) == dag.Succeeded && !has(n) {
			missing = append(missing, n)
		}
	}
	return missing, nil
}

// anyReference reports whether a task of the run refers to a result.
func anyReference(run *dag.Run, program *spec.Program) (bool, error) {
	var last *spec.Definition
	for i := range dag.Index(run.Len()) {
		d, err := program.Definition(i)
		if err != nil {
			return false, err
		}
		if d != last && len(d.Refs) > 0 {
			return true, nil
		}
		last = d
	}
	return false, nil
}
