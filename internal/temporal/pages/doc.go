// Package pages stores parts of runs outside of their histories, in workflows that never run.
//
// A page is one event: the start of a workflow that is delayed by years, with the bytes as its input. Its ID contains
// the run and a digest of the bytes, so writing it twice has no effect. A termination closes a page; the retention of
// the namespace begins then. [Keeper] closes the pages of runs that could not.
package pages
