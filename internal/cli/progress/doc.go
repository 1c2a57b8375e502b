// Package progress shows runs while they run: live bars for a person at a
// terminal, plain lines for a pipe or a log.
package progress
