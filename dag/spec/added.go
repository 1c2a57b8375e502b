package spec

import (
	"bytes"
	"errors"

	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
)

// Added are tasks to add to a run, with the places of their declarations.
type Added struct {
	Growth *dag.Growth
	unit   *unit
}

// ParseAdded reads a list of tasks, YAML or JSON, that an operator adds to a run. A task may have before: the
// existing tasks that must wait for it. The error is [Faults].
func ParseAdded(run *dag.Run, file string, data []byte) (*Added, error) {
	return compileAdded(run, file, data, "", true)
}

// CheckAdded returns the faults of a list of tasks that need no run. The error is [Faults].
func CheckAdded(file string, data []byte) error {
	_, err := readAdded(newReader(file), data, true)
	return err
}

// Blame adds the places to a run's faults in added tasks. It returns other errors unchanged.
func (a *Added) Blame(err error) error {
	faults, ok := errors.AsType[*dag.FaultsError](err)
	if !ok {
		return err
	}
	a.unit.blame(faults)
	return a.unit.err()
}

func compileAdded(run *dag.Run, file string, data []byte, splitter string, operator bool) (*Added, error) {
	u := &unit{reader: newReader(file), host: host{run: run, known: finder(run), implied: splitter}, stops: run.Options().OnFailure == dag.Stop}
	entries, err := readAdded(u.reader, data, operator)
	if err != nil {
		return nil, err
	}
	if header, err := HeaderOf(run.Graph()); err == nil {
		u.defaults = header.Defaults
	}
	u.expand(entries)
	if err := u.err(); err != nil {
		return nil, err
	}
	g := &dag.Growth{Tasks: make([]dag.Addition, len(u.out.tasks)), FanOuts: u.out.limits, Chains: u.out.chains}
	for k := range u.out.tasks {
		g.Tasks[k] = dag.Addition{Task: u.out.tasks[k], Before: u.out.before[k]}
	}
	return &Added{Growth: g, unit: u}, nil
}

func readAdded(r reader, data []byte, operator bool) ([]Task, error) {
	switch {
	case len(data) > MaxAddedBytes:
		r.at(nil, "the added tasks have %d bytes; the limit is %d: use for_each instead of single tasks, or add them in several steps", len(data), MaxAddedBytes)
		return nil, r.err()
	case len(bytes.TrimSpace(data)) == 0:
		r.at(nil, "there is nothing to add; write a list of tasks as a spec has it")
		return nil, r.err()
	}
	root := parseDocument(r.collector, data, true)
	if root == nil {
		return nil, r.err()
	}
	if list := child(root, "tasks"); list != nil {
		r.mapping(root, "a list of tasks to add", []field{{"tasks", func(*yamlread.Node) {}}})
		root = list
	}
	entries := r.tasks(root, operator)
	return entries, r.err()
}
