// Package admission carries out what internal/engine/admission decides: the one workflow
// of a namespace that says who may do what when.
//
// The workflow lives for ever, as a chain of runs. One that starts without the state
// of a run before, and one that was reset, asks all running workflows what they hold
// and wait for before it grants anything. The keeper of the control plane starts it
// when it is missing; it inherits pool sizes, outcomes and fences.
package admission
