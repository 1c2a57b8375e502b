// Package recorder is a workflow's side of the audit log.
//
// A [Recorder] records operators' actions at once. It aggregates the workflow's own refusals and delays by code, and
// records them after an interval. An entry is in the workflow's history before an activity sends it; the activity
// repeats until the log has the entry.
package recorder
