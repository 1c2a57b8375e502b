// Package audit is the log of operators' actions and of the scheduler's refusals and delays. It
// is pure: a bounded log that drops the oldest entries and counts them, takes each entry once
// even if it is recorded again, and returns filtered pages.
//
// docs/adr/0015-audit.md lists the entries and their sources.
package audit
