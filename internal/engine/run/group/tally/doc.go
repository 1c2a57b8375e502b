// Package tally counts the proposals and the jobs of a group, and has the reasons for those that others have or
// that are disabled.
package tally
