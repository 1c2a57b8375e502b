// Package carry keeps the checkpoints of jobs that a group did not bring to an end, for the
// groups after it: how many, how large and how old they may be.
package carry
