// Package admission runs the core of internal/engine/admission as the one workflow of a namespace. It grants lanes,
// pools, objects and dedupe keys.
//
// Without a previous state, or after a reset, it grants nothing until all running workflows have reported their
// holdings. A new workflow inherits pool sizes, outcomes and fences.
package admission
