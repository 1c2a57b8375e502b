package starter

import (
	"context"
	"fmt"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/dag"
	"github.com/roundsman/roundsman/internal/engine/run/dagrun"
	"github.com/roundsman/roundsman/internal/lib/lists"
)

// DAGPicture holds the states of all tasks at one moment, from one query.
type DAGPicture struct {
	RunRef
	DAG   string
	Open  bool
	state *dagrun.Graph
}

// DAGShape is the graph of a workflow run at its start.
type DAGShape struct {
	RunID string
	graph *dag.Graph
}

// Picture reads the states of all tasks. The returned shape is for the next call, which need not read the graph again.
func (d DAGs) Picture(ctx context.Context, ref RunRef, known DAGShape) (DAGPicture, DAGShape, error) {
	snapshot, err := d.client.Runs().Describe(ctx, ref)
	if err != nil {
		return DAGPicture{}, known, err
	}
	picture := DAGPicture{RunRef: snapshot.RunRef, DAG: snapshot.DAG, Open: snapshot.Open()}
	final, err := d.newest(ctx, snapshot)
	if err != nil {
		return picture, known, err
	}
	if known.RunID != snapshot.RunID || known.graph == nil {
		started, err := d.arguments(ctx, snapshot.RunRef)
		if err != nil {
			return picture, known, err
		}
		known = DAGShape{RunID: snapshot.RunID, graph: started.graph}
	}
	if picture.state, err = dagrun.Read(known.graph, final); err != nil {
		return picture, known, fmt.Errorf("DAG run %s: %w", ref.WorkflowID, err)
	}
	return picture, known, nil
}

func (d DAGs) newest(ctx context.Context, snapshot Snapshot) ([]byte, error) {
	if !snapshot.Open() {
		left, err := d.client.Runs().withResult(ctx, snapshot)
		if err != nil {
			return nil, err
		}
		if left.final != nil {
			return left.final, nil
		}
	}
	return query[[]byte](ctx, d.client, snapshot.RunRef, contract.QueryFinal)
}

// Len returns the number of tasks.
func (p DAGPicture) Len() int { return p.state.Run().Len() }

// State returns the state of the task with this index, in declaration order.
func (p DAGPicture) State(i int) string { return p.state.StateName(dag.Index(i)) }

// ID returns the id of the task with this index.
func (p DAGPicture) ID(i int) string { return p.state.Run().ID(dag.Index(i)) }

// Index returns the index of a task.
func (p DAGPicture) Index(id string) (int, bool) {
	i, known := p.state.Run().Lookup(id)
	return int(i), known
}

// Needs returns the tasks that this task depends on.
func (p DAGPicture) Needs(i int) []int { return ints(p.state.Run().Needs(dag.Index(i))) }

// Dependants returns the tasks that depend on this task.
func (p DAGPicture) Dependants(i int) []int { return ints(p.state.Run().Dependants(dag.Index(i))) }

func ints(of []dag.Index) []int {
	return lists.Map(of, func(i dag.Index) int { return int(i) })
}

// Task returns one task without its wait, which only the run has.
func (p DAGPicture) Task(i int) Item {
	v := p.state.View(dag.Index(i))
	item := Item{Run: p.RunRef, ID: v.ID, Kind: string(v.Kind), State: v.Name, Needs: v.Needs, Worker: v.Worker, Attempt: v.Attempts, Error: v.Error, FromRun: v.From, FromTask: v.FromTask, Redefined: v.Redefined, StartedAt: v.StartedAt, EndedAt: v.EndedAt}
	return item.standing(p.Open)
}
