// Package jobtype is the public SDK of handler authors.
//
// A [Handler] finds maintenance work (Detect) and does one piece of it (Execute). Roundsman places its jobs on worker
// nodes, enforces the [Policy], retries, records and explains.
//
// Execution is at least once. If an effect must happen exactly once, the handler checks [Job.Fence], which grows with
// every grant, at the object it changes. Alternatively it makes the effect idempotent under [Job.ID].
//
// All types round-trip through encoding/json.
package jobtype
