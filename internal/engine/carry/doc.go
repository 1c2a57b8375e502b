// Package carry keeps the checkpoints of unfinished jobs for later groups.
package carry
