// Package recorder is a workflow's side of the audit log.
//
// A [Recorder] records at once what operators do. It aggregates by code what the
// workflow itself refuses or delays, and records that when its pace has passed, or
// at the end. A workflow without an entry pays nothing.
//
// An entry is in the workflow's own history, with the message or the result that
// caused it, before it is sent, and is sent by an activity that is repeated until
// the log has it.
//
// The state that travels when the workflow continues as new is bounded, see [Recorder.State].
package recorder
