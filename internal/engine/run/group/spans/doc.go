// Package spans has the maintenance windows of a group, and the times of jobs that do not fit into one.
package spans
