// Package action is the closed list of operations that an operator can run. An [Action] is an operation
// with its arguments. The command line, the REST request and the button of the console are generated from
// it, so they cannot differ.
package action
