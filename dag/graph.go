package dag

import "github.com/roundsman/roundsman/dag/internal/graph"

// The parts of a graph.
type (
	// Graph is an immutable directed acyclic graph of tasks. It is safe for concurrent
	// use.
	Graph = graph.Graph
	// Task is what a caller declares: one node of a graph.
	Task = graph.Task
	// Input is everything [Build] makes a graph of.
	Input = graph.Input
	// Index is a task's dense number: its place in declaration order, tasks added
	// at run time following those of the graph.
	Index = graph.Index
	// Rule says when a task may start, given how its dependencies ended.
	Rule = graph.Rule
	// Fault is one thing that is wrong with a declaration of tasks.
	Fault = graph.Fault
	// FaultKind says what is wrong with a declared task.
	FaultKind = graph.FaultKind
	// FaultsError is every fault of a declaration, in declaration order.
	FaultsError = graph.FaultsError

	attr = graph.Attr
)

// None is the Index that stands for "no task".
const None = graph.None

// Limits that every graph respects.
const (
	MaxTasks    = graph.MaxTasks
	MaxEdges    = graph.MaxEdges
	MaxIDLength = graph.MaxIDLength
)

// The trigger rules; see the package documentation.
const (
	AllSuccess = graph.AllSuccess
	AllDone    = graph.AllDone
	OneFailed  = graph.OneFailed
	Always     = graph.Always
)

// The kinds of fault.
const (
	FaultEmptyID          = graph.FaultEmptyID
	FaultLongID           = graph.FaultLongID
	FaultDuplicate        = graph.FaultDuplicate
	FaultUnknownNeed      = graph.FaultUnknownNeed
	FaultSelfNeed         = graph.FaultSelfNeed
	FaultCycle            = graph.FaultCycle
	FaultRule             = graph.FaultRule
	FaultNothingToReactTo = graph.FaultNothingToReactTo
	FaultTooLarge         = graph.FaultTooLarge
	FaultTargetStarted    = graph.FaultTargetStarted
	FaultStarted          = graph.FaultStarted
	FaultNotRedefinable   = graph.FaultNotRedefinable
	FaultUnknownFanOut    = graph.FaultUnknownFanOut
)

// Build makes a graph, or returns a [*FaultsError] with everything that is wrong
// with the input: duplicate ids, unknown and self dependencies, cycles with
// their path, bad rules. The input is not kept and may be reused.
func Build(in Input) (*Graph, error) { return graph.Build(in) }

// Decode is the inverse of [Graph.Encode]. Bytes that Encode did not write give an
// error that wraps [ErrCorrupt] or [ErrVersion].
func Decode(data []byte) (*Graph, error) { return graph.Decode(data) }
