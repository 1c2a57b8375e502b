// Package audit is the log of what operators did and what the scheduler refused
// or delayed. It is pure: a bounded log of entries that drops the oldest ones,
// counts what it dropped, takes every entry once however often it is recorded,
// and answers filtered pages.
//
// docs/adr/0015-audit.md says what is recorded, by whom, and how it gets here.
package audit
