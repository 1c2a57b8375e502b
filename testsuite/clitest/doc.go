// Package clitest has what tests of the command line share: the outcome of one
// command line, and an output that a test can wait for.
package clitest
