// Package progress shows runs: live bars at a terminal, plain lines for a pipe or a log.
package progress
