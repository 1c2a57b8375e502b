// Package ui holds the parts that every command shares: the process that the
// command line sees ([Env]), flags, the connection to the server, tables and JSON,
// times for people, errors and exit codes.
package ui
