// Package recorder is a workflow's side of the audit log.
//
// A [Recorder] records actions of operators at once. It aggregates the workflow's own refusals
// and delays by code, and records them after an interval, or at the end. A workflow without
// entries pays nothing.
//
// An entry is in the workflow's own history, with the message or the result that
// caused it, before it is sent, and is sent by an activity that is repeated until
// the log has it.
//
// The state that travels when the workflow continues as new is bounded, see [Recorder.State].
package recorder
