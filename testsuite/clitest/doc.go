// Package clitest has helpers for tests of the command line: the outcome of one command, and an output that a
// test can wait for.
package clitest
