// Package spans has the maintenance windows of a group, and the texts about jobs that do not fit into
// one.
package spans
