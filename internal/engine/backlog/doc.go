// Package backlog keeps the jobs of a large group that do not run yet: their numbers in queues, and a table of the
// pages with their proposals.
//
// Only the next jobs, the window, are open, so memory and state do not grow with the group. Jobs with the same
// priority, node and labels are one queue, with a share of the window, so that jobs without a worker do not block others.
package backlog
