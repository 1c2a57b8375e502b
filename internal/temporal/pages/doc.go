// Package pages stores parts of runs outside of their histories, in workflows that
// never run.
//
// A page is one event: the start of a workflow that is delayed by years, with the bytes as its input. Its ID
// contains the run and a digest of the bytes. So writing it twice has no effect, and a reader needs only the
// ID, whether the page is open or closed.
//
// A page is closed by a termination; the retention of the namespace begins then. A run closes its own pages.
// [Keeper] closes the pages of ended runs that could not: the run was terminated, or the server refused the
// workflow task that wrote its last page.
package pages
