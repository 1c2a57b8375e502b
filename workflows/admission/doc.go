// Package admission runs the core of internal/engine/admission as a workflow. There is one such
// workflow per namespace. It grants lanes, pools, objects and dedupe keys.
//
// The workflow lives for ever, as a chain of runs. A run without a previous state, or after a
// reset, first requests all holdings. It grants nothing until all running workflows have
// reported. The keeper of the control plane starts the workflow when it is missing. The new
// workflow inherits pool sizes, outcomes and fences.
package admission
