// Package backlog keeps the jobs of a large group that do not run yet: their numbers in queues, and
// a table of the pages with their proposals.
//
// Only the jobs of the window are open: those that start next. So the memory of a group, and the state
// that it carries over, do not grow with its size. Jobs with the same
// priority, node and labels are one queue. Each queue has a share of the window, so that jobs
// without a worker do not keep others from it.
package backlog
