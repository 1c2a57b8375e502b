package graph

import (
	"fmt"
	"strings"
)

// WrongState is the code of a fault of a task's state.
const WrongState = "WRONG_STATE"

// FaultKind is the kind of a fault of a declared task.
type FaultKind uint8

const (
	// FaultEmptyID means: a task has no id.
	FaultEmptyID FaultKind = iota
	// FaultLongID means: an id is longer than MaxIDLength.
	FaultLongID
	// FaultDuplicate means: Fault.Task repeats the id of Fault.Other.
	FaultDuplicate
	// FaultUnknownNeed means: Fault.Ref is not a task.
	FaultUnknownNeed
	// FaultSelfNeed means: a task depends on itself.
	FaultSelfNeed
	// FaultCycle means: Fault.Path is a cycle; each task depends on the one before it.
	FaultCycle
	// FaultRule means: the trigger rule does not exist.
	FaultRule
	// FaultNothingToReactTo means: a one_failed task has no dependencies.
	FaultNothingToReactTo
	// FaultTooLarge means: more tasks, dependencies or id bytes than the limits allow.
	FaultTooLarge
	// FaultTargetStarted means: a task should be added before Fault.Ref, which has already started.
	FaultTargetStarted
	// FaultStarted means: a task to be redefined has already started or ended.
	FaultStarted
	// FaultNotRedefinable means: a task cannot be redefined for another reason.
	FaultNotRedefinable
	// FaultUnknownFanOut means: Fault.Ref is no fan-out of the run, or no task adds this one.
	FaultUnknownFanOut
)

// Fault is one fault of a declaration of tasks.
type Fault struct {
	Kind FaultKind
	// Position of the faulty task in the declaration; None for a fault of the whole declaration.
	Task Index
	// ID of that task.
	ID string
	// First task with this id (FaultDuplicate); None if the run already has that task.
	Other Index
	// Ref is the faulty id (FaultUnknownNeed, FaultTargetStarted, FaultUnknownFanOut).
	Ref string
	// Path is the cycle, its first task repeated at the end (FaultCycle).
	Path []string
	// Detail completes the message of some kinds.
	Detail string
}

// Error returns the fault and its remedy.
func (f Fault) Error() string {
	switch f.Kind {
	case FaultEmptyID:
		return fmt.Sprintf("task %d has no id; give it one", f.Task)
	case FaultLongID:
		return fmt.Sprintf("the id of task %d has %d bytes; use at most %d", f.Task, len(f.ID), MaxIDLength)
	case FaultDuplicate:
		if f.Other == None {
			return fmt.Sprintf("task %q already exists in the run, and the task that returns it did not add it; choose another id", f.ID)
		}
		return fmt.Sprintf("task %q is declared twice (tasks %d and %d); rename one", f.ID, f.Other, f.Task)
	case FaultUnknownNeed:
		return fmt.Sprintf("task %q needs %q, which is not a task; declare it or correct the name", f.ID, f.Ref)
	case FaultSelfNeed:
		return fmt.Sprintf("task %q needs itself; remove that dependency", f.ID)
	case FaultCycle:
		return fmt.Sprintf("tasks depend on each other in a circle: %s; remove one of these dependencies", abridge(f.Path))
	case FaultRule:
		return fmt.Sprintf("task %q has trigger rule %s, which does not exist; use one of %q", f.ID, f.Detail, ruleNames)
	case FaultNothingToReactTo:
		return fmt.Sprintf("task %q has the rule one_failed but needs no task; name the tasks whose failure it handles", f.ID)
	case FaultTooLarge:
		return f.Detail
	case FaultStarted:
		return fmt.Sprintf("%s: task %q is already %s, only one that has not started can be redefined; give the new task another id", WrongState, f.ID, f.Detail)
	case FaultNotRedefinable:
		return fmt.Sprintf("%s: task %q cannot be redefined: %s", WrongState, f.ID, f.Detail)
	case FaultUnknownFanOut:
		return fmt.Sprintf("task %q is of fan-out %q, which the run does not have", f.ID, f.Ref)
	case FaultTargetStarted:
		return fmt.Sprintf("task %q should run before %q, which is already %s; only tasks that have not started can be made to wait",
			f.ID, f.Ref, f.Detail)
	}
	return fmt.Sprintf("fault %d in task %q", f.Kind, f.ID)
}

func abridge(path []string) string {
	const shown = 8
	if len(path) <= 2*shown {
		return strings.Join(path, " → ")
	}
	return fmt.Sprintf("%s → … %d more … → %s", strings.Join(path[:shown], " → "),
		len(path)-2*shown, strings.Join(path[len(path)-shown:], " → "))
}

// FaultsError holds every fault of a declaration, in declaration order.
type FaultsError struct {
	Faults []Fault
}

// maxFaultsShown bounds a message, which counts the rest. Faults holds all.
const maxFaultsShown = 20

// Error lists the faults, one per line.
func (e *FaultsError) Error() string {
	var b strings.Builder
	for n, f := range e.Faults {
		if n == maxFaultsShown {
			fmt.Fprintf(&b, "\n… and %d more", len(e.Faults)-n)
			break
		}
		if n > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.Error())
	}
	return b.String()
}

// Unwrap lets errors.As find a single [Fault].
func (e *FaultsError) Unwrap() []error {
	errs := make([]error, len(e.Faults))
	for n, f := range e.Faults {
		errs[n] = f
	}
	return errs
}
