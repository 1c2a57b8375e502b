// Package jobtype is the public SDK of handler authors.
//
// A [Handler] knows how to find maintenance work (Detect) and how to do one
// piece of it (Execute). It knows nothing of Temporal: Roundsman places its
// jobs on worker nodes, enforces the [Policy], retries, records and explains.
//
// Execution is at least once. A handler whose effect must happen exactly once
// guards it at the object it changes: with [Job.Fence], which grows with every
// grant, or by making the effect idempotent under [Job.ID].
//
// Everything in this package is plain data or an interface; values travel as
// JSON between processes, so all types round-trip through encoding/json.
package jobtype
