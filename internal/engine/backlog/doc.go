// Package backlog keeps the jobs of a large group that do not run yet: their numbers in queues, and
// a table of the pages with their proposals.
//
// Only the next jobs, the window, are open. So the memory of a group and its carried state do not grow
// with its size. Jobs with the same priority, node and labels are one queue. Each queue has a share of
// the window, so that jobs without a worker do not block others.
package backlog
