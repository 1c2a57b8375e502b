package dagrun

import (
	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
)

// maxWarningBytes leaves room for the messages of failures that come after warnings.
const maxWarningBytes = maxErrorBytes / 2

// warn keeps the warning of a completed task. Package dag has no such state.
func (b *book) warn(i dag.Index, message string) {
	b.clear(i)
	if message == "" {
		return
	}
	b.note(i, message, maxWarningBytes)
	if b.warned == nil {
		b.warned = map[dag.Index]bool{}
	}
	b.warned[i] = true
}

// StateName returns the state of a task as people see it.
func (g *records) StateName(i dag.Index) string {
	if g.warns(i) {
		return contract.JobWarning
	}
	return g.run.State(i).String()
}

func (g *records) warns(i dag.Index) bool { return g.book.warned[i] && g.run.State(i) == dag.Completed }

func (g *records) warnings() int {
	n := 0
	//workflowcheck:ignore a sum does not depend on the order
	for i := range g.book.warned {
		if g.warns(i) {
			n++
		}
	}
	return n
}

// StateNames lists the states of tasks as people see them.
func StateNames() []string {
	var names []string
	for _, s := range dag.States() {
		names = append(names, s.String())
		if s == dag.Completed {
			names = append(names, contract.JobWarning)
		}
	}
	return names
}
