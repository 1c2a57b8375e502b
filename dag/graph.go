package dag

import "github.com/roundsman/roundsman/dag/internal/graph"

type (
	// Graph is an immutable directed acyclic graph of tasks. It is safe for concurrent use.
	Graph = graph.Graph
	// Task is one declared node of a graph.
	Task = graph.Task
	// Input is the input of [Build].
	Input = graph.Input
	// Index is a task's position in declaration order; added tasks follow.
	Index = graph.Index
	// Rule is the condition on its dependencies under which a task starts.
	Rule = graph.Rule
	// Fault is one fault of a declaration of tasks.
	Fault = graph.Fault
	// FaultKind is the kind of a fault of a declared task.
	FaultKind = graph.FaultKind
	// FaultsError holds every fault of a declaration, in declaration order.
	FaultsError = graph.FaultsError

	// FailurePolicy is the effect of a failed task on independent tasks. The zero value is Continue.
	FailurePolicy = graph.FailurePolicy
	// Outcome is the outcome of a run. The zero value, NoOutcome, is a run that has not ended.
	Outcome = graph.Outcome
	// Diff lists the task ids that differ between two graphs, in declaration order.
	Diff = graph.Diff
	// DiffError refuses to resume a run with another graph.
	DiffError = graph.DiffError

	attr = graph.Attr
)

// Stop cancels at the first failure every task that has not started, except with the rule always or one_failed.
const (
	Continue = graph.Continue
	Stop     = graph.Stop
)

// The outcomes of a run.
const (
	NoOutcome        = graph.NoOutcome
	OutcomeCompleted = graph.OutcomeCompleted
	OutcomeFailed    = graph.OutcomeFailed
	OutcomeCanceled  = graph.OutcomeCanceled
)

// None is the Index of no task.
const None = graph.None

// Limits of every graph.
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

// Build returns a graph, or a [*FaultsError] with every fault of the input. The input may be reused.
func Build(in Input) (*Graph, error) { return graph.Build(in) }

// Decode is the inverse of [Graph.Encode]. The error wraps [ErrCorrupt] or [ErrVersion].
func Decode(data []byte) (*Graph, error) { return graph.Decode(data) }
