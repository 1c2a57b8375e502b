// Package audit is the log of operators' actions and of the scheduler's refusals and delays. It is pure.
// docs/adr/0015-audit.md lists the entries and their sources.
package audit
