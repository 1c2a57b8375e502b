// Package retention deletes runs that ended long ago, where the namespace keeps them
// for longer than the operator wants. The control plane does so ([Sweeper.Keep]).
//
// Only closed runs of job types and DAGs, and their pages, are deleted, never an entity. A run stays
// that something may still need: while its workflow, or the run that it belongs to, is
// open or ended within the limit, and while its Schedule remembers it, because the
// next run of the job type takes its record over.
//
// Nothing is noted down: what is to be deleted is asked of visibility each time, so
// that a sweep may be killed anywhere, and several control planes may sweep at once.
package retention
