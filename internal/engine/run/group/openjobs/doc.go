// Package openjobs keeps the jobs of a group that have not ended, with their proposals or the
// places of these.
package openjobs
