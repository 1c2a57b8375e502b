package dagrun

import (
	"fmt"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/dag/spec"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// Results travel with the state by continue-as-new.
const (
	// MaxResult bounds the result of one task that others refer to.
	MaxResult = 2 << 10
	// MaxResults bounds all that are kept at one moment.
	MaxResults = 1 << 20
)

type kept struct {
	data []byte
	// Tasks that refer to the result: a failed one may be retried and then needs it again.
	wanted int
}

func (g *results) get(i dag.Index) []byte {
	if k := g.of[i]; k != nil {
		return k.data
	}
	return nil
}

func (g *results) drop(i dag.Index) {
	if k := g.of[i]; k != nil {
		g.bytes -= len(k.data)
		delete(g.of, i)
	}
}

func (g *results) put(i dag.Index, k *kept) {
	g.drop(i)
	g.of[i] = k
	g.bytes += len(k.data)
}

func satisfied(s dag.State) bool { return s == dag.Completed || s == dag.Skipped }

func (g *results) wanted(i dag.Index) (int, error) {
	referrers, err := g.program.Referrers(i)
	if err != nil {
		return 0, err
	}
	n := lists.Count(referrers, func(r dag.Index) bool { return !satisfied(g.run.State(r)) })
	return n, nil
}

// checkResult reports why a result that a task refers to cannot be kept.
func (g *results) checkResult(i dag.Index, data []byte, growth *dag.Growth) error {
	if !g.refers && growth == nil {
		return nil
	}
	wanted, err := g.wanted(i)
	if err != nil {
		return err
	}
	total := g.bytes - len(g.get(i)) + len(data)
	if len(data) <= MaxResult && total <= MaxResults {
		return nil
	}
	if growth != nil {
		for k := range growth.Tasks {
			if spec.RefersTo(growth.Tasks[k].Payload, g.run.ID(i)) {
				wanted++
			}
		}
	}
	switch {
	case wanted == 0:
		return nil
	case len(data) > MaxResult:
		return fmt.Errorf("its result has %d bytes and %d tasks refer to it, the limit is %d: return a reference instead of the data", len(data), wanted, MaxResult)
	}
	return fmt.Errorf("the results that are still referred to have %d bytes, the limit is %d: return less, or refer to fewer results at a time", g.bytes, MaxResults)
}

// keep relies on [Graph.checkResult] for the room.
func (g *results) keep(i dag.Index, data []byte) {
	if !g.refers {
		return
	}
	g.drop(i)
	// An error is about a definition, and fails its task when it begins.
	if wanted, err := g.wanted(i); err == nil && wanted > 0 && len(data) > 0 {
		g.put(i, &kept{data: data, wanted: wanted})
	}
}

func (g *results) followResults() {
	for _, m := range g.run.Transitions() {
		if int(m.Task) >= g.known || satisfied(m.From) == satisfied(m.To) {
			continue
		}
		g.count(m.Task, satisfied(m.From))
	}
}

func (g *results) count(i dag.Index, more bool) {
	needs, err := g.program.Referred(i)
	if err != nil {
		return // The task fails with this error when it begins.
	}
	for _, n := range needs {
		k := g.of[n]
		switch {
		case k == nil:
		case more:
			k.wanted++
		default:
			if k.wanted--; k.wanted == 0 {
				g.drop(n)
			}
		}
	}
}

func (g *results) grown() {
	first := dag.Index(g.known) //nolint:gosec // a number of tasks
	g.known = g.run.Len()
	if refers, err := anyReference(g.program, first, dag.Index(g.known)); err != nil || !refers {
		return // As in count.
	}
	g.refers = true
	for i := first; int(i) < g.known; i++ {
		if !satisfied(g.run.State(i)) {
			g.count(i, true)
		}
	}
}

func (g *results) recount() {
	for _, i := range g.run.Redefined() {
		if refers, err := anyReference(g.program, i, i+1); err == nil && refers {
			g.refers = true
		}
	}
	//workflowcheck:ignore each is counted by itself
	for i, k := range g.of {
		wanted, err := g.wanted(i)
		switch {
		case err != nil: // As in count.
		case wanted == 0:
			g.drop(i)
		default:
			k.wanted = wanted
		}
	}
}

// gone lists the dropped results that task i refers to, by id. Tasks that will be executed again are not missed.
func gone(run *dag.Run, program *spec.Program, i dag.Index, has func(dag.Index) bool) ([]dag.Index, error) {
	needs, err := program.Referred(i)
	if err != nil {
		return nil, err
	}
	var missing []dag.Index
	for _, n := range needs {
		if run.State(n) == dag.Completed && !has(n) {
			missing = append(missing, n)
		}
	}
	return missing, nil
}

func anyReference(program *spec.Program, first, end dag.Index) (bool, error) {
	var last *spec.Definition
	for i := first; i < end; i++ {
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
