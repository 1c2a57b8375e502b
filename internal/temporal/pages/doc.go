// Package pages stores parts of runs outside of their histories, in workflows that
// never run.
//
// A page is one event: the start of a workflow that is delayed by years, with the
// bytes as its input. Its ID names the run and a digest of the bytes. Writing it twice
// is writing it once, and a reader finds it by its ID alone, open or closed.
//
// A page is closed by a termination, and the retention of the namespace begins then.
// A run closes its pages itself. [Keeper] closes the pages of ended runs: the run was
// terminated, or the server refused the workflow task that wrote its last page.
package pages
