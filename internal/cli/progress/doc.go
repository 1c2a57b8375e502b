// Package progress shows runs while they go on: live bars for a person at a
// terminal, plain lines for a pipe or a log.
package progress
