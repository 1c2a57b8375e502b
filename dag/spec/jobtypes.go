package spec

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/roundsman/roundsman/dag"
)

// JobTypes lists the job types of the tasks of a graph, of its fan-outs and of its sub-DAGs, sorted.
func JobTypes(graph *dag.Graph) ([]string, error) {
	named := map[string]bool{}
	if err := nameJobTypes(graph, named, map[string]bool{}); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(named)), nil
}

func nameJobTypes(graph *dag.Graph, named, read map[string]bool) error {
	run := dag.NewRun(graph, dag.Options{})
	program, err := Open(run)
	if err != nil {
		return err
	}
	for i := range dag.Index(run.Len()) { //nolint:gosec // a number of tasks
		definition, err := program.Definition(i)
		if err != nil {
			return err
		}
		if definition.FanOut != nil {
			shared := &Definition{}
			if err := decodeJSON(definition.FanOut.Task, shared); err != nil {
				return fmt.Errorf("the definition of fan-out %q: %w", run.ID(i), err)
			}
			definition = shared
		}
		if definition.JobType != "" {
			named[definition.JobType] = true
		}
		if sub := definition.SubDAG; sub != nil && !read[sub.Hash] {
			read[sub.Hash] = true
			if err := nameOfSub(graph, sub, named, read); err != nil {
				return err
			}
		}
	}
	return nil
}

func nameOfSub(graph *dag.Graph, sub *SubDAG, named, read map[string]bool) error {
	sum, err := hex.DecodeString(sub.Hash)
	if err != nil || len(sum) != 32 {
		return fmt.Errorf("the hash of sub-DAG %q is malformed", sub.File)
	}
	data, ok := graph.Attachment([32]byte(sum))
	if !ok {
		return fmt.Errorf("the graph of sub-DAG %q is not attached", sub.File)
	}
	nested, err := dag.Decode(data)
	if err != nil {
		return fmt.Errorf("the graph of sub-DAG %q: %w", sub.File, err)
	}
	return nameJobTypes(nested, named, read)
}
