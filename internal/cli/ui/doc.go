// Package ui holds the common parts of commands: the process ([Env]), flags, connection, tables, JSON, errors and
// exit codes.
package ui
