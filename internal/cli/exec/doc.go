// Package exec has the command that runs a program on many workers at once.
package exec
